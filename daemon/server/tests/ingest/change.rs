//! Changes of files after they were read.

use std::fs;
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use longhaul_core::fold::Fold;
use longhaul_daemon::ingest::WarningKind;
use longhaul_store::FileCommit;

use super::rig::{Rig, WAIT, append, items, name, session, thread, turn_of};

fn set_mtime(path: &Path, at: SystemTime) {
    fs::File::options().write(true).open(path).unwrap().set_modified(at).unwrap();
}

/// A time at which no file here was written.
fn later() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(4_000_000_000)
}

#[tokio::test]
async fn an_unchanged_file_is_not_read_again() {
    let rig = Rig::new().await;
    rig.write(&name(1), session(&thread(1), 40));
    rig.settle().await;
    let before = rig.ingest.progress();
    assert!(before.bytes_done > 0);
    rig.events.updates.lock().unwrap().clear();
    rig.settle().await;
    assert_eq!(rig.ingest.progress().bytes_done, before.bytes_done);
    assert!(rig.events.updates.lock().unwrap().is_empty());
}

#[tokio::test]
async fn an_append_reads_only_the_appended_bytes() {
    let rig = Rig::new().await;
    let path = rig.write(&name(1), session(&thread(1), 400));
    rig.settle().await;
    let (before, old) = (rig.ingest.progress().bytes_done, rig.file(&path).await);
    let more = turn_of("t", 401);
    append(&path, &more);
    rig.settle().await;
    let row = rig.file(&path).await;
    assert_eq!(rig.ingest.progress().bytes_done - before, more.len() as u64);
    assert_eq!((row.file_id, row.cursor.generation), (old.file_id, 1));
    assert_eq!(items(&rig.store, &row).await.len(), 1_203);
    rig.assert_same_from_scratch().await;
}

#[tokio::test]
async fn another_content_is_another_generation() {
    let old = session(&thread(1), 20);
    let changed = old.replacen("step 3", "step X", 1);
    assert_eq!(old.len(), changed.len());
    type Change = fn(&Path, &str, &str);
    let cases: [(&str, Change); 4] = [
        ("truncated", |path, old, _| fs::write(path, &old[..old.len() / 2]).unwrap()),
        ("rewritten in place, same size", |path, _, changed| {
            fs::write(path, changed).unwrap();
            set_mtime(path, later());
        }),
        ("replaced by another, longer", |path, _, changed| {
            let other = path.with_extension("tmp");
            fs::write(&other, format!("{changed}{}", turn_of("t", 99))).unwrap();
            fs::rename(other, path).unwrap();
        }),
        ("rewritten in place, longer", |path, _, _| {
            fs::write(path, session(&thread(2), 60)).unwrap();
        }),
    ];
    for (what, change) in cases {
        let rig = Rig::new().await;
        let path = rig.write(&name(1), &old);
        rig.settle().await;
        change(&path, &old, &changed);
        rig.settle().await;
        let row = rig.file(&path).await;
        assert_eq!(row.cursor.generation, 2, "{what}");
        assert!(rig.store.pages.heads(row.file_id, 1).await.unwrap().is_empty(), "{what}");
        assert_eq!(rig.threads().await, 1, "{what}");
        rig.assert_same_from_scratch().await;
    }
}

#[tokio::test]
async fn the_same_content_is_the_same_generation() {
    let text = session(&thread(1), 20);
    type Change = fn(&Path, &str);
    let cases: [(&str, Change); 3] = [
        ("touched", |path, _| set_mtime(path, later())),
        ("copied over", |path, text| {
            let other = path.with_extension("tmp");
            fs::write(&other, text).unwrap();
            fs::rename(other, path).unwrap();
        }),
        ("replaced by a longer copy", |path, text| {
            let other = path.with_extension("tmp");
            fs::write(&other, format!("{text}{}", turn_of("t", 99))).unwrap();
            fs::rename(other, path).unwrap();
        }),
    ];
    for (what, change) in cases {
        for open_end in [false, true] {
            let text = if open_end { text.trim_end() } else { &text };
            if open_end && what.starts_with("replaced") {
                continue;
            }
            let rig = Rig::new().await;
            let path = rig.write(&name(1), text);
            rig.settle().await;
            change(&path, text);
            rig.settle().await;
            assert_eq!(rig.file(&path).await.cursor.generation, 1, "{what}");
            rig.assert_same_from_scratch().await;
        }
    }
}

#[tokio::test]
async fn a_deleted_file_is_kept_as_gone_and_may_come_back() {
    let rig = Rig::new().await;
    let path = rig.write(&name(1), session(&thread(1), 5));
    rig.settle().await;
    let away = rig.folder.path().join("away");
    fs::rename(&path, &away).unwrap();
    rig.settle().await;
    assert!(rig.file(&path).await.gone_at_ms.is_some());
    assert!(rig.store.threads.get(&thread(1)).await.unwrap().is_some());
    let before = rig.ingest.progress().bytes_done;
    fs::rename(&away, &path).unwrap();
    rig.settle().await;
    assert!(rig.file(&path).await.gone_at_ms.is_none());
    assert_eq!(rig.ingest.progress().bytes_done, before);
}

