//! Claude Code's transcripts through the whole daemon.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::Daemon;

const SESSION: &str = "5b1f0a52-7a51-4d0c-9d55-0a6f3c1d2e01";

fn line(number: usize, more: &Value) -> String {
    let mut line = json!({
        "parentUuid": (number > 0).then(|| format!("u{}", number - 1)), "isSidechain": false,
        "sessionId": SESSION, "cwd": "/w", "version": "2.1.0", "uuid": format!("u{number}"),
        "timestamp": format!("2026-01-02T03:04:{:02}.000Z", number % 60), "type": "user",
    });
    line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    format!("{line}\n")
}

fn lines() -> Vec<String> {
    let edit = json!({"file_path": "/w/src/a.rs", "old_string": "x", "new_string": "y"});
    let bodies = [
        json!({"message": {"role": "user", "content": "Rename x to y in a.rs"}}),
        json!({"type": "assistant", "message": {"model": "claude-x", "content": [
            {"type": "tool_use", "id": "t1", "name": "Edit", "input": edit}]}}),
        json!({"message": {"content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": "The file has been updated"}]}}),
        json!({"type": "assistant", "message": {"model": "claude-x", "content": [
            {"type": "text", "text": "Renamed."}]}}),
    ];
    bodies.iter().enumerate().map(|(number, body)| line(number, body)).collect()
}

fn write(home: &Path, name: &str, text: &str) -> PathBuf {
    let path = home.join(".claude/projects/-w").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path.canonicalize().unwrap()
}

#[tokio::test]
async fn a_session_is_a_thread_like_any_other() {
    let home = tempfile::tempdir().unwrap();
    let own = lines();
    let path = write(home.path(), &format!("{SESSION}.jsonl"), &own.concat());
    let agent = line(
        0,
        &json!({
            "isSidechain": true, "agentId": "a7", "message": {"role": "user", "content": "Look around"},
        }),
    );
    let agents = write(home.path(), &format!("{SESSION}/subagents/agent-a7.jsonl"), &agent);
    let daemon = Daemon::over(home, "").await;
    let mut client = daemon.connect().await;
    for (path, text) in [(&path, &own.concat()), (&agents, &agent)] {
        client.call("thread/sync", json!({"path": path, "min_offset": text.len()})).await;
    }
    let listed = client.call("thread/list", json!({"source": "claude"})).await;
    let threads = listed["result"]["threads"].as_array().unwrap();
    assert_eq!(threads.len(), 2, "{listed}");
    let run = client.call("compaction/run", json!({"thread_id": SESSION})).await;
    let view = run["result"]["view"].as_str().unwrap();
    assert!(view.contains("a.rs") && view.contains("Rename x to y"), "{view}");
    let request = run["result"]["history"].as_array().unwrap().last().unwrap();
    assert_eq!((&request["type"], &request["role"]), (&json!("message"), &json!("user")), "{run}");
    let dropped = run["result"]["receipt"]["dropped"].as_array().unwrap();
    let handle = dropped[0]["handle"].clone();
    let expanded = client.call("history/expand", json!({"handle": handle})).await;
    let items = expanded["result"]["items"].as_array().unwrap();
    let exact: Vec<Value> = own.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!items.is_empty() && items.iter().all(|item| exact.contains(item)), "{expanded}");
    let history = client.call("history/get", json!({"thread_id": SESSION})).await;
    let kinds: Vec<_> =
        history["result"]["items"].as_array().unwrap().iter().map(|i| i["type"].clone()).collect();
    assert_eq!(kinds, ["message", "function_call", "function_call_output", "message"]);
}

#[tokio::test]
async fn a_copy_of_a_session_is_not_another_thread() {
    let home = tempfile::tempdir().unwrap();
    let own = lines();
    let copy = write(home.path(), "old-copy.jsonl", &own[..2].concat());
    let path = write(home.path(), &format!("{SESSION}.jsonl"), &own.concat());
    let daemon = Daemon::over(home, "").await;
    let mut client = daemon.connect().await;
    for (path, text) in [(&path, own.concat()), (&copy, own[..2].concat())] {
        client.call("thread/sync", json!({"path": path, "min_offset": text.len()})).await;
    }
    let listed = client.call("thread/list", json!({"source": "claude"})).await;
    let threads = listed["result"]["threads"].as_array().unwrap();
    assert_eq!(threads.len(), 1, "{listed}");
    assert_eq!(threads[0]["path"], path.to_str().unwrap());
}

#[tokio::test]
async fn a_source_can_be_left_out() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), &format!("{SESSION}.jsonl"), &lines().concat());
    let daemon = Daemon::over(home, "[sources.claude]\nenabled = false\n").await;
    let mut client = daemon.connect().await;
    let status = client.call("daemon/status", json!({})).await;
    let sources = status["result"]["sources"].as_array().unwrap();
    assert!(sources.iter().all(|source| source["source"] != "claude"), "{status}");
}

#[tokio::test]
async fn a_session_goes_on_in_codex_with_all_that_was_known_of_it() {
    let home = tempfile::tempdir().unwrap();
    let path = write(home.path(), &format!("{SESSION}.jsonl"), &lines().concat());
    let daemon = Daemon::over(home, "").await;
    let mut client = daemon.connect().await;
    client.call("thread/sync", json!({ "path": path })).await;
    let mut thread = json!(SESSION);
    for generation in 0..3 {
        let made = client.call("thread/continue", json!({ "thread_id": thread })).await;
        let view =
            made["result"]["compaction"]["view"].as_str().unwrap_or_else(|| panic!("{made}"));
        for known in ["src/a.rs (edited", "Rename x to y in a.rs"] {
            assert!(view.contains(known), "{known} in generation {generation}:\n{view}");
        }
        thread = made["result"]["thread_id"].clone();
    }
    let listed = client.call("thread/get", json!({ "thread_id": thread })).await;
    assert_eq!(listed["result"]["thread"]["source"], "codex", "{listed}");
}
