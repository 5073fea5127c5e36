//! Claude Code's transcripts through the whole daemon.

use std::fs;
use std::path::{Path, PathBuf};

use longhaul_protocol::thread;
use serde_json::{Value, json};

use crate::support::{Client, Daemon, of_thread, text_at};

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

async fn sync_to(client: &mut Client, path: &Path, text: &str) {
    let params = thread::SyncParams {
        path: Some(path.to_str().unwrap().to_owned()),
        min_offset: Some(text.len() as u64),
        ..Default::default()
    };
    client.call::<thread::Sync>(params).await.unwrap();
}

#[tokio::test]
async fn a_session_is_a_thread_like_any_other() {
    let home = tempfile::tempdir().unwrap();
    let own = lines();
    let path = write(home.path(), &format!("{SESSION}.jsonl"), &own.concat());
    let agent = json!({
        "isSidechain": true, "agentId": "a7", "message": {"role": "user", "content": "Look around"},
    });
    let agent = line(0, &agent);
    let agents = write(home.path(), &format!("{SESSION}/subagents/agent-a7.jsonl"), &agent);
    let (_daemon, mut client) = Daemon::with_client(home, "").await;
    sync_to(&mut client, &path, &own.concat()).await;
    sync_to(&mut client, &agents, &agent).await;
    let listed = client.threads_of("claude").await;
    assert_eq!(listed.len(), 2, "{listed:?}");
    let run = client.compact(of_thread(SESSION)).await;
    assert!(run.view.contains("a.rs") && run.view.contains("Rename x to y"), "{}", run.view);
    let request = run.history.last().unwrap();
    assert_eq!((text_at(request, "type"), text_at(request, "role")), ("message", "user"));
    let items = client.expand(&run.receipt.dropped[0].handle).await;
    let exact: Vec<Value> = own.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!items.is_empty() && items.iter().all(|item| exact.contains(item)), "{items:?}");
    let history = client.history(SESSION).await;
    let kinds: Vec<_> = history.iter().map(|item| text_at(item, "type")).collect();
    assert_eq!(kinds, ["message", "function_call", "function_call_output", "message"]);
}

#[tokio::test]
async fn a_copy_of_a_session_is_not_another_thread() {
    let home = tempfile::tempdir().unwrap();
    let own = lines();
    let copy = write(home.path(), "old-copy.jsonl", &own[..2].concat());
    let path = write(home.path(), &format!("{SESSION}.jsonl"), &own.concat());
    let (_daemon, mut client) = Daemon::with_client(home, "").await;
    sync_to(&mut client, &path, &own.concat()).await;
    sync_to(&mut client, &copy, &own[..2].concat()).await;
    let listed = client.threads_of("claude").await;
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert_eq!(listed[0].path, path.to_str().unwrap());
}

#[tokio::test]
async fn a_disabled_source_is_not_read() {
    for (config, is_read) in [("", true), ("[sources.claude]\nenabled = false\n", false)] {
        let home = tempfile::tempdir().unwrap();
        write(home.path(), &format!("{SESSION}.jsonl"), &lines().concat());
        let daemon = Daemon::over(home, config).await;
        let status = daemon.connect().await.status().await;
        let sources: Vec<_> = status.sources.iter().map(|of| of.source.as_str()).collect();
        assert_eq!(sources.contains(&"claude"), is_read, "{sources:?}");
    }
}

#[tokio::test]
async fn a_session_continues_in_codex_with_its_checkpoint() {
    let home = tempfile::tempdir().unwrap();
    let path = write(home.path(), &format!("{SESSION}.jsonl"), &lines().concat());
    let (_daemon, mut client) = Daemon::synced_file(home, "", &path).await;
    let mut thread_id = SESSION.to_owned();
    for generation in 0..3 {
        let to = Some("codex".to_owned());
        let params = thread::ContinueParams { thread_id, to, ..Default::default() };
        let continued = client.call::<thread::Continue>(params).await.unwrap();
        for known in ["src/a.rs (edited", "Rename x to y in a.rs"] {
            let view = &continued.compaction.view;
            assert!(view.contains(known), "{known} in generation {generation}:\n{view}");
        }
        thread_id = continued.thread_id;
    }
    assert_eq!(client.thread(&thread_id).await.source, "codex");
}

/// An output that entered the history as an excerpt: the engine stores all of it beside the excerpt, and the call's id
/// retrieves it.
#[tokio::test]
async fn the_call_id_of_an_excerpt_expands_to_the_full_output() {
    let home = tempfile::tempdir().unwrap();
    let whole = format!("first {} last", "x".repeat(20_000));
    let bodies = [
        json!({"message": {"role": "user", "content": "Run it."}}),
        json!({"type": "assistant", "message": {"model": "claude-x", "content": [
            {"type": "tool_use", "id": "toolu_01ab", "name": "Bash", "input": {"command": "cargo test"}}]}}),
        json!({"message": {"content": [{"type": "tool_result", "tool_use_id": "toolu_01ab",
            "content": "first\n[longhaul left out 19000 characters]\nlast"}]},
            "toolUseResult": {"stdout": whole, "stderr": "", "interrupted": false}}),
    ];
    let own: Vec<String> = bodies.iter().enumerate().map(|(at, body)| line(at, body)).collect();
    let path = write(home.path(), &format!("{SESSION}.jsonl"), &own.concat());
    let (_daemon, mut client) = Daemon::with_client(home, "").await;
    sync_to(&mut client, &path, &own.concat()).await;
    for handle in ["#toolu_01ab", "toolu_01ab", &format!("{SESSION}#toolu_01ab")] {
        let params = json!({ "handle": handle, "thread_id": SESSION });
        let found = client.request("history/expand", params).await;
        assert!(found.result().to_string().contains(&whole), "{handle}: {found:?}");
    }
    let params = json!({ "handle": "#toolu_99", "thread_id": SESSION });
    assert!(client.request("history/expand", params).await.outcome.is_err());
}