#[tokio::test]
async fn archiving_compressing_and_back_is_one_file_read_once() {
    let rig = Rig::new().await;
    let text = session(&thread(1), 50);
    let path = rig.write(&name(1), &text);
    rig.settle().await;
    let (first, read) = (rig.file(&path).await, rig.ingest.progress().bytes_done);

    let archived = rig.archive().join(path.file_name().unwrap());
    fs::rename(&path, &archived).unwrap();
    rig.settle().await;
    let row = rig.file(&archived).await;
    assert!(row.archived);
    assert_eq!((row.file_id, row.cursor.generation), (first.file_id, 1));

    let compressed = archived.with_extension("jsonl.zst");
    let other = archived.with_extension("tmp");
    fs::write(&other, zstd::encode_all(text.as_bytes(), 3).unwrap()).unwrap();
    fs::rename(other, &compressed).unwrap();
    fs::remove_file(&archived).unwrap();
    rig.settle().await;
    let row = rig.file(&compressed).await;
    assert_eq!((row.file_id, row.cursor.generation), (first.file_id, 1));

    fs::remove_file(&compressed).unwrap();
    let other = path.with_extension("tmp");
    fs::write(&other, format!("{text}{}", turn_of("t", 51))).unwrap();
    fs::rename(other, &path).unwrap();
    rig.settle().await;
    let row = rig.file(&path).await;
    assert_eq!((row.file_id, row.cursor.generation), (first.file_id, 1));
    assert_eq!(rig.store.files.after(longhaul_store::FileId(0)).await.unwrap().len(), 1);
    assert_eq!(rig.ingest.progress().bytes_done - read, turn_of("t", 51).len() as u64);
    rig.assert_same_from_scratch().await;
}

#[tokio::test]
async fn a_copy_in_the_archive_does_not_count_twice() {
    let rig = Rig::new().await;
    let path = rig.write(&name(1), session(&thread(1), 5));
    fs::copy(&path, rig.archive().join(path.file_name().unwrap())).unwrap();
    rig.settle().await;
    assert_eq!(rig.threads().await, 1);
    assert_eq!(rig.store.threads.files(&thread(1)).await.unwrap().len(), 2);
    assert_eq!(rig.ingest.fold(&thread(1)).await.unwrap().unwrap().head().items, 15);
}

#[tokio::test]
async fn another_file_under_a_moved_files_name_is_another_file() {
    let rig = Rig::new().await;
    let path = rig.write(&name(1), session(&thread(1), 5));
    rig.settle().await;
    fs::remove_file(&path).unwrap();
    let other = rig.archive().join(path.file_name().unwrap());
    fs::write(&other, session(&thread(2), 7)).unwrap();
    rig.settle().await;
    rig.settle().await;
    assert!(rig.file(&path).await.gone_at_ms.is_some());
    assert_eq!(rig.file(&other).await.thread_id, Some(thread(2)));
}

#[tokio::test]
async fn a_compressed_file_is_read_and_a_torn_one_is_resumed() {
    let rig = Rig::new().await;
    let text = session(&thread(1), 3_000);
    let whole = zstd::encode_all(text.as_bytes(), 3).unwrap();
    let path = rig.write(&format!("{}.zst", name(1)), &whole[..whole.len() / 2]);
    rig.settle().await;
    let torn = rig.file(&path).await;
    assert!(torn.cursor.offset < text.len() as u64);
    let other = path.with_extension("tmp");
    fs::write(&other, &whole).unwrap();
    fs::rename(other, &path).unwrap();
    rig.settle().await;
    let row = rig.file(&path).await;
    assert_eq!((row.cursor.generation, row.cursor.offset), (1, text.len() as u64));
    assert_eq!(items(&rig.store, &row).await.len(), 9_000);
    rig.assert_same_from_scratch().await;
}

#[tokio::test]
async fn a_plain_file_beats_its_compressed_twin() {
    let rig = Rig::new().await;
    let text = session(&thread(1), 3);
    let path = rig.write(&name(1), &text);
    rig.write(&format!("{}.zst", name(1)), zstd::encode_all(text.as_bytes(), 3).unwrap());
    rig.settle().await;
    let files = rig.store.files.after(longhaul_store::FileId(0)).await.unwrap();
    assert_eq!(files.len(), 1);
    assert_eq!(files[0].path, path.to_str().unwrap());
}

