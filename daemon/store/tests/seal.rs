//! Flipped bits in a database at rest are found and never give a wrong answer.

use std::fs;
use std::path::PathBuf;

use longhaul_core::job::Moment;
use longhaul_core::memory::Origin;
use longhaul_store::{NoteOutcome, NoteRow, SalvageReport, Store, StoreError};

use crate::sample::{Temp, file, update};

async fn filled() -> Temp {
    let (temp, store) = Temp::opened().await;
    store.age.advance(Moment { wall_ms: 1, boot: "a".into(), boot_ms: 1 }).await.unwrap();
    for n in 0..12_u32 {
        let body = format!("{{\"kind\":\"decision\",\"n\":{n},\"text\":\"{}\"}}", "y".repeat(300));
        store.updates.insert(&format!("t{n}"), 0, &update(&body)).await.unwrap();
        let (row, result) = crate::salvage::compaction(n);
        store.compactions.insert(&row, &result, None).await.unwrap();
        let note = NoteRow {
            note_id: format!("note_{n}"),
            project: None,
            at_ms: n.into(),
            text: format!("Remember {n}."),
            origin: Origin::CLIENT,
        };
        assert_eq!(store.notes.add(&note).await.unwrap(), NoteOutcome::Stored);
        let given = file(&format!("/{n}"), &format!("t{n}"), n.into(), 70);
        store.projection.commit(&[given]).await.unwrap();
    }
    store.database.close().await;
    temp
}

/// All rows of the store, as text.
async fn answers(store: &Store) -> String {
    let mut text = format!(
        "{:?} {:?}",
        store.notes.list().await.unwrap(),
        store.compactions.totals().await.unwrap()
    );
    let mut files = store.files.after(longhaul_store::FileId(0)).await.unwrap();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    for row in files {
        let (cursor, fold) = store.files.fold(row.file_id).await.unwrap().unwrap();
        let page = store.pages.get(row.file_id, cursor.generation, 0).await.unwrap();
        text += &format!("{row:?} {cursor:?} {fold:?} {page:?}");
    }
    for n in 0..12 {
        let compaction = store.compactions.get(&format!("cmp_{n:04}")).await.unwrap();
        let updates = store.updates.of_thread(&format!("t{n}")).await.unwrap();
        text += &format!("{compaction:?} {updates:?}");
    }
    text
}

#[tokio::test]
async fn one_flipped_bit_anywhere_is_repaired_and_reported() {
    let temp = filled().await;
    let sound = fs::read(temp.path()).unwrap();
    let seal = fs::read(temp.path().with_extension("db.seal")).unwrap();
    let (store, opened) = temp.open().await;
    assert_eq!(opened.pages_repaired, 0);
    let expected = answers(&store).await;
    store.database.close().await;
    // Every part of the header, then positions all over the file.
    let places = (0..100).step_by(9).chain((100..sound.len()).step_by(sound.len() / 41));
    for (bit, at) in places.enumerate() {
        let mut flipped = sound.clone();
        flipped[at] ^= 1 << (bit % 8);
        fs::write(temp.path(), flipped).unwrap();
        fs::write(temp.path().with_extension("db.seal"), &seal).unwrap();
        let (store, opened) = temp.open().await;
        assert_eq!((opened.pages_repaired, opened.moved_aside), (1, None), "bit at {at}");
        assert_eq!(answers(&store).await, expected, "bit at {at}");
        store.database.close().await;
        assert_eq!(fs::read(temp.path()).unwrap(), sound, "bit at {at}");
    }
}

/// Overwrites a note in the file and keeps its modification time, as a failing disk does.
fn damage(temp: &Temp) {
    let mut bytes = fs::read(temp.path()).unwrap();
    let needle = b"Remember 7.";
    let at = bytes.windows(needle.len()).position(|window| window == needle).unwrap();
    bytes[at..at + needle.len()].copy_from_slice(b"Forget 7 !!");
    let changed = fs::metadata(temp.path()).unwrap().modified().unwrap();
    fs::write(temp.path(), bytes).unwrap();
    fs::File::options().write(true).open(temp.path()).unwrap().set_modified(changed).unwrap();
}

/// Other rows were salvaged, and the rows of the damaged page were not.
async fn check_salvaged(store: &Store, aside: PathBuf, salvaged: SalvageReport) {
    assert_eq!((salvaged.updates, salvaged.compactions, salvaged.complete), (12, 12, false));
    let notes = store.notes.list().await.unwrap();
    assert!(notes.iter().all(|note| note.text.starts_with("Remember")), "{notes:?}");
    let mut kept = aside.into_os_string();
    kept.push(".damaged-pages");
    let kept = fs::read(kept).unwrap();
    assert!(kept.windows(11).any(|window| window == b"Forget 7 !!"), "the damaged page is kept");
    store.compactions.insert(&crate::salvage::compaction(99).0, &[], None).await.unwrap();
}

