//! Removal of the state folder, or of its database, from a running daemon.

use std::path::Path;
use std::{fs, io};

use longhaul_protocol::ErrorKind;
use longhaul_protocol::memory::{AddNote, AddNoteParams, Origin};

use crate::support::{Daemon, Process};

fn note() -> AddNoteParams {
    AddNoteParams { text: "We deploy on Tuesdays.".into(), cwd: None, origin: Some(Origin::Person) }
}

async fn nothing_is_acknowledged_after(remove: impl Fn(&Path)) {
    let daemon = Daemon::start().await;
    let state = daemon.deps.config.now().state_dir.to_path_buf();
    let mut client = daemon.connect().await;
    client.call::<AddNote>(note()).await.unwrap();
    remove(&state);
    let error = client.call::<AddNote>(note()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StateLost, "{error:?}");
    assert!(error.message.contains(state.to_str().unwrap()), "{error:?}");
    let next = Daemon::over(ended(daemon).await, "").await;
    next.connect().await.call::<AddNote>(note()).await.unwrap();
}

/// Waits for the exit, which must be a failure with the cause; returns the folders.
async fn ended(daemon: Daemon) -> tempfile::TempDir {
    let (result, home) = daemon.ended_at_home().await;
    let error = result.unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("was removed or replaced"), "{cause}");
    home
}

/// Removes a folder in which a daemon may make a file at the same time.
fn remove(folder: &Path) {
    let is_refilled = |error: &io::Error| error.kind() == io::ErrorKind::DirectoryNotEmpty;
    let removed = (0..50)
        .map(|_| fs::remove_dir_all(folder))
        .find(|removed| !removed.as_ref().is_err_and(is_refilled));
    removed.expect("files kept coming").unwrap();
}

#[tokio::test]
async fn without_its_state_folder_a_daemon_acknowledges_nothing_and_exits() {
    nothing_is_acknowledged_after(remove).await;
}

#[tokio::test]
async fn without_its_database_a_daemon_acknowledges_nothing_and_exits() {
    nothing_is_acknowledged_after(|state| fs::remove_file(state.join("longhaul.db")).unwrap())
        .await;
}

#[tokio::test]
async fn a_new_daemon_at_the_same_path_is_not_disturbed_by_the_old_one() {
    let (old, mut asked) = Daemon::start_with_client().await;
    remove(&old.deps.config.now().state_dir);
    let error = asked.call::<AddNote>(note()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StateLost);
    let (_new, mut client) = Process::with_client(old.home.path()).await;
    client.call::<AddNote>(note()).await.unwrap();
    let _home = ended(old).await;
    client.call::<AddNote>(note()).await.unwrap();
    assert_eq!(client.status().await.warnings, []);
}
