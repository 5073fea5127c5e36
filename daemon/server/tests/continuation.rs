//! A thread that goes on in a new transcript: what is written, what is refused, what stays in reach.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};

use crate::rollout::Rollout;
use crate::support::{Client, Daemon, kind};

const THREAD: &str = "019cadd3-0000-7000-8000-000000000011";

struct Going {
    daemon: Daemon,
    client: Client,
    original: PathBuf,
    before: Vec<u8>,
}

async fn going() -> Going {
    let home = tempfile::tempdir().unwrap();
    let mut rollout = Rollout::new(THREAD, Path::new("/w"));
    rollout.message("user", "Make the fetcher retry.");
    for round in 0..40 {
        rollout.command(&format!("cargo test fetch_{round}"), 0, "running tests\n");
    }
    rollout.patch("*** Begin Patch\n*** Update File: src/fetch.rs\n@@\n-a\n+b\n*** End Patch");
    rollout.message("user", "Now also time out after 3 s.");
    let original = rollout.write(home.path());
    let before = fs::read(&original).unwrap();
    let daemon = Daemon::over(home, "").await;
    let mut client = daemon.connect().await;
    client.call("thread/sync", json!({ "thread_id": THREAD })).await;
    Going { daemon, client, original, before }
}

fn continue_it(thread_id: &Value) -> Value {
    json!({ "thread_id": thread_id, "max_tokens": 800 })
}

#[tokio::test]
async fn the_new_transcript_holds_the_view_and_the_request_and_the_old_one_is_as_it_was() {
    let mut going = going().await;
    let made =
        going.client.call("thread/continue", continue_it(&json!(THREAD))).await["result"].take();
    let path = PathBuf::from(made["path"].as_str().unwrap());
    let name = path.file_name().unwrap().to_str().unwrap();
    let id = made["thread_id"].as_str().unwrap();
    assert!(name.starts_with("rollout-") && name.ends_with(&format!("-{id}.jsonl")), "{name}");
    assert!(path.starts_with(going.daemon.home.path().join(".codex/sessions")));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(made["command"], json!(["codex", "resume", id]));
    let listed = going.client.call("thread/get", json!({ "thread_id": id })).await;
    let thread = &listed["result"]["thread"];
    assert_eq!((&thread["continues"], &thread["lines"]), (&json!(THREAD), &json!(2)), "{thread}");
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        (lines.len(), &lines[0]["type"], &lines[1]["type"]),
        (2, &json!("session_meta"), &json!("compacted"))
    );
    let history = lines[1]["payload"]["replacement_history"].as_array().unwrap();
    assert!(history[0]["content"][0]["text"].as_str().unwrap().contains("[SESSION_CHECKPOINT v1]"));
    assert_eq!(history.last().unwrap()["content"][0]["text"], "Now also time out after 3 s.");
    assert_eq!(fs::read(&going.original).unwrap(), going.before, "it is only read");
}

#[tokio::test]
async fn what_was_known_of_the_old_thread_is_known_of_the_new_one_and_of_the_one_after_it() {
    let mut going = going().await;
    let mut thread = json!(THREAD);
    for generation in 0..8 {
        let made =
            going.client.call("thread/continue", continue_it(&thread)).await["result"].take();
        thread = made["thread_id"].clone();
        let view = made["compaction"]["view"].as_str().unwrap();
        for known in
            ["src/fetch.rs (edited", "Now also time out after 3 s.", "Make the fetcher retry."]
        {
            assert!(view.contains(known), "{known} in generation {generation}:\n{view}");
        }
    }
    let history = going.client.call("history/get", json!({ "thread_id": thread })).await;
    let items = history["result"]["items"].as_array().unwrap();
    assert_eq!(items.len(), 2, "its history is the view and the request: {history}");
}

#[tokio::test]
async fn a_thread_whose_agent_is_at_work_is_left_alone() {
    let mut going = going().await;
    let locks = going.daemon.home.path().join(".codex/thread-writer-locks");
    fs::create_dir_all(&locks).unwrap();
    let lock = fs::File::create(locks.join(format!("{THREAD}.lock"))).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    let answer = going.client.call("thread/continue", continue_it(&json!(THREAD))).await;
    assert_eq!(
        (kind(&answer), &answer["error"]["data"]["retry"]),
        ("thread_busy", &json!("backoff"))
    );
    drop(lock);
    let answer = going.client.call("thread/continue", continue_it(&json!(THREAD))).await;
    assert_eq!(kind(&answer), "no error");
}

#[tokio::test]
async fn what_only_a_provider_can_read_begins_no_thread() {
    let mut going = going().await;
    let answer = going
        .client
        .call("thread/continue", json!({ "thread_id": THREAD, "strategy": "remote" }))
        .await;
    assert_eq!(kind(&answer), "invalid_params");
}
