//! Recorded threads: opened, appended to, read, rejected.

use std::path::Path;

use longhaul_protocol::compaction::RunParams;
use longhaul_protocol::message_history;
use longhaul_protocol::thread::{
    Append, AppendItem, AppendParams, AppendResult, Close, CloseParams, Marker, Open, OpenParams,
    OpenResult, Sync, SyncParams, ThreadKind, ThreadList, ThreadListParams,
};
use longhaul_protocol::{ErrorKind, Retry, WireError, history};
use serde_json::{Value, json};

use crate::support::{Client, Daemon, Response, field, github_token, message, of_thread, text_at};

pub fn addition(id: &str, item: Value) -> AppendItem {
    AppendItem { client_item_id: id.into(), item: Some(item), marker: None }
}

/// A thread by the key of its client: the same key opens the same thread.
pub async fn open(client: &mut Client, key: &str) -> OpenResult {
    let params = OpenParams {
        client_thread_id: Some(key.into()),
        cwd: "/w/demo".into(),
        originator: "editor".into(),
        ..Default::default()
    };
    client.call::<Open>(params).await.unwrap()
}

pub fn append_params(thread: &OpenResult, items: Vec<AppendItem>) -> AppendParams {
    AppendParams { thread_id: thread.thread_id.clone(), items, expected_seq: None }
}

pub async fn append(
    client: &mut Client,
    thread: &OpenResult,
    items: Vec<AppendItem>,
) -> Result<AppendResult, WireError> {
    client.call::<Append>(append_params(thread, items)).await
}

pub async fn close(client: &mut Client, thread: &OpenResult) {
    let params = CloseParams { thread_id: thread.thread_id.clone() };
    let closed = client.call::<Close>(params).await.unwrap();
    assert_eq!(closed.path, thread.path);
}

/// The client ids in a recorded transcript, in order, without a torn last line.
pub fn ids(path: impl AsRef<Path>) -> Vec<String> {
    let bytes = std::fs::read(path).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let id = |line: Value| line.pointer("/metadata/client_item_id")?.as_str().map(str::to_owned);
    lines.filter_map(id).collect()
}

async fn raw_append(client: &mut Client, thread: &OpenResult, items: Value) -> Response {
    let params = json!({ "thread_id": thread.thread_id, "items": items });
    client.request("thread/append", params).await
}

fn turn(number: u32) -> Vec<AppendItem> {
    let request = format!("Request number {number}: rename parse_{number} in src/m{number}.rs");
    let patch = format!(
        "*** Begin Patch\n*** Add File: src/m{number}.rs\n+fn parse_{number}() {{}}\n*** End Patch"
    );
    let call = json!({ "type": "custom_tool_call", "name": "apply_patch", "call_id": "c", "input": patch });
    let output = json!({ "type": "custom_tool_call_output", "call_id": "c", "output": "Success." });
    let answer = message("assistant", &"Done, as asked. ".repeat(200));
    let end = AppendItem {
        client_item_id: format!("{number}e"),
        item: None,
        marker: Some(Marker::TurnComplete),
    };
    vec![
        addition(&format!("{number}u"), message("user", &request)),
        addition(&format!("{number}c"), call),
        addition(&format!("{number}o"), output),
        addition(&format!("{number}a"), answer),
        end,
    ]
}

#[tokio::test]
async fn appended_items_appear_in_every_later_answer() {
    let (_daemon, mut client) = Daemon::start_with_client().await;
    let thread = open(&mut client, "k").await;
    assert!(thread.created && thread.seq == 0, "{thread:?}");
    let own = ThreadListParams { source: Some("longhaul".into()), ..Default::default() };
    let listed = client.call::<ThreadList>(own).await.unwrap().threads;
    assert_eq!(listed.len(), 1);
    assert_eq!((&listed[0].thread_id, &listed[0].path), (&thread.thread_id, &thread.path));
    for number in 0..20 {
        let appended = append(&mut client, &thread, turn(number)).await.unwrap();
        assert_eq!((appended.appended, appended.duplicates, appended.redacted), (5, 0, 0));
        assert_eq!(appended.thread_id, thread.thread_id);
        let params = RunParams { max_tokens: Some(2_000), ..of_thread(&thread.thread_id) };
        let run = client.compact(params).await;
        // A thread of a few requests is too small to gain from compacting, which is reported.
        let others = run.warnings.iter().filter(|warning| warning.kind != "not_worthwhile");
        assert_eq!(others.count(), 0, "{:?}", run.warnings);
        assert!(run.view.contains(&format!("Request number {number}:")), "{}", run.view);
        assert!(run.view.contains(&format!("src/m{number}.rs")), "{}", run.view);
        let sync = SyncParams {
            thread_id: Some(thread.thread_id.clone()),
            min_seq: Some(appended.seq),
            min_offset: Some(appended.offset),
            ..Default::default()
        };
        let synced = client.call::<Sync>(sync).await.unwrap();
        assert_eq!((synced.seq, synced.offset), (appended.seq, appended.offset));
    }
    let params = RunParams { max_tokens: Some(500), ..of_thread(&thread.thread_id) };
    let run = client.compact(params).await;
    let handle = run.receipt.dropped[0].handle.clone();
    let expand = history::ExpandParams { handle, ..Default::default() };
    let page = client.call::<history::Expand>(expand).await.unwrap();
    assert_eq!(page.path, thread.path);
    let summary = client.thread(&thread.thread_id).await;
    assert_eq!((summary.source.as_str(), summary.cwd.as_deref()), ("longhaul", Some("/w/demo")));
    assert_eq!((summary.items, summary.unknown, summary.malformed), (80, 0, 0));
    assert_eq!(summary.originator.as_deref(), Some("editor"));
    assert_eq!(summary.kind, ThreadKind::Interactive);
}