#[tokio::test]
async fn rows_of_an_unrepairable_page_are_missing_and_never_wrong() {
    let temp = filled().await;
    damage(&temp);
    let (store, opened) = temp.open().await;
    check_salvaged(&store, opened.moved_aside.unwrap(), opened.salvaged.unwrap()).await;
}

/// Files of the database, in the order in which they are moved.
const PARTS: [&str; 4] = ["-wal", "-shm", ".seal", ""];

fn part(temp: &Temp, suffix: &str) -> PathBuf {
    let mut path = temp.path().into_os_string();
    path.push(suffix);
    path.into()
}

#[tokio::test]
async fn a_kill_while_a_damaged_database_is_moved_aside_costs_none_of_its_files() {
    for moved in 0..=PARTS.len() {
        let temp = filled().await;
        damage(&temp);
        std::os::unix::fs::symlink(".corrupt-77", part(&temp, ".moving")).unwrap();
        for suffix in &PARTS[..moved] {
            // A database at rest has no log.
            fs::rename(part(&temp, suffix), part(&temp, &format!(".corrupt-77{suffix}"))).ok();
        }
        let (store, opened) = temp.open().await;
        let aside = part(&temp, ".corrupt-77");
        assert_eq!(opened.moved_aside, Some(aside.clone()), "after {moved} files");
        check_salvaged(&store, aside, opened.salvaged.unwrap()).await;
        assert!(part(&temp, ".moving").symlink_metadata().is_err(), "after {moved} files");
        drop(store);
        let (_, opened) = temp.open().await;
        assert_eq!(opened.moved_aside, None, "it was moved once");
    }
}

/// The seal no longer fits a file of which a page was cleared.
#[tokio::test]
async fn a_kill_while_damaged_pages_are_cleared_costs_neither_their_copies_nor_a_sound_page() {
    let temp = filled().await;
    damage(&temp);
    let aside = part(&temp, ".corrupt-77");
    let (store, opened) = temp.open().await;
    drop(store);
    let moved = opened.moved_aside.unwrap();
    for suffix in ["", ".seal", ".damaged-pages"] {
        let of = |path: &std::path::Path| {
            let mut path = path.as_os_str().to_owned();
            path.push(suffix);
            PathBuf::from(path)
        };
        fs::rename(of(&moved), of(&aside)).unwrap();
    }
    let copies = fs::read(part(&temp, ".corrupt-77.damaged-pages")).unwrap();
    let bytes = fs::read(&aside).unwrap();
    // The page is back, and only the copies know of it.
    let (number, page) = copies.split_first_chunk::<8>().unwrap();
    let page_bytes = page.len();
    let at = usize::try_from(u64::from_be_bytes(*number)).unwrap() * page_bytes;
    fs::write(&aside, [&bytes[..at], page, &bytes[at + page_bytes..]].concat()).unwrap();
    for suffix in PARTS {
        fs::remove_file(part(&temp, suffix)).ok();
    }
    std::os::unix::fs::symlink(".corrupt-77", part(&temp, ".moving")).unwrap();
    let (store, opened) = temp.open().await;
    check_salvaged(&store, aside, opened.salvaged.unwrap()).await;
}

#[tokio::test]
async fn a_recovery_that_failed_while_it_moved_the_file_goes_on_and_says_what_it_replaced() {
    // Where the copies of the damaged pages are written, and where the mark of the move is.
    for is_before_the_move in [false, true] {
        let temp = filled().await;
        let (store, _) = temp.open().await;
        damage(&temp);
        let aside = part(&temp, ".corrupt-1");
        let blocked = part(&temp, ".corrupt-1.damaged-pages");
        match is_before_the_move {
            true => std::os::unix::fs::symlink(".corrupt-1", part(&temp, ".moving")).unwrap(),
            false => {
                fs::create_dir(&blocked).unwrap();
                assert!(store.database.recover(1).await.is_err());
                assert!(store.database.is_recovery_unfinished());
                fs::remove_dir(&blocked).unwrap();
            }
        }
        assert_eq!(store.database.recover(2).await.unwrap(), Some(aside.clone()));
        let salvaged = store.database.rebuilt().unwrap().salvaged.unwrap();
        check_salvaged(&store, aside, salvaged).await;
    }
}

