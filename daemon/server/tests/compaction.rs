//! Compacting threads and given items, giving back what was dropped, taking it back.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::rollout::Rollout;
use crate::support::{Client, Daemon, kind, soon};

const THREAD: &str = "019cadd3-0000-7000-8000-000000000001";

/// A long session and a daemon that has read it.
async fn session(rounds: u32) -> (Daemon, Client, u64) {
    let home = tempfile::tempdir().unwrap();
    let mut rollout = Rollout::new(THREAD, home.path());
    rollout.message("user", "Make the fetcher retry.\nKeep its API.");
    for round in 0..rounds {
        rollout.command(
            &format!("cargo test fetch_{round}"),
            i32::from(round % 2 == 0),
            "running tests\n",
        );
        rollout.message("assistant", &format!("Round {round} is through."));
    }
    rollout
        .patch("*** Begin Patch\n*** Update File: src/fetch.rs\n@@\n+fn retry() {}\n*** End Patch");
    rollout.write(home.path());
    let daemon = Daemon::over(home, "").await;
    let mut client = daemon.connect().await;
    client.call("thread/sync", json!({ "thread_id": THREAD })).await;
    (daemon, client, rollout.seq())
}

async fn run(client: &mut Client, params: Value) -> Value {
    let answer = client.call("compaction/run", params).await;
    assert!(answer["error"].is_null(), "{answer}");
    answer["result"].clone()
}

#[tokio::test]
async fn a_thread_becomes_a_view_and_its_last_request() {
    let (_daemon, mut client, _) = session(100).await;
    let result = run(&mut client, json!({ "thread_id": THREAD, "max_tokens": 600 })).await;
    let view = result["view"].as_str().unwrap();
    assert!(view.len() <= 2_400, "{}", view.len());
    assert!(view.contains("src/fetch.rs (edited"), "{view}");
    assert!(view.trim_end().ends_with("- Make the fetcher retry.\nKeep its API."), "{view}");
    let history = result["history"].as_array().unwrap();
    assert_eq!(history.len(), 2);
    assert_eq!(history[1]["content"][0]["text"], "Make the fetcher retry.\nKeep its API.");
    let tokens = |when: &str| result["tokens"][when].as_u64().unwrap();
    assert!(tokens("after") * 2 < tokens("before"), "{}", result["tokens"]);
    assert_eq!(result["ladder"][0]["outcome"], "used");
}

#[tokio::test]
async fn the_receipt_accounts_for_every_item_and_each_handle_gives_its_items_back() {
    let (_daemon, mut client, last_seq) = session(300).await;
    let result = run(&mut client, json!({ "thread_id": THREAD })).await;
    let receipt = &result["receipt"];
    let mut seen = 0;
    let entries =
        ["kept", "shortened", "dropped"].iter().flat_map(|list| receipt[list].as_array().unwrap());
    for entry in entries {
        let expanded = client.call("history/expand", json!({ "handle": entry["handle"] })).await;
        let items = expanded["result"]["items"].as_array().unwrap_or_else(|| panic!("{expanded}"));
        assert_eq!(items.len() as u64, entry["items"].as_u64().unwrap(), "{entry}");
        seen += items.len();
    }
    assert_eq!(seen as u64, last_seq, "every line but the first is an item");
}

#[tokio::test]
async fn the_initial_context_stands_before_the_request_in_mid_turn_only() {
    let (_daemon, mut client, _) = session(20).await;
    let context = json!([{ "type": "message", "role": "developer", "content": [{ "type": "input_text", "text": "rules" }] }]);
    for (phase, roles) in [
        ("mid_turn", vec!["user", "developer", "user"]),
        ("pre_turn", vec!["user", "user"]),
        ("standalone", vec!["user", "user"]),
    ] {
        let params = json!({ "thread_id": THREAD, "phase": phase, "initial_context": context });
        let result = run(&mut client, params).await;
        let history = result["history"].as_array().unwrap();
        assert_eq!(
            history.iter().map(|item| item["role"].as_str().unwrap()).collect::<Vec<_>>(),
            roles
        );
    }
}

#[tokio::test]
async fn given_items_are_compacted_kept_and_given_back_after_a_restart() {
    let daemon = Daemon::start().await;
    let mut client = daemon.connect().await;
    let item = |role: &str, text: &str| json!({ "type": "message", "role": role, "content": [{ "type": "input_text", "text": text }] });
    let items = json!([
        item("user", "Rename the parser."),
        item("assistant", &"Done with it. ".repeat(400)),
        item("user", "Now test it."),
    ]);
    let result = run(&mut client, json!({ "items": items, "max_tokens": 300 })).await;
    assert_eq!(result["receipt"]["kept"].as_array().unwrap().len(), 1);
    let handle = result["receipt"]["dropped"][1]["handle"].clone();
    let id = result["compaction_id"].clone();
    let daemon = Daemon::over(daemon.stopped().await, "").await;
    let mut client = daemon.connect().await;
    let expanded = client.call("history/expand", json!({ "handle": handle })).await;
    assert_eq!(expanded["result"]["items"][0], items[1]);
    let undone = client.call("compaction/undo", json!({ "compaction_id": id })).await;
    assert_eq!(
        (&undone["result"]["history"], &undone["result"]["complete"]),
        (&items, &json!(true))
    );
    let again = client.call("compaction/undo", json!({ "compaction_id": id })).await;
    assert_eq!(again["result"]["undone_at"], undone["result"]["undone_at"]);
    let listed = client.call("compaction/list", json!({})).await;
    assert_eq!(listed["result"]["compactions"][0]["undone_at"], undone["result"]["undone_at"]);
}

