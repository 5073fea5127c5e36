//! Memory from transcripts to files, and the person's edits of the files.

use std::path::Path;

use longhaul_protocol::event::EventKind;
use longhaul_protocol::memory::{
    AddNote, AddNoteParams, Forget, ForgetParams, MemoryList, MemoryListParams, MemoryListResult,
    Origin, Read, ReadParams, ReadResult, Run, RunParams, RunResult, RunState, Search,
    SearchParams, SearchResult, Status, StatusParams, StatusResult, Summary, SummaryParams,
    SummaryResult,
};
use longhaul_protocol::{ErrorKind, Method};
use serde_json::json;

use crate::support::rollout::Rollout;
use crate::support::{Client, Daemon, file_with, files_under, message, soon};

pub const FIRST: &str = "019cadd3-0000-7000-8000-0000000000a1";
pub const SECOND: &str = "019cadd3-0000-7000-8000-0000000000a2";
const SECRET: &str = "ghp_016C7a3fKQz9hT5eYwLrUvXsBnMdPj2Eo4Gi";

/// The tests of the parser fail, `file` is changed, and they pass; all this several times.
pub fn repair(rollout: &mut Rollout, file: &str, times: u32) {
    for round in 0..times {
        rollout.command("cargo nextest run -p parser", 1, "error[E0308]: mismatched types\n");
        rollout.patch(&format!(
            "*** Begin Patch\n*** Update File: {file}\n@@\n-old {round}\n+new\n*** End Patch"
        ));
        rollout.command("cargo nextest run -p parser", 0, "12 tests passed\n");
    }
}

/// A thread with a rule of the person and a command that was fixed.
pub fn thread(home: &Path, id: &str, cwd: &str, rule: &str) {
    let mut rollout = Rollout::new(id, Path::new(cwd));
    rollout.message("user", &format!("Fix the parser in src/parse.rs. {rule}"));
    repair(&mut rollout, "src/parse.rs", 3);
    rollout.command(&format!("echo token={SECRET}"), 0, &format!("token={SECRET}\n"));
    rollout.message("assistant", "The parser is fixed and its tests pass.");
    rollout.write(home);
}

pub async fn ask<M: Method>(client: &mut Client, params: M::Params) -> M::Result {
    client.call::<M>(params).await.unwrap()
}

/// Params that build memory of all threads now, even new ones.
pub fn all() -> RunParams {
    RunParams { all: Some(true), ..Default::default() }
}

pub async fn run_all(client: &mut Client) -> RunResult {
    ask::<Run>(client, all()).await
}

/// Builds memory of the due threads.
pub async fn run_due(client: &mut Client) -> RunResult {
    ask::<Run>(client, RunParams::default()).await
}

pub async fn status(client: &mut Client) -> StatusResult {
    ask::<Status>(client, StatusParams::default()).await
}

async fn status_of(client: &mut Client, thread_id: &str) -> StatusResult {
    ask::<Status>(client, StatusParams { thread_id: Some(thread_id.into()) }).await
}

pub async fn summary(client: &mut Client) -> SummaryResult {
    ask::<Summary>(client, SummaryParams { cwd: Some(APP.into()), ..Default::default() }).await
}

async fn search(client: &mut Client, query: &str) -> SearchResult {
    ask::<Search>(client, SearchParams { query: query.into(), ..Default::default() }).await
}

pub async fn list(client: &mut Client) -> MemoryListResult {
    ask::<MemoryList>(client, MemoryListParams::default()).await
}

async fn read(client: &mut Client, path: &str) -> ReadResult {
    ask::<Read>(client, ReadParams { path: path.into(), ..Default::default() }).await
}

pub fn assert_run(run: &RunResult, extracted: u64, changed: bool) {
    assert_eq!((run.extracted, run.changed), (extracted, changed), "{run:?}");
    assert_eq!((run.state, run.failed, run.fallbacks), (RunState::Done, 0, 0), "{run:?}");
}

pub async fn daemon_with(threads: &[(&str, &str, &str)], config: &str) -> (Daemon, Client) {
    let home = tempfile::tempdir().unwrap();
    for (id, cwd, rule) in threads {
        thread(home.path(), id, cwd, rule);
    }
    let (daemon, mut client) = Daemon::with_client(home, config).await;
    for (id, _, _) in threads {
        client.sync(id).await;
    }
    (daemon, client)
}

pub const RULE: &str = "Always run cargo nextest before you say that something works.";
pub const APP: &str = "/w/app";
pub const OFF: &str = "[memory]\nenabled = false\n";