#[tokio::test]
async fn unreadable_and_corrupt_files_are_reported_and_the_others_are_read() {
    let rig = Rig::new().await;
    let good = rig.write(&name(1), session(&thread(1), 3));
    let bad = rig.write(&format!("{}.zst", name(2)), "this is not zstd at all");
    let locked = rig.write(&name(3), session(&thread(3), 3));
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).unwrap();
    let is_root = fs::File::open(&locked).is_ok();
    rig.settle().await;
    assert_eq!(rig.file(&good).await.head.unwrap().items, 9);
    let errors = rig.ingest.progress().errors;
    assert!(errors.iter().any(|(path, _)| *path == bad.to_str().unwrap()), "{errors:?}");
    assert!(is_root || errors.iter().any(|(path, _)| *path == locked.to_str().unwrap()));
    assert!(rig.events.warnings.lock().unwrap().contains(&WarningKind::Unreadable));
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o600)).unwrap();
    append(&locked, turn_of("t", 4));
    rig.settle().await;
    assert_eq!(rig.file(&locked).await.head.unwrap().items, 12);
}

/// Root ignores permissions, so the file is repaired in place: as with `chmod`, neither its size nor its modification time
/// changes.
#[tokio::test]
async fn an_unreadable_file_is_retried_when_only_its_permissions_changed() {
    let rig = Rig::new().await;
    let whole = zstd::encode_all(session(&thread(1), 3).as_bytes(), 3).unwrap();
    let path = rig.write(&format!("{}.zst", name(1)), vec![b'x'; whole.len()]);
    set_mtime(&path, later());
    rig.settle().await;
    assert_eq!(rig.ingest.progress().errors.len(), 1);
    fs::write(&path, &whole).unwrap();
    set_mtime(&path, later());
    rig.settle().await;
    assert_eq!(rig.file(&path).await.head.unwrap().items, 9);
    assert_eq!(rig.ingest.progress().errors, []);
}

/// Short files are compared at once, long ones when they are idle.
#[tokio::test]
async fn a_change_before_an_append_is_found_and_the_file_read_again() {
    for turns in [40, 4_000] {
        let rig = Rig::new().await;
        let text = session(&thread(1), turns);
        let path = rig.write(&name(1), &text);
        rig.settle().await;
        let at = text.find("step 13 of").unwrap() as u64 + 5;
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.write_all_at(b"XX", at).unwrap();
        append(&path, turn_of("t", 9_999));
        let anew = async {
            loop {
                rig.settle().await;
                if rig.file(&path).await.cursor.generation > 1 {
                    return;
                }
            }
        };
        tokio::time::timeout(WAIT, anew).await.expect("it is read anew");
        rig.settle().await;
        rig.assert_same_from_scratch().await;
    }
}

/// Only the bytes differ: size, modification time and inode are the same.
#[tokio::test]
async fn a_rewrite_that_looks_unchanged_is_found_by_the_hourly_round() {
    for turns in [40, 4_000] {
        let rig = Rig::new().await;
        let text = session(&thread(1), turns);
        let path = rig.write(&name(1), &text);
        rig.write(&name(2), session(&thread(2), 3));
        rig.settle().await;
        let changed_at = fs::metadata(&path).unwrap().modified().unwrap();
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.write_all_at(b"XX", text.find("step 13 of").unwrap() as u64 + 5).unwrap();
        file.set_modified(changed_at).unwrap();
        rig.settle().await;
        assert_eq!(rig.file(&path).await.cursor.generation, 1, "it looks as it did");
        let mut hours = 0;
        // The daemon's start decides when the rounds begin; the worker may be busy when one is due.
        while rig.file(&path).await.cursor.generation == 1 {
            tokio::time::pause();
            tokio::time::advance(Duration::from_secs(3_601)).await;
            tokio::time::resume();
            rig.settle().await;
            hours += 1;
            assert!(hours < 2_000, "it is not read anew");
        }
        rig.settle().await;
        rig.assert_same_from_scratch().await;
    }
}

#[tokio::test]
async fn an_unreadable_saved_fold_is_computed_again() {
    let rig = Rig::new().await;
    let path = rig.write(&name(1), session(&thread(1), 20));
    rig.settle().await;
    let before = rig.file(&path).await;
    let spoiled = FileCommit {
        source: before.source,
        path: before.path.clone(),
        moved_from: None,
        archived: before.archived,
        gone_at_ms: None,
        stat: before.stat,
        cursor: before.cursor,
        base: before.base,
        thread_id: before.thread_id.clone(),
        head: before.head.clone().unwrap(),
        fold: vec![u8::try_from(Fold::VERSION).unwrap()],
        pages: Vec::new(),
        observations: Vec::new(),
    };
    rig.store.projection.commit(&[spoiled]).await.unwrap();
    let fold = rig.ingest.fold(&thread(1)).await.unwrap().unwrap();
    assert_eq!(Some(fold.head()), before.head.as_ref(), "a read does not wait");
    assert!(rig.ingest.progress().folds_broken > 0, "doctor tells of it");
    rig.settle().await;
    let fold = rig.ingest.fold(&thread(1)).await.unwrap().unwrap();
    assert_eq!(Some(fold.head().items), before.head.map(|head| head.items));
    rig.assert_same_from_scratch().await;
}