#[tokio::test]
async fn a_bad_item_rejects_its_batch_and_is_named() {
    use ErrorKind::{InvalidParams, LimitExceeded};
    let (_daemon, mut client) = Daemon::start_with_client().await;
    let thread = open(&mut client, "k").await;
    let addition = |id: &str, item: Value| json!({ "client_item_id": id, "item": item });
    let good = addition("good", message("user", "x"));
    let long = "x".repeat(5 << 20);
    let compacted = json!({ "type": "compacted", "replacement_history": [{ "type": "mesage" }] });
    let settings = json!({ "type": "settings", "cwd": "w" });
    for (bad, expected) in [
        (addition("bad", json!("text")), InvalidParams),
        (addition("bad", json!({ "type": "message", "role": "user" })), InvalidParams),
        (addition("bad", message("robot", "x")), InvalidParams),
        (addition("good", message("user", "y")), InvalidParams),
        (addition("", message("user", "y")), InvalidParams),
        (addition("new\nline", message("user", "y")), InvalidParams),
        (addition(&"i".repeat(200), message("user", "y")), InvalidParams),
        (addition(&github_token(), message("user", "y")), InvalidParams),
        (addition("bad", message("user", &long)), LimitExceeded),
        (json!({ "client_item_id": "bad" }), InvalidParams),
        (json!({ "client_item_id": "bad", "marker": settings }), InvalidParams),
        (json!({ "client_item_id": "bad", "marker": compacted }), InvalidParams),
    ] {
        let answer = raw_append(&mut client, &thread, json!([good, bad])).await;
        let error = answer.error();
        assert_eq!(error.kind(), expected, "{error:?}");
        let detail = error.data.as_ref().unwrap().detail.as_ref().unwrap();
        assert_eq!(*field(detail, "index"), 1, "{detail}");
        text_at(detail, "reason");
        text_at(detail, "client_item_id");
    }
    let many: Value = (0..257).map(|n| addition(&n.to_string(), message("user", "x"))).collect();
    assert_eq!(raw_append(&mut client, &thread, many).await.kind(), Some(LimitExceeded));
    let misspelled = json!([{ "client_item_id": "a", "itm": {} }]);
    assert_eq!(raw_append(&mut client, &thread, misspelled).await.kind(), Some(InvalidParams));
    assert_eq!(ids(&thread.path), [""; 0], "nothing of it was written");
    assert_eq!(append(&mut client, &thread, vec![]).await.unwrap().seq, 0);
    let one = vec![self::addition("good", message("user", "x"))];
    assert_eq!(append(&mut client, &thread, one).await.unwrap().seq, 1);
    assert_eq!(ids(&thread.path), ["good"], "the good item alone is accepted");
}

#[tokio::test]
async fn bad_params_of_open_are_rejected() {
    use ErrorKind::{InvalidParams, LimitExceeded, ThreadNotFound};
    let (_daemon, mut client) = Daemon::start_with_client().await;
    let good = json!({ "cwd": "/w", "originator": "e" });
    for (more, expected) in [
        (json!({}), None),
        (json!({ "cwd": "w" }), Some(InvalidParams)),
        (json!({ "originator": "" }), Some(InvalidParams)),
        (json!({ "originator": "e".repeat(129) }), Some(LimitExceeded)),
        (json!({ "client_thread_id": "a\u{0}" }), Some(InvalidParams)),
        (json!({ "client_thread_id": "a", "thread_id": "b" }), Some(InvalidParams)),
        (json!({ "thread_id": "../../etc" }), Some(ThreadNotFound)),
        (json!({ "kind": "robot" }), Some(InvalidParams)),
        (json!({ "kind": "exec", "parent_thread_id": "p" }), Some(InvalidParams)),
    ] {
        let mut params = good.clone();
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answer = client.request("thread/open", params.clone()).await;
        assert_eq!(answer.kind(), expected, "{params}: {answer:?}");
    }
    let nobody = AppendParams { thread_id: "nobody".into(), ..Default::default() };
    let error = client.call::<Append>(nobody).await.unwrap_err();
    assert_eq!(error.kind(), ThreadNotFound);
}

