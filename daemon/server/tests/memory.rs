//! Long-term memory from transcripts to files and back, with a person's hand in it.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::rollout::Rollout;
use crate::support::{Client, Daemon, soon};

const FIRST: &str = "019cadd3-0000-7000-8000-0000000000a1";
const SECOND: &str = "019cadd3-0000-7000-8000-0000000000a2";
const SECRET: &str = "ghp_016C7a3fKQz9hT5eYwLrUvXsBnMdPj2Eo4Gi";

/// A thread with a rule of the person's and a command that was mended.
fn thread(home: &Path, id: &str, cwd: &str, rule: &str) {
    let mut rollout = Rollout::new(id, Path::new(cwd));
    rollout.message("user", &format!("Fix the parser in src/parse.rs. {rule}"));
    for round in 0..3 {
        rollout.command("cargo nextest run -p parser", 1, "error[E0308]: mismatched types\n");
        rollout.patch(&format!(
            "*** Begin Patch\n*** Update File: src/parse.rs\n@@\n-old {round}\n+new\n*** End Patch"
        ));
        rollout.command("cargo nextest run -p parser", 0, "12 tests passed\n");
    }
    rollout.command(&format!("echo token={SECRET}"), 0, &format!("token={SECRET}\n"));
    rollout.message("assistant", "The parser is fixed and its tests pass.");
    rollout.write(home);
}

async fn result(client: &mut Client, method: &str, params: Value) -> Value {
    let answer = client.call(method, params).await;
    assert!(answer["error"].is_null(), "{method}: {answer}");
    answer["result"].clone()
}

async fn daemon_with(threads: &[(&str, &str, &str)], config: &str) -> (Daemon, Client) {
    let home = tempfile::tempdir().unwrap();
    for (id, cwd, rule) in threads {
        thread(home.path(), id, cwd, rule);
    }
    let daemon = Daemon::over(home, config).await;
    let mut client = daemon.connect().await;
    for (id, _, _) in threads {
        client.call("thread/sync", json!({ "thread_id": id })).await;
    }
    (daemon, client)
}

const RULE: &str = "Always run cargo nextest before you say that something works.";
const APP: &str = "/w/app";
const OFF: &str = "[memory]\nenabled = false\n";

fn all_files(root: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(all_files(&path));
        } else {
            let text = std::fs::read(&path).unwrap();
            found.push((path, String::from_utf8_lossy(&text).into_owned()));
        }
    }
    found
}

#[tokio::test]
async fn threads_become_files_that_are_told_searched_and_read() {
    let threads = [(FIRST, APP, RULE), (SECOND, "/w/other", "Never touch the lock file.")];
    let (daemon, mut client) = daemon_with(&threads, OFF).await;
    let mut listener = daemon.connect().await;
    let kinds = ["memory_progress", "memory_published"];
    listener.call("event/subscribe", json!({ "kinds": kinds })).await;

    let early = result(&mut client, "memory/run", json!({})).await;
    assert_eq!((&early["extracted"], &early["skipped"][0]["reason"]), (&json!(0), &json!("busy")));
    let ran = result(&mut client, "memory/run", json!({ "all": true })).await;
    assert_eq!((&ran["state"], &ran["extracted"]), (&json!("done"), &json!(2)), "{ran}");
    assert_eq!((&ran["failed"], &ran["changed"]), (&json!(0), &json!(true)), "{ran}");
    let published = async {
        loop {
            let event = listener.hear().await.unwrap();
            if event["params"]["result"]["kind"] == "memory_published" {
                return;
            }
        }
    };
    soon("an event", published).await;

    let told = result(&mut client, "memory/summary", json!({ "cwd": APP })).await;
    let text = told["text"].as_str().unwrap();
    assert!(text.contains("cargo nextest") && !text.contains("lock file"), "{text}");
    assert!(text.starts_with("<longhaul_memory>"), "{text}");
    // What an agent is to read lies where it is told to look.
    let how = told["instructions"].as_str().unwrap();
    let (_, root) = how.split_once("more of it lies in ").unwrap();
    let root = root.split(". ").next().unwrap();
    assert!(Path::new(root).join("MEMORY.md").is_file() && !how.contains('{'), "{how}");
    assert!(how.len() <= 4 * 330 && how.contains("<memory_citation>"), "{how}");
    let small = json!({ "cwd": APP, "max_tokens": 60 });
    let small = result(&mut client, "memory/summary", small).await;
    assert!(small["tokens"].as_u64().unwrap() <= 60, "{small}");

    let search = json!({ "query": "nextest parser", "cwd": APP });
    let hits = result(&mut client, "memory/search", search).await["hits"].clone();
    let hit = &hits[0];
    let page = json!({ "path": hit["path"], "line": hit["line_start"], "max_lines": 1 });
    let page = result(&mut client, "memory/read", page).await;
    let first = hit["text"].as_str().unwrap().lines().next().unwrap();
    assert_eq!(page["text"].as_str().unwrap().trim_end(), first, "a citation leads to its line");
    assert!(hits.as_array().unwrap().iter().all(|hit| hit["project"] != "/w/other"), "{hits}");
    daemon.stopped().await;
}

