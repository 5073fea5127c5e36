//! Memory after the database was lost.

use std::fs;
use std::path::{Path, PathBuf};

use longhaul_protocol::memory::{AddNote, AddNoteParams, Forget, ForgetParams, Origin};

use crate::memory::{APP, FIRST, OFF, RULE, SECOND, ask, daemon_with, run_all};
use crate::support::{Client, Daemon, file_with};

const LOCK: &str = "Never touch the lock file, it is generated.";
const OTHER: &str = "/w/other";

async fn note(client: &mut Client, text: &str) -> String {
    let (text, origin) = (text.to_owned(), Some(Origin::Person));
    ask::<AddNote>(client, AddNoteParams { text, cwd: None, origin }).await.note_id
}

async fn forget_note(client: &mut Client, note_id: String) {
    ask::<Forget>(client, ForgetParams { note_id: Some(note_id), ..Default::default() }).await;
}

fn state(home: &Path) -> PathBuf {
    home.join(".local/state/longhaul")
}

fn lose_database(home: &Path) {
    for end in ["", "-wal", "-shm", ".seal"] {
        fs::remove_file(state(home).join(format!("longhaul.db{end}"))).ok();
    }
}

/// Every page after the first is unreadable.
fn damage_database(home: &Path) {
    let path = state(home).join("longhaul.db");
    let mut bytes = fs::read(&path).unwrap();
    bytes[4_096..].fill(0xa5);
    fs::write(path, bytes).unwrap();
}

async fn has_warning(client: &mut Client, kind: &str) -> bool {
    client.status().await.warnings.iter().any(|warning| warning.kind == kind)
}

async fn what_a_person_wrote_survives(lose: impl FnOnce(&Path)) {
    let threads = [(FIRST, APP, RULE), (SECOND, OTHER, LOCK)];
    let (daemon, mut client) = daemon_with(&threads, OFF).await;
    run_all(&mut client).await;
    note(&mut client, "Deploy on Mondays only.").await;
    let regretted = note(&mut client, "Deploy on Tuesdays only.").await;
    let project = ForgetParams { cwd: Some(OTHER.to_owned()), ..Default::default() };
    ask::<Forget>(&mut client, project).await;
    forget_note(&mut client, regretted).await;
    let home = daemon.stopped().await;
    // One edit that a publication has taken, and one that none has.
    let file = state(home.path()).join("memory/MEMORY.md");
    let text = fs::read_to_string(&file).unwrap();
    let rule = text.lines().find(|line| line.starts_with("- Always run cargo nextest")).unwrap();
    fs::write(&file, text.replace(rule, "- The fixtures live in tests/fixtures.")).unwrap();
    let (daemon, mut client) = Daemon::with_client(home, OFF).await;
    note(&mut client, "The staging port is 5433.").await;
    let home = daemon.stopped().await;
    fs::write(&file, fs::read_to_string(&file).unwrap() + "- Ask Kim about billing.\n").unwrap();
    fs::write(state(home.path()).join("memory/mine.md"), "my own file\n").unwrap();
    // As after a crash in a later publication.
    let later = state(home.path()).join("memory.d/g99");
    fs::create_dir(&later).unwrap();
    fs::write(later.join("MEMORY.md"), "- Deploy on Tuesdays only.\n").unwrap();
    lose(home.path());

    let (daemon, mut client) = Daemon::with_client(home, OFF).await;
    assert!(has_warning(&mut client, "memory_taken_over").await);
    client.sync(FIRST).await;
    client.sync(SECOND).await;
    run_all(&mut client).await;
    let text = fs::read_to_string(&file).unwrap();
    for kept in ["fixtures live", "Deploy on Mondays", "port is 5433", "Ask Kim"] {
        assert!(text.contains(kept), "{kept:?} is not in {text}");
    }
    assert!(text.contains("cargo nextest run"), "the thread was not read again: {text}");
    assert!(!text.contains("\n- Always run cargo nextest"), "{text}");
    let home = daemon.stopped().await;
    assert_eq!(fs::read_to_string(file.with_file_name("mine.md")).unwrap(), "my own file\n");
    for gone in ["lock file", "Tuesdays"] {
        assert_eq!(file_with(&state(home.path()).join("memory.d"), gone), None, "{gone}");
    }
    let (daemon, mut client) = Daemon::with_client(home, OFF).await;
    assert!(!has_warning(&mut client, "memory_taken_over").await, "once");
    daemon.stopped().await;
}

#[tokio::test]
async fn notes_edits_and_exclusions_survive_the_loss_of_the_database() {
    what_a_person_wrote_survives(lose_database).await;
}

#[tokio::test]
async fn notes_edits_and_exclusions_survive_the_damage_of_the_database() {
    what_a_person_wrote_survives(damage_database).await;
}

#[tokio::test]
async fn files_without_a_readable_journal_are_set_aside_until_something_is_forgotten() {
    let (daemon, mut client) = daemon_with(&[(FIRST, APP, RULE)], OFF).await;
    note(&mut client, "Deploy on Mondays only.").await;
    let home = daemon.stopped().await;
    let state = state(home.path());
    fs::write(state.join("memory.d/g1.json"), "{\"version\":1").unwrap();
    lose_database(home.path());

    let (daemon, mut client) = Daemon::with_client(home, OFF).await;
    assert!(has_warning(&mut client, "memory_set_aside").await);
    let other = note(&mut client, "The staging port is 5433.").await;
    let aside = state.join("memory.d/kept-g1-1/MEMORY.md");
    assert!(fs::read_to_string(&aside).unwrap().contains("Deploy on Mondays"));
    let home = daemon.stopped().await;
    let (daemon, mut client) = Daemon::with_client(home, OFF).await;
    assert!(has_warning(&mut client, "memory_set_aside").await && aside.exists());
    forget_note(&mut client, other).await;
    assert!(!aside.exists() && !state.join("memory.d/kept-g1-1.json").exists());
    assert!(!has_warning(&mut client, "memory_set_aside").await);
    daemon.stopped().await;
}

#[tokio::test]
async fn a_folder_of_a_build_without_journals_gets_one_at_the_next_publication() {
    let (daemon, mut client) = daemon_with(&[(FIRST, APP, RULE)], OFF).await;
    note(&mut client, "Deploy on Mondays only.").await;
    let home = daemon.stopped().await;
    let journal = state(home.path()).join("memory.d/g1.json");
    fs::remove_file(&journal).unwrap();
    let (daemon, mut client) = Daemon::with_client(home, OFF).await;
    run_all(&mut client).await;
    let journal = journal.with_file_name("g2.json");
    assert!(fs::read_to_string(&journal).unwrap().contains("Deploy on Mondays"));
    daemon.stopped().await;
}
