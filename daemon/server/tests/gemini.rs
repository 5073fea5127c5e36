//! Gemini CLI's sessions through the whole daemon.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use longhaul_protocol::checkpoint;
use serde_json::{Value, json};

use crate::archive::{archived, not_put_back};
use crate::archive_lost::{after_the_loss, known};
use crate::opencode::replayed_turns;
use crate::support::{Daemon, of_thread, text_at};

const SESSION: &str = "5b1f0a52-7a51-4d0c-9d55-0a6f3c1d2e02";

fn header() -> Value {
    json!({"sessionId": SESSION, "projectHash": "h", "startTime": "2026-01-02T03:04:05.678Z"})
}

fn user(id: &str, words: &str) -> Value {
    json!({"id": id, "timestamp": "2026-01-02T03:04:06.000Z", "type": "user", "content": [{"text": words}]})
}

fn model(id: &str, words: &str) -> Value {
    json!({"id": id, "timestamp": "2026-01-02T03:04:07.000Z", "type": "gemini", "content": words,
           "tokens": {"total": 900}, "model": "gemini-x"})
}

fn with(mut record: Value, key: &str, value: Value) -> Value {
    record.as_object_mut().unwrap().insert(key.to_owned(), value);
    record
}

/// A message with a completed edit.
fn edited() -> Value {
    let calls = json!([{
        "id": "c1", "name": "replace", "status": "success", "timestamp": "2026-01-02T03:04:08.000Z",
        "args": {"file_path": "/w/src/a.rs", "old_string": "x", "new_string": "y"},
        "result": [{"functionResponse": {"id": "c1", "name": "replace", "response": {"output": "Modified"}}}],
    }]);
    with(model("m2", "I rename it."), "toolCalls", calls)
}

fn lines(records: &[Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

/// A session of the project `/w`.
fn write(home: &Path, name: &str, text: &str) -> PathBuf {
    let project = home.join(".gemini/tmp/w");
    let path = project.join("chats").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(project.join(".project_root"), "/w").unwrap();
    fs::write(&path, text).unwrap();
    path.canonicalize().unwrap()
}

#[tokio::test]
async fn a_journal_is_a_thread_like_any_other() {
    let home = tempfile::tempdir().unwrap();
    let begun = [header(), user("m1", "Rename x to y in a.rs"), model("m2", "I rename it.")];
    let path = write(home.path(), "session-2026-01-02T03-04-5b1f0a52.jsonl", &lines(&begun));
    let agent = [
        json!({"sessionId": "a7", "startTime": "2026-01-02T03:04:05.678Z", "kind": "subagent"}),
        user("s1", "Look around"),
    ];
    let agents = write(home.path(), &format!("{SESSION}/a7.jsonl"), &lines(&agent));
    // Not a session, although it is in the same folder.
    fs::write(home.path().join(".gemini/tmp/w/logs.json"), "[]").unwrap();
    let (_daemon, mut client) = Daemon::with_client(home, "").await;
    for path in [&path, &agents] {
        client.sync_file(path).await;
    }
    // The message is written again when its call has completed.
    let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(lines(&[edited(), model("m3", "Renamed.")]).as_bytes()).unwrap();
    client.sync_file(&path).await;
    let listed = client.threads_of("gemini").await;
    assert_eq!(listed.len(), 2, "{listed:?}");
    assert!(listed.iter().all(|thread| thread.cwd.as_deref() == Some("/w")), "{listed:?}");
    let run = client.compact(of_thread(SESSION)).await;
    for known in ["src/a.rs (edited", "Rename x to y"] {
        assert!(run.view.contains(known), "{}", run.view);
    }
    assert!(!client.expand(&run.receipt.dropped[0].handle).await.is_empty());
    let history = client.history(SESSION).await;
    let kinds: Vec<_> = history.iter().map(|item| text_at(item, "type")).collect();
    let expected = ["message", "message", "function_call", "function_call_output", "message"];
    assert_eq!(kinds, expected, "{history:?}");
}

#[tokio::test]
async fn a_document_that_became_a_journal_is_one_thread() {
    let home = tempfile::tempdir().unwrap();
    let begun = [user("m1", "Rename x to y in a.rs"), edited()];
    let document = |messages: &[Value]| with(header(), "messages", json!(messages));
    let name = "session-2026-01-02T03-04-5b1f0a52.json";
    let path = write(home.path(), name, &serde_json::to_string_pretty(&document(&begun)).unwrap());
    let (_daemon, mut client) = Daemon::synced_file(home, "", &path).await;
    let [request, edit] = begun;
    let ended = document(&[request.clone(), edit.clone(), model("m3", "Renamed.")]);
    fs::write(&path, ended.to_string()).unwrap();
    client.sync_file(&path).await;
    let params =
        checkpoint::CheckpointGetParams { thread_id: SESSION.into(), ..Default::default() };
    let found = client.call::<checkpoint::CheckpointGet>(params).await.unwrap().checkpoint.0;
    assert!(found.to_string().contains("src/a.rs"), "{found}");
    assert_eq!(replayed_turns(&mut client, SESSION).await, 1);
    let journal = path.with_extension("jsonl");
    fs::write(&journal, lines(&[header(), request, edit])).unwrap();
    client.sync_file(&journal).await;
    let listed = client.threads_of("gemini").await;
    assert_eq!(listed.len(), 1, "{listed:?}");
}

#[tokio::test]
async fn a_deleted_session_continues_elsewhere_even_without_the_database() {
    let home = tempfile::tempdir().unwrap();
    let begun = [header(), user("m1", "Rename x to y in a.rs"), model("m2", "I rename it.")];
    let path = write(home.path(), "session-2026-01-02T03-04-5b1f0a52.jsonl", &lines(&begun));
    let (daemon, mut client) = Daemon::synced_file(home, "", &path).await;
    archived(&mut client).await;
    fs::remove_file(&path).unwrap();
    let (daemon, mut client) = after_the_loss(daemon.stopped().await).await;
    known(&mut client, &[SESSION]).await;
    not_put_back(&daemon, (SESSION, &path), "Rename x to y in a.rs").await;
}

#[tokio::test]
async fn a_session_continues_in_codex_and_in_claude_code() {
    let home = tempfile::tempdir().unwrap();
    let session =
        [header(), user("m1", "Rename x to y in a.rs"), edited(), model("m3", "Renamed.")];
    let path = write(home.path(), "session-2026-01-02T03-04-5b1f0a52.jsonl", &lines(&session));
    let (_daemon, mut client) = Daemon::synced_file(home, "", &path).await;
    for to in ["codex", "claude"] {
        client.continues_in(SESSION, to, &["src/a.rs (edited", "Rename x to y"]).await;
    }
}