/// Its log has the newest rows, and the rest looks sound.
#[tokio::test]
async fn a_kill_after_the_log_was_moved_aside_loses_no_row_of_it() {
    let temp = filled().await;
    let (store, _) = temp.open().await;
    let (row, result) = crate::salvage::compaction(99);
    store.compactions.insert(&row, &result, None).await.unwrap();
    let copy = Temp::new();
    fs::copy(temp.path(), copy.path()).unwrap();
    fs::copy(part(&temp, "-wal"), part(&copy, ".corrupt-77-wal")).unwrap();
    std::os::unix::fs::symlink(".corrupt-77", part(&copy, ".moving")).unwrap();
    let (copied, opened) = copy.open().await;
    assert_eq!(opened.moved_aside, Some(part(&copy, ".corrupt-77")));
    assert_eq!(opened.salvaged.unwrap().compactions, 13);
    assert_eq!(copied.notes.list().await.unwrap().len(), 12);
}

#[tokio::test]
async fn rows_of_a_page_damaged_in_an_open_database_are_missing_after_its_recovery() {
    let temp = filled().await;
    let (store, _) = temp.open().await;
    store.notes.list().await.unwrap();
    damage(&temp);
    let found = store.database.check_pages().await;
    assert!(matches!(found, Err(StoreError::Corrupt { .. })), "{found:?}");
    let aside = store.database.recover(1).await.unwrap().unwrap();
    let salvaged = store.database.rebuilt().unwrap().salvaged.unwrap();
    check_salvaged(&store, aside, salvaged).await;
}

/// The seal is removed before the file changes, so a killed daemon leaves no false alarm.
#[tokio::test]
async fn a_kill_leaves_no_outdated_seal() {
    let temp = filled().await;
    let (store, _) = temp.open().await;
    store.projection.commit(&[file("/new", "new", 1, 3)]).await.unwrap();
    store.notes.scrub().await.unwrap();
    assert!(!temp.path().with_extension("db.seal").exists());
    let copy = Temp::new();
    fs::copy(temp.path(), copy.path()).unwrap();
    let (copied, opened) = copy.open().await;
    assert_eq!((opened.pages_repaired, opened.moved_aside), (0, None));
    assert_eq!(answers(&copied).await, answers(&store).await);
}

#[tokio::test]
async fn an_older_copy_restored_by_a_person_is_accepted() {
    let temp = filled().await;
    let older = fs::read(temp.path()).unwrap();
    let (store, _) = temp.open().await;
    let expected = answers(&store).await;
    store.projection.commit(&[file("/new", "new", 1, 300)]).await.unwrap();
    store.database.close().await;
    fs::write(temp.path(), older).unwrap();
    let (store, opened) = temp.open().await;
    assert_eq!((opened.pages_repaired, opened.moved_aside), (0, None));
    assert_eq!(answers(&store).await, expected);
}

/// Number of this process's locks on a file, from the system's list.
#[cfg(target_os = "linux")]
fn locks(path: &std::path::Path) -> usize {
    use std::os::unix::fs::MetadataExt as _;

    let (pid, end) = (std::process::id(), format!(":{}", fs::metadata(path).unwrap().ino()));
    let listed = fs::read_to_string("/proc/locks").unwrap();
    let is_its = |line: &&str| {
        let mut words = line.split_whitespace();
        words.nth(4) == Some(&pid.to_string()) && words.next().is_some_and(|at| at.ends_with(&end))
    };
    listed.lines().filter(is_its).count()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn checking_the_pages_drops_no_lock_of_sqlite() {
    let temp = filled().await;
    let (store, _) = temp.open().await;
    store.notes.list().await.unwrap();
    assert!(locks(&temp.path()) > 0, "SQLite locks an open database");
    store.database.check_pages().await.unwrap();
    assert!(locks(&temp.path()) > 0, "after a check of the pages");
    assert_eq!(store.database.recover(1).await.unwrap(), None);
    assert!(locks(&temp.path()) > 0, "after another check, through new connections");
    store.database.close().await;
    assert_eq!(locks(&temp.path()), 0);
}

#[tokio::test]
async fn a_bit_that_flips_in_an_open_database_is_repaired_by_the_next_check_and_counted() {
    let temp = filled().await;
    let (store, _) = temp.open().await;
    store.notes.list().await.unwrap();
    let sound = fs::read(temp.path()).unwrap();
    let mut flipped = sound.clone();
    flipped[sound.len() / 2] ^= 4;
    fs::write(temp.path(), flipped).unwrap();
    store.database.check_pages().await.unwrap();
    assert_eq!(fs::read(temp.path()).unwrap(), sound);
    assert_eq!(store.database.pages_repaired(), 1);
    store.database.check_pages().await.unwrap();
    assert_eq!(store.database.pages_repaired(), 1, "once");
    store.database.close().await;
}