#[tokio::test]
async fn the_window_given_to_open_is_used() {
    let (_daemon, mut client) = Daemon::start_with_client().await;
    let params = OpenParams {
        cwd: "/w".into(),
        originator: "e".into(),
        model: Some("gpt-5".into()),
        context_window: Some(8_000),
        ..Default::default()
    };
    let thread = client.call::<Open>(params).await.unwrap();
    append(&mut client, &thread, vec![addition("1", message("user", "Go."))]).await.unwrap();
    let usage = client.usage(&thread.thread_id).await;
    assert_eq!((usage.window.tokens, usage.window.is_known), (8_000, true));
}

#[tokio::test]
async fn secrets_are_redacted_before_they_reach_the_file() {
    let (daemon, mut client) = Daemon::start_with_client().await;
    let token = github_token();
    let params = OpenParams {
        cwd: "/w".into(),
        originator: "e".into(),
        title: Some(format!("use {token}")),
        ..Default::default()
    };
    let thread = client.call::<Open>(params).await.unwrap();
    let arguments = json!({ "cmd": format!("export T={token}\ncurl x") }).to_string();
    let call =
        json!({ "type": "function_call", "name": "shell", "call_id": "c", "arguments": arguments });
    let items = vec![
        addition("1", message("user", &format!("line\n{token}"))),
        addition("2", call),
        addition("3", message("user", "no secret")),
    ];
    let first = append(&mut client, &thread, items.clone()).await.unwrap();
    assert_eq!((first.appended, first.duplicates, first.redacted), (3, 0, 2));
    let again = append(&mut client, &thread, items).await.unwrap();
    assert_eq!((again.appended, again.duplicates, again.redacted), (0, 3, 0));
    let prompt =
        message_history::AppendParams { text: format!("key {token}"), ..Default::default() };
    let kept = client.call::<message_history::Append>(prompt).await.unwrap();
    assert_eq!(kept.redacted, 1, "{kept:?}");
    let text = std::fs::read_to_string(&thread.path).unwrap();
    assert!(!text.contains(&token) && text.contains("no secret"), "{text}");
    let home = daemon.stopped().await;
    let history = home.path().join(".local/state/longhaul/message_history.jsonl");
    assert!(!std::fs::read_to_string(history).unwrap().contains(&token));
}

#[tokio::test]
async fn ids_survive_a_restart_of_the_daemon() {
    let (daemon, mut client) = Daemon::start_with_client().await;
    let thread = open(&mut client, "k").await;
    let a = || addition("a", message("user", "x"));
    append(&mut client, &thread, vec![a()]).await.unwrap();
    drop(client);
    let (_daemon, mut client) = Daemon::with_client(daemon.stopped().await, "").await;
    let again = open(&mut client, "k").await;
    assert_eq!(again, OpenResult { seq: 1, created: false, ..thread });
    let items = vec![a(), addition("b", message("user", "y"))];
    let answer = append(&mut client, &again, items).await.unwrap();
    assert_eq!((answer.appended, answer.duplicates), (1, 1));
}

#[tokio::test]
async fn of_two_clients_that_append_at_the_same_seq_one_must_read_again() {
    let daemon = Daemon::start().await;
    let (mut one, mut two) = (daemon.connect().await, daemon.connect().await);
    let thread = open(&mut one, "shared").await;
    let params = |id: &str| AppendParams {
        expected_seq: Some(0),
        ..append_params(&thread, vec![addition(id, message("user", id))])
    };
    let (first, second) =
        tokio::join!(one.call::<Append>(params("one")), two.call::<Append>(params("two")));
    let (Ok(_), Err(refused)) = (if first.is_ok() { (first, second) } else { (second, first) })
    else {
        panic!("exactly one of them is refused")
    };
    assert_eq!((refused.kind(), refused.retry()), (ErrorKind::StaleBase, Retry::Refresh));
    let detail = refused.data.unwrap().detail.unwrap();
    assert_eq!(detail, json!({ "present": 1, "expected": 0 }));
    assert_eq!(ids(&thread.path).len(), 1);
}

#[tokio::test]
async fn a_reused_id_with_other_content_rejects_the_batch() {
    let (_daemon, mut client) = Daemon::start_with_client().await;
    let thread = open(&mut client, "k").await;
    let first = vec![addition("a", message("user", "one"))];
    append(&mut client, &thread, first.clone()).await.unwrap();
    let before = std::fs::read(&thread.path).unwrap();
    let other =
        vec![addition("b", message("user", "two")), addition("a", message("user", "not one"))];
    for _ in 0..2 {
        let refused = append(&mut client, &thread, other.clone()).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidParams);
        let detail = refused.data.unwrap().detail.unwrap();
        assert_eq!((field(&detail, "index"), text_at(&detail, "client_item_id")), (&json!(1), "a"));
        assert_eq!(std::fs::read(&thread.path).unwrap(), before, "nothing was written");
        // The second time, the thread is read from its file.
        close(&mut client, &thread).await;
    }
    assert_eq!(append(&mut client, &thread, first).await.unwrap().duplicates, 1);
}