#[tokio::test]
async fn undo_gives_what_the_model_saw_and_not_what_was_taken_back() {
    let home = tempfile::tempdir().unwrap();
    let mut rollout = Rollout::new(THREAD, home.path());
    rollout.message("user", "old request").message("assistant", "old answer");
    let kept = json!([{ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "summary" }] }]);
    rollout.line("compacted", &json!({ "message": "", "replacement_history": kept }));
    rollout.message("user", "a mistake").message("assistant", "answered");
    rollout.line("event_msg", &json!({ "type": "thread_rolled_back", "num_turns": 1 }));
    rollout.message("user", "the new request");
    rollout.write(home.path());
    let daemon = Daemon::over(home, "").await;
    let mut client = daemon.connect().await;
    let result = run(&mut client, json!({ "thread_id": THREAD })).await;
    let undone =
        client.call("compaction/undo", json!({ "compaction_id": result["compaction_id"] })).await;
    let history = undone["result"]["history"].as_array().unwrap();
    let texts: Vec<&str> =
        history.iter().map(|item| item["content"][0]["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["summary", "the new request"]);
}

#[tokio::test]
async fn a_rewritten_transcript_gives_an_error_instead_of_other_items() {
    let (daemon, mut client, _) = session(10).await;
    let result = run(&mut client, json!({ "thread_id": THREAD })).await;
    let handle = result["receipt"]["dropped"][3]["handle"].clone();
    let path = client.call("thread/get", json!({ "thread_id": THREAD })).await["result"]["thread"]
        ["path"]
        .clone();
    let path = path.as_str().unwrap();
    let content = fs::read_to_string(path).unwrap().replace("fetch_", "other_");
    fs::write(path, content).unwrap();
    let answer = client.call("history/expand", json!({ "handle": handle })).await;
    assert_eq!(kind(&answer), "source_changed", "{answer}");
    drop(daemon);
}

#[tokio::test]
async fn bad_requests_are_named() {
    let (_daemon, mut client, _) = session(2).await;
    for (method, params, expected) in [
        ("compaction/run", json!({}), "invalid_params"),
        ("compaction/run", json!({ "thread_id": THREAD, "items": [] }), "invalid_params"),
        ("compaction/run", json!({ "items": [] }), "invalid_params"),
        ("compaction/run", json!({ "thread_id": "nobody" }), "thread_not_found"),
        ("compaction/run", json!({ "thread_id": THREAD, "max_token": 5 }), "invalid_params"),
        ("compaction/get", json!({ "compaction_id": "cmp_none" }), "compaction_not_found"),
        ("compaction/undo", json!({ "compaction_id": "cmp_none" }), "compaction_not_found"),
        ("compaction/list", json!({ "cursor": "x" }), "invalid_params"),
        ("history/expand", json!({ "handle": "x" }), "invalid_params"),
        ("history/expand", json!({ "handle": format!("{THREAD}#99999") }), "handle_not_found"),
        ("history/expand", json!({ "handle": "cmp_none#0" }), "handle_not_found"),
        ("history/expand", json!({ "handle": "nobody#1" }), "thread_not_found"),
        ("thread/sync", json!({ "path": "/etc/passwd" }), "path_outside"),
        ("thread/sync", json!({ "path": "relative" }), "invalid_params"),
        ("thread/list", json!({ "source": "elsewhere" }), "invalid_params"),
    ] {
        let answer = client.call(method, params.clone()).await;
        assert_eq!(kind(&answer), expected, "{method} {params}: {answer}");
    }
}

#[tokio::test]
async fn a_session_of_the_first_command_line_is_compacted_and_expanded() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".codex/sessions");
    fs::create_dir_all(&folder).unwrap();
    let said = |text: &str| json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": text }] });
    let session = json!({ "timestamp": "2025-04-20T08:00:00Z", "id": THREAD, "instructions": "" });
    let items = [said("Write a parser."), said("Now test it.")];
    let document = json!({ "session": session, "items": items });
    let path = folder.join(format!("rollout-2025-04-20-{THREAD}.json"));
    fs::write(path, serde_json::to_string_pretty(&document).unwrap()).unwrap();
    let daemon = Daemon::over(home, "").await;
    let mut client = daemon.connect().await;
    client.call("thread/sync", json!({ "thread_id": THREAD })).await;
    let list = client.call("thread/list", json!({})).await["result"].take();
    assert_eq!(list["threads"][0]["items"], 2, "{list}");
    let result = run(&mut client, json!({ "thread_id": THREAD })).await;
    let handle = &result["receipt"]["dropped"][0]["handle"];
    let answer = client.call("history/expand", json!({ "handle": handle })).await;
    assert_eq!(answer["result"]["items"], json!([items[0]]), "{answer}");
}