#[tokio::test]
async fn threads_become_files_that_are_summarized_searched_and_read() {
    let threads = [(FIRST, APP, RULE), (SECOND, "/w/other", "Never touch the lock file.")];
    let (daemon, mut client) = daemon_with(&threads, OFF).await;
    let mut listener = daemon.connect().await;
    listener.subscribe(&[EventKind::MemoryProgress, EventKind::MemoryPublished]).await;

    let early = run_due(&mut client).await;
    assert_eq!(early.extracted, 0, "{early:?}");
    assert_eq!((early.skipped[0].reason.as_str(), early.skipped[0].threads), ("busy", 2));
    let run = run_all(&mut client).await;
    assert_run(&run, 2, true);
    assert_eq!((run.threads, run.empty), (2, 0), "{run:?}");
    assert!(run.generation > early.generation, "{run:?}");
    let mut progress = 0;
    let published = async {
        while listener.event().await.kind != EventKind::MemoryPublished {
            progress += 1;
        }
    };
    soon("an event", published).await;
    assert!(progress > 0, "it was published without a word of progress");

    let shown = summary(&mut client).await;
    let text = &shown.text;
    assert!(text.contains("cargo nextest") && !text.contains("lock file"), "{text}");
    assert!(text.starts_with("<longhaul_memory>"), "{text}");
    assert_eq!((shown.generation, shown.project.as_deref()), (run.generation, Some(APP)));
    // The path that agents are given.
    let how = shown.instructions.unwrap();
    let (_, root) = how.split_once("there is more in ").unwrap();
    let root = root.split(". ").next().unwrap();
    assert!(Path::new(root).join("MEMORY.md").is_file() && !how.contains('{'), "{how}");
    assert!(how.len() <= 4 * 330 && how.contains("<memory_citation>"), "{how}");
    let small =
        SummaryParams { cwd: Some(APP.into()), max_tokens: Some(60), brief: None, framed: None };
    let small = ask::<Summary>(&mut client, small).await;
    assert!(small.tokens <= 60 && small.text.len() <= 4 * 60, "{small:?}");
    assert!(shown.tokens > 60, "the bound was needed");

    let params = SearchParams {
        query: "nextest parser".into(),
        cwd: Some(APP.into()),
        ..Default::default()
    };
    let hits = ask::<Search>(&mut client, params).await.hits;
    let hit = &hits[0];
    let page = ReadParams {
        path: hit.path.clone(),
        line: Some(hit.line_start),
        max_lines: Some(1),
        max_tokens: None,
    };
    let page = ask::<Read>(&mut client, page).await;
    assert_eq!((page.line_start, page.line_end), (hit.line_start, hit.line_start));
    let first = hit.text.lines().next().unwrap();
    assert_eq!(page.text.trim_end(), first, "a citation leads to its line");
    let elsewhere = hits.iter().find(|hit| hit.project.as_deref() == Some("/w/other"));
    assert_eq!(elsewhere, None);
    daemon.stopped().await;
}

#[tokio::test]
async fn a_thread_that_a_person_names_need_not_be_idle() {
    let threads = [(FIRST, APP, RULE), (SECOND, APP, "Never touch the lock file.")];
    let (daemon, mut client) = daemon_with(&threads, OFF).await;
    assert_eq!(run_due(&mut client).await.extracted, 0);
    let named = RunParams { thread_id: Some(FIRST.into()), ..Default::default() };
    assert_run(&ask::<Run>(&mut client, named).await, 1, true);
    let skipped = status_of(&mut client, SECOND).await.skip_reason;
    assert!(skipped.is_some_and(|why| why.reason == "busy"), "it still waits");
    daemon.stopped().await;
}

#[tokio::test]
async fn nothing_is_published_without_a_change_and_new_lines_are_read() {
    let (daemon, mut client) = daemon_with(&[(FIRST, APP, RULE)], OFF).await;
    let first = run_all(&mut client).await;
    assert_run(&first, 1, true);
    let again = run_all(&mut client).await;
    assert_run(&again, 0, false);
    assert_eq!(first.generation, again.generation);
    let status = status_of(&mut client, FIRST).await;
    assert_eq!(status.skip_reason.as_ref().unwrap().reason, "nothing_new", "{status:?}");
    assert_eq!((status.threads, status.extracted, status.notes), (1, 1, 0), "{status:?}");
    assert!(status.learnings > 0 && !status.enabled, "{status:?}");

    let home = daemon.stopped().await;
    thread(home.path(), FIRST, APP, "Never use unwrap in this project, please.");
    let (path, text) = files_under(&home.path().join(".codex")).pop().unwrap();
    let more = json!({ "timestamp": "2026-03-02T10:15:00.000Z", "type": "response_item",
        "payload": message("user", "Thanks.") });
    std::fs::write(&path, format!("{text}{more}\n")).unwrap();
    let (daemon, mut client) = Daemon::synced(home, OFF, FIRST).await;
    assert_run(&run_all(&mut client).await, 1, true);
    daemon.stopped().await;
}