#[tokio::test]
async fn nothing_new_publishes_nothing_and_new_lines_are_read() {
    let (daemon, mut client) = daemon_with(&[(FIRST, APP, RULE)], OFF).await;
    let first = result(&mut client, "memory/run", json!({ "all": true })).await;
    let again = result(&mut client, "memory/run", json!({ "all": true })).await;
    assert_eq!((&again["extracted"], &again["changed"]), (&json!(0), &json!(false)), "{again}");
    assert_eq!(first["generation"], again["generation"]);
    let status = result(&mut client, "memory/status", json!({ "thread_id": FIRST })).await;
    assert_eq!(status["skip_reason"]["reason"], "nothing_new", "{status}");

    let home = daemon.stopped().await;
    thread(home.path(), FIRST, APP, "Never use unwrap in this project, please.");
    let path = all_files(&home.path().join(".codex")).pop().unwrap().0;
    let more = json!({ "timestamp": "2026-03-02T10:15:00.000Z", "type": "response_item", "payload": {
        "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "Thanks." }] } });
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{text}{more}\n")).unwrap();
    let daemon = Daemon::over(home, OFF).await;
    let mut client = daemon.connect().await;
    client.call("thread/sync", json!({ "thread_id": FIRST })).await;
    let ran = result(&mut client, "memory/run", json!({ "all": true })).await;
    assert_eq!((&ran["extracted"], &ran["changed"]), (&json!(1), &json!(true)), "{ran}");
    daemon.stopped().await;
}

#[tokio::test]
async fn a_persons_edit_stays_and_what_they_took_out_is_not_said_again() {
    let (daemon, mut client) = daemon_with(&[(FIRST, APP, RULE)], OFF).await;
    result(&mut client, "memory/run", json!({ "all": true })).await;
    let root = result(&mut client, "memory/list", json!({})).await["root"].clone();
    let file = Path::new(root.as_str().unwrap()).join("MEMORY.md");
    let text = std::fs::read_to_string(&file).unwrap();
    let line = text.lines().find(|line| line.starts_with("- Always run cargo nextest")).unwrap();
    let edited = text.replace(&format!("{line}\n"), "- The fixtures live in tests/fixtures.\n");
    std::fs::write(&file, edited).unwrap();
    let files = result(&mut client, "memory/list", json!({})).await;
    assert!(files["files"].as_array().unwrap().iter().any(|file| file["edited"] == true));

    let ran = result(&mut client, "memory/run", json!({})).await;
    assert_eq!(ran["changed"], true, "{ran}");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("The fixtures live in tests/fixtures."), "{text}");
    assert!(!text.contains("\n- Always run cargo nextest"), "{text}");
    let again = result(&mut client, "memory/run", json!({})).await;
    assert_eq!(again["changed"], false, "an edit is taken once");
    daemon.stopped().await;
}

#[tokio::test]
async fn what_is_forgotten_is_nowhere_when_it_is_answered() {
    let threads =
        [(FIRST, APP, RULE), (SECOND, APP, "Never touch the lock file, it is generated.")];
    let (daemon, mut client) = daemon_with(&threads, OFF).await;
    result(&mut client, "memory/run", json!({ "all": true })).await;
    let note = json!({ "text": "Deploy on Tuesdays only.", "cwd": APP });
    let note = result(&mut client, "memory/add_note", note).await;
    let search = json!({ "query": "Tuesdays" });
    let found = result(&mut client, "memory/search", search.clone()).await;
    assert_eq!(found["hits"].as_array().unwrap().len(), 1, "{found}");

    result(&mut client, "memory/forget", json!({ "note_id": note["note_id"] })).await;
    let found = result(&mut client, "memory/search", search).await;
    assert_eq!(found["hits"], json!([]));
    // The person's own version of the file goes with the thread.
    let root = result(&mut client, "memory/list", json!({})).await["root"].clone();
    let summaries = all_files(&Path::new(root.as_str().unwrap()).join("rollout_summaries"));
    let (path, text) = summaries.iter().find(|(_, text)| text.contains(SECOND)).unwrap();
    std::fs::write(path, format!("{text}mine\n")).unwrap();
    let gone = result(&mut client, "memory/forget", json!({ "thread_id": SECOND })).await;
    assert_eq!(gone["removed"], 1);
    let status = result(&mut client, "memory/status", json!({ "thread_id": SECOND })).await;
    assert_eq!(status["skip_reason"]["reason"], "excluded");
    let unknown = client.call("memory/forget", json!({ "thread_id": "nobody" })).await;
    assert_eq!(unknown["error"]["data"]["kind"], "thread_not_found");

    let home = daemon.stopped().await;
    for (path, text) in all_files(&home.path().join(".local/state/longhaul/memory.d")) {
        for gone in ["lock file, it is generated", "Tuesdays", SECOND] {
            assert!(!text.contains(gone), "{gone} is in {}", path.display());
        }
    }
}

#[tokio::test]
async fn secrets_reach_no_file_and_no_table() {
    let (daemon, mut client) = daemon_with(&[(FIRST, APP, RULE)], OFF).await;
    result(&mut client, "memory/run", json!({ "all": true })).await;
    let note = json!({ "text": format!("the token is {SECRET}") });
    let note = result(&mut client, "memory/add_note", note).await;
    assert!(!note["text"].as_str().unwrap().contains(SECRET));
    let home = daemon.stopped().await;
    for (path, text) in all_files(&home.path().join(".local/state/longhaul")) {
        assert!(!text.contains(SECRET), "{}", path.display());
    }
}

#[tokio::test]
async fn a_crash_before_the_link_was_switched_is_made_good() {
    let (daemon, mut client) = daemon_with(&[(FIRST, APP, RULE)], OFF).await;
    result(&mut client, "memory/run", json!({ "all": true })).await;
    let home = daemon.stopped().await;
    let state = home.path().join(".local/state/longhaul");
    let before = std::fs::read_to_string(state.join("memory/MEMORY.md")).unwrap();
    // As if the process had died between the transaction and the rename, after a half-written staging.
    std::fs::remove_file(state.join("memory")).unwrap();
    std::fs::remove_dir_all(state.join("memory.d/g1")).unwrap();
    std::fs::create_dir_all(state.join("memory.d/.staging-g2")).unwrap();
    std::fs::write(state.join("memory.d/.staging-g2/MEMORY.md"), "half").unwrap();
    let daemon = Daemon::over(home, OFF).await;
    let mut client = daemon.connect().await;
    let ran = result(&mut client, "memory/run", json!({})).await;
    assert_eq!(ran["generation"], 1, "{ran}");
    assert_eq!(std::fs::read_to_string(state.join("memory/MEMORY.md")).unwrap(), before);
    daemon.stopped().await;
}

#[tokio::test]
async fn memory_is_made_by_itself_once_a_thread_has_rested() {
    let home = tempfile::tempdir().unwrap();
    thread(home.path(), FIRST, APP, RULE);
    let daemon = Daemon::over(home, "[memory]\nmin_idle_hours = 0\n").await;
    let mut client = daemon.connect().await;
    let made = async {
        while result(&mut client, "memory/status", json!({})).await["generation"] == 0 {
            tokio::task::yield_now().await;
        }
    };
    soon("memory", made).await;
    daemon.stopped().await;
}

/// Threads left out for `reason`, as a status tells.
async fn left_out(client: &mut Client, reason: &str) -> u64 {
    let status = result(client, "memory/status", json!({})).await;
    let skipped = status["skipped"].as_array().unwrap();
    let found = skipped.iter().find(|skipped| skipped["reason"] == reason);
    found.map_or(0, |skipped| skipped["threads"].as_u64().unwrap())
}

#[tokio::test]
async fn a_thread_that_is_not_to_be_kept_is_never_read() {
    let home = tempfile::tempdir().unwrap();
    let mut rollout = Rollout::new(FIRST, Path::new(APP));
    rollout.meta("memory_mode", json!("disabled"));
    rollout.message("user", RULE);
    rollout.command("cargo nextest run", 0, "12 tests passed\n");
    rollout.message("assistant", "They pass.");
    rollout.write(home.path());
    let daemon = Daemon::over(home, OFF).await;
    let mut client = daemon.connect().await;
    client.call("thread/sync", json!({ "thread_id": FIRST })).await;
    let ran = result(&mut client, "memory/run", json!({ "all": true })).await;
    assert_eq!((&ran["extracted"], &ran["skipped"][0]["reason"]), (&json!(0), &json!("ephemeral")));
    assert_eq!(left_out(&mut client, "ephemeral").await, 1);
    let told = result(&mut client, "memory/summary", json!({ "cwd": APP })).await;
    assert_eq!(told["text"], "");
    daemon.stopped().await;
}

#[tokio::test]
async fn threads_that_reached_outside_can_be_left_out() {
    let home = tempfile::tempdir().unwrap();
    thread(home.path(), FIRST, APP, RULE);
    let mut rollout = Rollout::new(SECOND, Path::new(APP));
    rollout.message("user", "Never touch the lock file, it is generated.");
    rollout.command("curl -s https://example.com/how-to", 0, "Run setup first.\n");
    rollout.command("cargo nextest run -p lexer", 0, "3 tests passed\n");
    rollout.message("assistant", "Done.");
    rollout.write(home.path());
    let strict = format!("{OFF}excludes_outside = true\n");
    let daemon = Daemon::over(home, &strict).await;
    let mut client = daemon.connect().await;
    for id in [FIRST, SECOND] {
        client.call("thread/sync", json!({ "thread_id": id })).await;
    }
    result(&mut client, "memory/run", json!({ "all": true })).await;
    let told = result(&mut client, "memory/summary", json!({ "cwd": APP })).await;
    let text = told["text"].as_str().unwrap();
    assert!(text.contains(RULE) && !text.contains("lock file"), "{text}");
    assert_eq!(left_out(&mut client, "reached_outside").await, 1);
    let home = daemon.stopped().await;
    for (path, text) in all_files(&home.path().join(".local/state/longhaul/memory.d")) {
        assert!(!text.contains("lock file"), "{}", path.display());
    }

    // Taken in again by who changes their mind, without being read again.
    let daemon = Daemon::over(home, OFF).await;
    let mut client = daemon.connect().await;
    let ran = result(&mut client, "memory/run", json!({})).await;
    assert_eq!((&ran["extracted"], &ran["changed"]), (&json!(0), &json!(true)), "{ran}");
    let told = result(&mut client, "memory/summary", json!({ "cwd": APP })).await;
    assert!(told["text"].as_str().unwrap().contains("lock file"), "{told}");
    daemon.stopped().await;
}

#[tokio::test]
async fn a_procedure_of_several_threads_becomes_a_skill() {
    let home = tempfile::tempdir().unwrap();
    let ids: Vec<String> = (0..3).map(|n| format!("{}{n}", &FIRST[..35])).collect();
    for (number, id) in ids.iter().enumerate() {
        let mut rollout = Rollout::new(id, Path::new(APP));
        for _ in 0..number {
            // Begun at another second: at the same one they would be copies.
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
    let daemon = Daemon::over(home, OFF).await;
    let mut client = daemon.connect().await;
    for id in &ids {
        client.call("thread/sync", json!({ "thread_id": id })).await;
    }
    result(&mut client, "memory/run", json!({ "all": true })).await;
    let list = result(&mut client, "memory/list", json!({})).await;
    let mut paths = list["files"].as_array().unwrap().iter().map(|of| of["path"].as_str().unwrap());
    let skill = paths.find(|path| path.starts_with("skills/")).expect("a skill").to_owned();
    let page = result(&mut client, "memory/read", json!({ "path": skill })).await;
    let text = page["text"].as_str().unwrap();
    let steps = "1. `./scripts/bump.sh minor`\n2. `npm run build`\n3. `npm publish`\n";
    assert!(text.ends_with(steps), "{text}");
    daemon.stopped().await;
}

#[tokio::test]
async fn use_is_counted_by_kind_and_thread() {
    let (daemon, mut client) = daemon_with(&[(FIRST, APP, RULE)], OFF).await;
    result(&mut client, "memory/run", json!({ "all": true })).await;
    let answer = format!(
        "Done.\n<memory_citation>\nMEMORY.md:3-4 | tests\nthread {FIRST}\n</memory_citation>"
    );
    let cited = result(&mut client, "memory/cite", json!({ "answer": answer })).await;
    assert_eq!((&cited["thread_ids"], &cited["answer"]), (&json!([FIRST]), &json!("Done.")));
    let status = result(&mut client, "memory/status", json!({})).await;
    assert_eq!(
        (&status["uses"][0]["kind"], &status["uses"][0]["uses"]),
        (&json!("memory_md"), &json!(1))
    );
    daemon.stopped().await;
}

#[tokio::test]
async fn an_agent_that_reads_the_files_with_a_command_counts_once() {
    let (daemon, mut client) = daemon_with(&[(FIRST, APP, RULE)], OFF).await;
    result(&mut client, "memory/run", json!({ "all": true })).await;
    let status = result(&mut client, "memory/status", json!({})).await;
    let root = status["path"].as_str().unwrap().to_owned();
    let list = result(&mut client, "memory/list", json!({})).await;
    let mut names = list["files"].as_array().unwrap().iter().map(|of| of["path"].as_str().unwrap());
    let summary = names.find(|path| path.starts_with("rollout_summaries/")).unwrap();
    let mut reader = Rollout::new(SECOND, Path::new(APP));
    reader.message("user", "Go on with the parser.");
    reader.command(&format!("cat {root}/MEMORY.md | head -50"), 0, "# Memory\n");
    reader.command(&format!("cat {root}/MEMORY.md {root}/{summary}"), 0, "# Memory\n");
    reader.message("assistant", "I know what to do.");
    reader.write(daemon.home.path());
    client.call("thread/sync", json!({ "thread_id": SECOND })).await;
    for round in 0..2 {
        result(&mut client, "memory/run", json!({ "all": true })).await;
        let uses = result(&mut client, "memory/status", json!({})).await["uses"].take();
        let counted: Vec<_> = uses
            .as_array()
            .unwrap()
            .iter()
            .map(|of| (of["kind"].as_str().unwrap(), of["uses"].as_u64().unwrap()))
            .collect();
        assert_eq!(counted, [("memory_md", 1), ("rollout_summaries", 1)], "round {round}: {uses}");
    }
    daemon.stopped().await;
}