#[tokio::test]
async fn old_compactions_go_with_their_histories_and_say_so() {
    const NINETY_DAYS_MS: i64 = 90 * 86_400_000;
    let home = tempfile::tempdir().unwrap();
    let mut rollout = Rollout::new(THREAD, home.path());
    rollout.message("user", "Make the fetcher retry.").message("assistant", "It does.");
    rollout.write(home.path());
    let daemon = Daemon::over(home, "[compaction]\nkeep_per_thread = 3\n").await;
    let mut client = daemon.connect().await;
    client.call("thread/sync", json!({ "thread_id": THREAD })).await;
    let item = json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "Go." }] });
    let given = run(&mut client, json!({ "items": [item, item] })).await;
    let (id, handle) = (&given["compaction_id"], &given["receipt"]["dropped"][0]["handle"]);
    let history = daemon
        .deps
        .config
        .now()
        .state_dir
        .join(format!("preimages/{}.jsonl", id.as_str().unwrap()));
    assert!(history.exists());
    daemon.clock.advance_ms(NINETY_DAYS_MS + 1);
    let mut last = Value::Null;
    // The last of these wakes the pass.
    for _ in 0..31 {
        last = run(&mut client, json!({ "thread_id": THREAD })).await["compaction_id"].take();
    }
    let mut list = Value::Null;
    let pruned = async {
        while history.exists() || list.as_array().is_none_or(|list| list.len() > 3) {
            list = client.call("compaction/list", json!({})).await["result"]["compactions"].take();
        }
    };
    soon("the pass", pruned).await;
    assert_eq!(list[0]["compaction_id"], last, "the newest are kept");
    let undo = client.call("compaction/undo", json!({ "compaction_id": id })).await;
    assert_eq!(kind(&undo), "compaction_not_found");
    let expand = client.call("history/expand", json!({ "handle": handle })).await;
    assert_eq!(kind(&expand), "handle_not_found");
    for answer in [undo, expand] {
        let hint = answer["error"]["data"]["hint"].as_str().unwrap();
        assert!(hint.contains("compaction.keep_days"), "{answer}");
    }
}

/// Overwrites the pages of a database that hold `needle`.
fn damage(database: &Path, needle: &[u8]) -> usize {
    let mut bytes = fs::read(database).unwrap();
    let holds = |page: &&mut [u8]| page.windows(needle.len()).any(|window| window == needle);
    let damaged = bytes.chunks_mut(4_096).skip(1).filter(holds).map(|page| page.fill(0xa5)).count();
    let mut file = fs::OpenOptions::new().write(true).open(database).unwrap();
    file.write_all(&bytes).unwrap();
    damaged
}

#[tokio::test]
async fn damage_that_a_request_meets_is_repaired_and_the_thread_served_again() {
    let (daemon, mut client, _) = session(300).await;
    let made = run(&mut client, json!({ "thread_id": THREAD })).await;
    let handle = made["receipt"]["dropped"][0]["handle"].clone();
    // Closed and opened again, so that the rows stand in the file and in nobody's memory.
    let daemon = Daemon::over(daemon.stopped().await, "").await;
    let database = daemon.deps.config.now().state_dir.join("longhaul.db");
    // As an index row holds the id of a call: its length before it.
    assert!(damage(&database, b"\x07call_") > 0);
    let mut client = daemon.connect().await;
    let expand = json!({ "handle": handle });
    let answer = client.call("history/expand", expand.clone()).await;
    assert_eq!(kind(&answer), "store_corrupt", "{answer}");
    let served = async {
        loop {
            let answer = client.call("history/expand", expand.clone()).await;
            if answer["error"].is_null() {
                return answer;
            }
        }
    };
    let answer = soon("the thread", served).await;
    assert!(!answer["result"]["items"].as_array().unwrap().is_empty());
    let store = client.call("daemon/status", json!({})).await["result"]["store"].take();
    assert!(store["rebuilt_from"].as_str().unwrap().contains("longhaul.db.corrupt-"), "{store}");
    assert_eq!(
        store["salvaged"],
        json!({
            "updates": 0, "compactions": 1, "model_usage": 0, "jobs": 1, "complete": true
        })
    );
    let got =
        client.call("compaction/get", json!({ "compaction_id": made["compaction_id"] })).await;
    assert_eq!(got["result"]["view"], made["view"]);
}
