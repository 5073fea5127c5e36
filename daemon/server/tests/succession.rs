//! Repeated compactions of a history that only its client has.

use longhaul_protocol::ErrorKind;
use longhaul_protocol::compaction::{Run, RunParams, RunResult, Strategy, Trigger};
use longhaul_protocol::event::EventKind;
use serde_json::{Value, json};

use crate::support::{Client, Daemon, field, message, of_items, soon, text_at, text_of};

const REQUEST: &str = "Rewrite every part, one after the other.";

/// One round of an agent: a patch, a test with much output, an answer.
fn round(number: u32) -> Vec<Value> {
    let patch = format!(
        "*** Begin Patch\n*** Update File: src/part_{number}.rs\n@@\n+fn work_{number}() {{}}\n*** End Patch"
    );
    let edit = format!("edit-{number}");
    let printed = format!("test part_{number} ... ok\n{}", "a line of output\n".repeat(120));
    let mut items = vec![
        json!({ "type": "custom_tool_call", "call_id": edit, "name": "apply_patch", "input": patch }),
        json!({ "type": "custom_tool_call_output", "call_id": edit, "output": "Success. Updated the following files:\nM src/part.rs" }),
    ];
    items.extend(shell(&format!("test-{number}"), &format!("cargo test part_{number}"), &printed));
    items.push(message("assistant", &format!("Part {number} works.")));
    items
}

/// A shell command that succeeds.
fn shell(call_id: &str, script: &str, printed: &str) -> [Value; 2] {
    let command = json!({ "command": ["bash", "-lc", script] });
    let output = json!({ "output": printed, "metadata": { "exit_code": 0 } });
    [
        json!({ "type": "function_call", "call_id": call_id, "name": "shell", "arguments": command.to_string() }),
        json!({ "type": "function_call_output", "call_id": call_id, "output": output.to_string() }),
    ]
}

async fn compact(client: &mut Client, items: &[Value]) -> RunResult {
    let params = RunParams {
        strategy: Some(Strategy::Checkpoint),
        max_tokens: Some(2_000),
        ..of_items(items)
    };
    client.compact(params).await
}

/// Compacts a session eight times, each time the previous result with new items.
async fn eight(client: &mut Client) -> Vec<RunResult> {
    let mut items = vec![message("user", REQUEST)];
    let mut results = Vec::new();
    for number in 1..=8 {
        items.extend(round(number));
        let result = compact(client, &items).await;
        items = result.history.bytes().clone();
        results.push(result);
    }
    results
}

#[track_caller]
fn assert_knows_parts(view: &str, last: u32) {
    for number in 1..=last {
        assert!(view.contains(&format!("src/part_{number}.rs (edited")), "{number}: {view}");
    }
}

#[tokio::test]
async fn the_eighth_compaction_contains_what_the_first_one_did() {
    let daemon = Daemon::start().await;
    let last = eight(&mut daemon.connect().await).await.pop().unwrap();
    assert_knows_parts(&last.view, 8);
    for number in 1..=8 {
        let view = &last.view;
        assert!(view.contains(&format!("cargo test part_{number}")), "{number}: {view}");
    }
    assert!(last.view.trim_end().ends_with(REQUEST), "{}", last.view);
    assert_eq!(last.history.len(), 2, "one view and the request");
    assert_eq!(text_of(&last.history[1]), REQUEST);
}

#[tokio::test]
async fn sizes_and_receipt_are_of_the_given_items() {
    let (_daemon, mut client) = Daemon::start_with_client().await;
    let results = eight(&mut client).await;
    let before = |at: usize| results[at].tokens.before;
    assert!(before(7) < 2 * before(0) + 2_000, "{} after {}", before(7), before(0));
    let totals = &results[7].receipt.totals;
    let items = totals.kept.items + totals.shortened.items + totals.dropped.items;
    assert_eq!(items, 7, "{totals:?}");
    let undone = client.undo(&results[7].compaction_id).await;
    assert_eq!(undone.history.len(), 7);
    assert_eq!(undone.history[0], results[6].history[0]);
}

