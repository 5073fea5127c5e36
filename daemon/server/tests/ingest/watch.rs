//! Notifications of the real kernel. Nothing is scanned periodically: what is not noticed is never read.

use std::fs;
use std::path::Path;
use std::time::Duration;

use longhaul_core::fold::Source;
use longhaul_daemon::ingest::Root;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::rig::{Rig, WAIT, append, limits, name, session, thread, turn_of};

#[tokio::test(flavor = "multi_thread")]
async fn changes_are_noticed_without_a_scan() {
    let rig = Rig::new().await;
    rig.settle().await;
    // A folder that did not exist, a file in it, and then more lines.
    let path = rig.write("2031/01/02/new.jsonl", session(&thread(9), 1));
    items_of(&rig, 9, 3).await;
    append(&path, turn_of("t", 2));
    items_of(&rig, 9, 6).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_created_after_the_start_is_read_at_once() {
    let rig = Rig::over(tempfile::tempdir().unwrap(), limits()).await;
    rig.settle().await;
    assert!(rig.ingest.progress().sources.iter().all(|source| !source.exists));
    // The agent's home, its folders and the first transcript in one step.
    let path = rig.write(&name(1), session(&thread(1), 1));
    items_of(&rig, 1, 3).await;
    append(&path, turn_of("t", 2));
    items_of(&rig, 1, 6).await;

    // Removed and created again before a check: the old watch is dead.
    fs::remove_dir_all(rig.sessions()).unwrap();
    rig.write(&name(2), session(&thread(2), 1));
    items_of(&rig, 2, 3).await;

    // With the home as well, restored one step at a time.
    fs::remove_dir_all(rig.sessions().parent().unwrap()).unwrap();
    until(|| rig.ingest.progress().sources.iter().all(|source| source.files == 0)).await;
    fs::create_dir(rig.sessions().parent().unwrap()).unwrap();
    rig.settle().await;
    rig.write(&name(3), session(&thread(3), 1));
    items_of(&rig, 3, 3).await;
}

/// A folder with transcripts: the agent's home, a root in it, or a folder in that.
const FOLDERS: [&str; 3] = ["home", "home/sessions", "home/sessions/2025"];

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_is_renamed_and_renamed_back_is_watched_as_before() {
    for is_seen in [false, true] {
        for folder in FOLDERS {
            let rig = Rig::new().await;
            let path = rig.write(&name(1), session(&thread(1), 1));
            rig.settle().await;
            let (folder, aside) = (rig.folder.path().join(folder), rig.folder.path().join("aside"));
            fs::rename(&folder, &aside).unwrap();
            if is_seen {
                rig.settle().await;
            }
            fs::rename(&aside, &folder).unwrap();
            append(&path, turn_of("t", 2));
            items_of(&rig, 1, 6).await;
            append(&path, turn_of("t", 3));
            items_of(&rig, 1, 9).await;
            rig.write("2031/01/02/new.jsonl", session(&thread(2), 1));
            items_of(&rig, 2, 3).await;
        }
    }
}

/// An agent's home is watched as long as a folder in it is missing, and the folder above it as long as another agent's home
/// is.
#[tokio::test(flavor = "multi_thread")]
async fn a_home_that_is_watched_itself_may_be_renamed_and_renamed_back() {
    let folder = tempfile::tempdir().unwrap();
    let (home, aside) = (folder.path().join("home"), folder.path().join("aside"));
    fs::create_dir_all(home.join("sessions")).unwrap();
    let mut roots = Root::of(Source::Codex, &home);
    roots.extend(Root::of(Source::Claude, &folder.path().join("missing")));
    let rig = Rig::of(folder, roots, limits()).await;
    let path = rig.write(&name(1), session(&thread(1), 1));
    rig.settle().await;
    fs::rename(&home, &aside).unwrap();
    fs::rename(&aside, &home).unwrap();
    append(&path, turn_of("t", 2));
    items_of(&rig, 1, 6).await;
    append(&path, turn_of("t", 3));
    items_of(&rig, 1, 9).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_in_the_place_of_another_is_watched() {
    for folder in FOLDERS {
        let rig = Rig::new().await;
        rig.write(&name(1), session(&thread(1), 1));
        rig.settle().await;
        let (place, aside) = (rig.folder.path().join(folder), rig.folder.path().join("aside"));
        fs::rename(&place, &aside).unwrap();
        let path = rig.write(&name(2), session(&thread(2), 1));
        if folder == "home" {
            // Nothing tells that the folder above all watched ones was moved.
            rig.settle().await;
        }
        items_of(&rig, 2, 3).await;
        // What happens to the old one does not end the watches of the new one.
        remove_contents(&aside);
        append(&path, turn_of("t", 2));
        items_of(&rig, 2, 6).await;
        append(&path, turn_of("t", 3));
        items_of(&rig, 2, 9).await;
    }
}

/// Removes everything in a folder, but not the folder itself.
fn remove_contents(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        fs::remove_dir_all(entry.unwrap().path()).ok();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_is_moved_in_is_read_and_watched() {
    let rig = Rig::new().await;
    rig.settle().await;
    let path = rig.write(&name(1), session(&thread(1), 1));
    items_of(&rig, 1, 3).await;
    let aside = rig.folder.path().join("aside");
    fs::create_dir_all(aside.join("01/02")).unwrap();
    fs::write(aside.join("01/02/new.jsonl"), session(&thread(2), 1)).unwrap();
    fs::rename(&aside, rig.sessions().join("2031")).unwrap();
    items_of(&rig, 2, 3).await;
    append(&rig.sessions().join("2031/01/02/new.jsonl"), turn_of("t", 2));
    items_of(&rig, 2, 6).await;
    append(&path, turn_of("t", 2));
    items_of(&rig, 1, 6).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_take_each_other_s_place_are_read_again() {
    let rig = Rig::new().await;
    let (one, two) = (rig.write("1.jsonl", session(&thread(1), 1)), rig.sessions().join("2.jsonl"));
    fs::write(&two, session(&thread(2), 2)).unwrap();
    rig.settle().await;
    let has = async |path: &Path, number| {
        let row = rig.store.files.by_path(path.to_str().unwrap()).await.unwrap();
        row.and_then(|row| row.thread_id) == Some(thread(number))
    };
    renameat_with(CWD, &one, CWD, &two, RenameFlags::EXCHANGE).unwrap();
    until_async(async || has(&one, 2).await && has(&two, 1).await).await;
    let new = rig.sessions().join("new");
    fs::write(&new, session(&thread(3), 1)).unwrap();
    fs::rename(&new, &one).unwrap();
    until_async(async || has(&one, 3).await).await;
    rig.settle().await;
    rig.assert_same_from_scratch().await;
}

/// Waits until a thread was read up to a line, without requesting it.
async fn items_of(rig: &Rig, number: u32, items: u64) {
    until_async(async || {
        let fold = rig.ingest.fold(&thread(number)).await.unwrap();
        fold.is_some_and(|fold| fold.head().items == items)
    })
    .await;
}

async fn until(is_so: impl Fn() -> bool) {
    until_async(async || is_so()).await;
}

async fn until_async(is_so: impl AsyncFn() -> bool) {
    let seen = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(WAIT, seen).await.unwrap();
}