#[tokio::test]
async fn a_persons_edit_stays_and_a_deleted_line_does_not_return() {
    let (daemon, mut client) = daemon_with(&[(FIRST, APP, RULE)], OFF).await;
    run_all(&mut client).await;
    let root = list(&mut client).await.root;
    let file = Path::new(&root).join("MEMORY.md");
    let text = std::fs::read_to_string(&file).unwrap();
    let line = text.lines().find(|line| line.starts_with("- Always run cargo nextest")).unwrap();
    let edited = text.replace(&format!("{line}\n"), "- The fixtures live in tests/fixtures.\n");
    std::fs::write(&file, edited).unwrap();
    let files = list(&mut client).await.files;
    let edited: Vec<&str> =
        files.iter().filter(|file| file.edited).map(|file| file.path.as_str()).collect();
    assert_eq!(edited, ["MEMORY.md"]);

    assert_run(&run_due(&mut client).await, 0, true);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("The fixtures live in tests/fixtures."), "{text}");
    assert!(!text.contains("\n- Always run cargo nextest"), "{text}");
    assert!(!run_due(&mut client).await.changed, "an edit is taken once");
    daemon.stopped().await;
}

#[tokio::test]
async fn forgotten_memory_is_erased_when_the_call_is_answered() {
    let threads =
        [(FIRST, APP, RULE), (SECOND, APP, "Never touch the lock file, it is generated.")];
    let (daemon, mut client) = daemon_with(&threads, OFF).await;
    run_all(&mut client).await;
    let note = AddNoteParams {
        text: "Deploy on Tuesdays only.".into(),
        cwd: Some(APP.into()),
        origin: Some(Origin::Person),
    };
    let note = ask::<AddNote>(&mut client, note).await;
    assert_eq!(note.project.as_deref(), Some(APP));
    assert_eq!(search(&mut client, "Tuesdays").await.hits.len(), 1);

    let forget = ForgetParams { note_id: Some(note.note_id), ..Default::default() };
    ask::<Forget>(&mut client, forget).await;
    assert_eq!(search(&mut client, "Tuesdays").await.hits, []);
    // The person's version of the file is deleted with the thread.
    let root = list(&mut client).await.root;
    let summaries = files_under(&Path::new(&root).join("rollout_summaries"));
    let (path, text) = summaries.iter().find(|(_, text)| text.contains(SECOND)).unwrap();
    std::fs::write(path, format!("{text}mine\n")).unwrap();
    let of = |id: &str| ForgetParams { thread_id: Some(id.into()), ..Default::default() };
    assert_eq!(ask::<Forget>(&mut client, of(SECOND)).await.removed, 1);
    let status = status_of(&mut client, SECOND).await;
    assert_eq!(status.skip_reason.unwrap().reason, "excluded");
    let unknown = client.call::<Forget>(of("nobody")).await.unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::ThreadNotFound);

    let home = daemon.stopped().await;
    for (path, text) in files_under(&home.path().join(".local/state/longhaul/memory.d")) {
        for gone in ["lock file, it is generated", "Tuesdays", SECOND] {
            // The journal says which threads are excluded.
            let may_name = gone == SECOND && path.extension().is_some_and(|end| end == "json");
            assert!(may_name || !text.contains(gone), "{gone} is in {}", path.display());
        }
    }
}

#[tokio::test]
async fn an_entry_is_forgotten_by_the_id_at_the_end_of_its_line_and_an_unknown_one_is_refused() {
    let (daemon, mut client) = daemon_with(&[(FIRST, APP, RULE)], OFF).await;
    run_all(&mut client).await;
    let root = list(&mut client).await.root;
    let memory = || std::fs::read_to_string(Path::new(&root).join("MEMORY.md")).unwrap();
    let of = |id: &str| ForgetParams { entry_id: Some(id.into()), ..Default::default() };
    let before = memory();
    let unknown = client.call::<Forget>(of("nope")).await.unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::InvalidParams);
    assert_eq!(memory(), before);

    let id = before.lines().find_map(|line| line.strip_prefix("- ")?.split_once("; id ")).unwrap();
    let id = id.1.split([']', ';']).next().unwrap();
    assert_eq!(ask::<Forget>(&mut client, of(id)).await.removed, 1, "{id}");
    assert!(!memory().contains(id), "{}", memory());
    assert_eq!(ask::<Forget>(&mut client, of(id)).await.removed, 0, "to finish an earlier call");
    daemon.stopped().await;
}