#[tokio::test]
async fn handles_in_the_last_view_expand_to_output_from_before_the_first_compaction() {
    let (_daemon, mut client) = Daemon::start_with_client().await;
    let last = eight(&mut client).await.pop().unwrap();
    let (view, id) = (&last.view, &last.compaction_id);
    assert!(view.contains(&format!("thread={id}")), "{view}");
    let line = view.lines().find(|line| line.contains("cargo test part_1")).unwrap();
    let mark = line
        .split_whitespace()
        .find_map(|word| word.trim_matches(['(', ')', ',']).strip_prefix('#'));
    let mark = mark.unwrap_or_else(|| panic!("no mark in {line}"));
    let items = client.expand(&format!("{id}#{mark}")).await;
    assert!(text_at(&items[0], "output").contains("test part_1 ... ok"), "{items:?}");
    for entry in &last.receipt.dropped {
        assert_eq!(client.expand(&entry.handle).await.len() as u64, entry.items, "{entry:?}");
    }
}

#[tokio::test]
async fn a_missing_stored_fold_is_computed_again() {
    let home = tempfile::tempdir().unwrap();
    let mut folders = vec![home.path().to_owned()];
    let (_daemon, mut client) = Daemon::with_client(home, "").await;
    let last = eight(&mut client).await.pop().unwrap();
    let mut folds = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "fold") {
                std::fs::remove_file(path).unwrap();
                folds += 1;
            }
        }
    }
    assert_eq!(folds, 8);
    let mut items = last.history.into_bytes();
    items.extend(round(9));
    assert_knows_parts(&compact(&mut client, &items).await.view, 9);
}

#[tokio::test]
async fn a_new_request_after_a_view_is_the_current_one() {
    let (_daemon, mut client) = Daemon::start_with_client().await;
    let mut items = eight(&mut client).await.pop().unwrap().history.into_bytes();
    items.push(message("assistant", "All parts are rewritten."));
    items.push(message("user", "Now write the notes."));
    items.extend(round(9));
    let result = compact(&mut client, &items).await;
    let view = &result.view;
    assert!(view.trim_end().ends_with("Now write the notes."), "{view}");
    assert!(view.contains("Rewrite every part"), "{view}");
    assert_eq!(text_of(&result.history[1]), "Now write the notes.");
}

#[tokio::test]
async fn a_view_of_a_view_without_a_bound_keeps_every_part() {
    let (_daemon, mut client) = Daemon::start_with_client().await;
    let last = eight(&mut client).await.pop().unwrap();
    let params =
        RunParams { strategy: Some(Strategy::Checkpoint), ..of_items(last.history.into_bytes()) };
    assert_knows_parts(&client.compact(params).await.view, 8);
}

#[tokio::test]
async fn an_automatic_compaction_waits_until_a_given_history_has_grown() {
    let (_daemon, mut client) = Daemon::start_with_client().await;
    let mut items = eight(&mut client).await.pop().unwrap().history.into_bytes();
    items.push(message("assistant", "A word."));
    let auto = |items: &[Value]| RunParams { trigger: Some(Trigger::Auto), ..of_items(items) };
    let refused = client.call::<Run>(auto(&items)).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::NotWorthwhile);
    client.compact(of_items(items.clone())).await;
    items.extend((0..4).flat_map(|more| round(10 + more)));
    client.compact(auto(&items)).await;
}

#[tokio::test]
async fn a_loop_in_a_given_history_is_reported_with_the_reread_files() {
    let (daemon, mut client) = Daemon::start_with_client().await;
    let mut listener = daemon.connect().await;
    listener.subscribe(&[EventKind::CompactionLoop]).await;
    let mut items = vec![message("user", "Find out why the parser is slow.")];
    let mut last = String::new();
    for turn in 0..3 {
        for look in 0..3 {
            let id = format!("look-{turn}-{look}");
            items.extend(shell(&id, "cat src/parser.rs", &"fn parse() {}\n".repeat(200)));
        }
        let result = compact(&mut client, &items).await;
        (items, last) = (result.history.into_bytes(), result.compaction_id);
    }
    let event = soon("the warning", listener.event()).await;
    assert_eq!(event.kind, EventKind::CompactionLoop);
    assert_eq!(text_at(&event.data, "compaction_id"), last, "the third one: {event:?}");
    assert_eq!(field(&event.data, "compactions"), 3);
    assert_eq!(*field(&event.data, "reread"), json!(["src/parser.rs"]));
}