#[tokio::test]
async fn secrets_reach_no_file_and_no_table() {
    let (daemon, mut client) = daemon_with(&[(FIRST, APP, RULE)], OFF).await;
    run_all(&mut client).await;
    let note = AddNoteParams {
        text: format!("the token is {SECRET}"),
        cwd: None,
        origin: Some(Origin::Person),
    };
    let note = ask::<AddNote>(&mut client, note).await;
    assert!(note.text.starts_with("the token is ") && !note.text.contains(SECRET), "{}", note.text);
    let home = daemon.stopped().await;
    assert_eq!(file_with(&home.path().join(".local/state/longhaul"), SECRET), None);
}

#[tokio::test]
async fn a_crash_before_the_link_was_switched_is_repaired() {
    let (daemon, mut client) = daemon_with(&[(FIRST, APP, RULE)], OFF).await;
    run_all(&mut client).await;
    let home = daemon.stopped().await;
    let state = home.path().join(".local/state/longhaul");
    let before = std::fs::read_to_string(state.join("memory/MEMORY.md")).unwrap();
    // As after a crash between the transaction and the rename, with a half-written staging folder.
    std::fs::remove_file(state.join("memory")).unwrap();
    std::fs::remove_dir_all(state.join("memory.d/g1")).unwrap();
    std::fs::create_dir_all(state.join("memory.d/.staging-g2")).unwrap();
    std::fs::write(state.join("memory.d/.staging-g2/MEMORY.md"), "half").unwrap();
    let (daemon, mut client) = Daemon::with_client(home, OFF).await;
    assert_eq!(run_due(&mut client).await.generation, 1);
    assert_eq!(std::fs::read_to_string(state.join("memory/MEMORY.md")).unwrap(), before);
    daemon.stopped().await;
}

#[tokio::test]
async fn an_idle_thread_is_extracted_in_the_background() {
    let home = tempfile::tempdir().unwrap();
    thread(home.path(), FIRST, APP, RULE);
    let (daemon, mut client) = Daemon::with_client(home, "[memory]\nmin_idle_hours = 0\n").await;
    let published = async { while status(&mut client).await.generation == 0 {} };
    soon("memory", published).await;
    daemon.stopped().await;
}

#[tokio::test]
async fn a_procedure_repeated_in_several_threads_becomes_a_skill() {
    let home = tempfile::tempdir().unwrap();
    let ids: Vec<String> = (0..3).map(|n| format!("{}{n}", &FIRST[..35])).collect();
    for (number, id) in ids.iter().enumerate() {
        let mut rollout = Rollout::new(id, Path::new(APP));
        for _ in 0..number {
            // Started at different seconds, or they would count as copies.
            rollout.line("turn_context", &json!({ "cwd": APP }));
        }
        rollout.message("user", &format!("Release version 1.{number}, please."));
        for line in [
            "ls".to_owned(),
            "./scripts/bump.sh minor".to_owned(),
            format!("cd {APP} && npm run build 2>&1 | tail -{number}3"),
            "npm publish".to_owned(),
        ] {
            rollout.command(&line, 0, "done\n");
        }
        rollout.message("assistant", "It is released.");
        rollout.write(home.path());
    }
    let (daemon, mut client) = Daemon::with_client(home, OFF).await;
    for id in &ids {
        client.sync(id).await;
    }
    run_all(&mut client).await;
    let files = list(&mut client).await.files;
    let skill = files.iter().find(|file| file.path.starts_with("skills/")).expect("a skill");
    let text = read(&mut client, &skill.path).await.text;
    let steps = "1. `./scripts/bump.sh minor`\n2. `npm run build`\n3. `npm publish`\n";
    assert!(text.ends_with(steps), "{text}");
    daemon.stopped().await;
}

#[tokio::test]
async fn a_run_reads_up_to_its_limit_and_the_next_one_reads_the_rest() {
    const ONE: &str = "019cadd3-0000-7000-8000-0000000000c1";
    const TWO: &str = "019cadd3-0000-7000-8000-0000000000c2";
    let config = format!("{OFF}max_threads_per_run = 1\n");
    let (_daemon, mut client) = daemon_with(&[(ONE, APP, RULE), (TWO, APP, RULE)], &config).await;
    for extracted in [1, 1, 0] {
        assert_eq!(run_all(&mut client).await.extracted, extracted);
    }
}
