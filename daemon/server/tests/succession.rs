//! One compaction after another of a history that only its client keeps.

use serde_json::{Value, json};

use crate::support::{Client, Daemon, soon};

fn message(role: &str, text: &str) -> Value {
    let kind = if role == "assistant" { "output_text" } else { "input_text" };
    json!({ "type": "message", "role": role, "content": [{ "type": kind, "text": text }] })
}

/// What an agent does in a round: a patch, a test that prints much, an answer.
fn round(number: u32) -> Vec<Value> {
    let patch = format!(
        "*** Begin Patch\n*** Update File: src/part_{number}.rs\n@@\n+fn work_{number}() {{}}\n*** End Patch"
    );
    let (edit, test) = (format!("edit-{number}"), format!("test-{number}"));
    let command = json!({ "command": ["bash", "-lc", format!("cargo test part_{number}")] });
    let printed = format!("test part_{number} ... ok\n{}", "a line of output\n".repeat(120));
    vec![
        json!({ "type": "custom_tool_call", "call_id": edit, "name": "apply_patch", "input": patch }),
        json!({ "type": "custom_tool_call_output", "call_id": edit, "output": "Success. Updated the following files:\nM src/part.rs" }),
        json!({ "type": "function_call", "call_id": test, "name": "shell", "arguments": command.to_string() }),
        json!({ "type": "function_call_output", "call_id": test, "output": json!({ "output": printed, "metadata": { "exit_code": 0 } }).to_string() }),
        message("assistant", &format!("Part {number} works.")),
    ]
}

async fn compact(client: &mut Client, items: &[Value]) -> Value {
    let params = json!({ "items": items, "strategy": "checkpoint", "max_tokens": 2_000 });
    let answer = client.call("compaction/run", params).await;
    assert!(answer["error"].is_null(), "{answer}");
    answer["result"].clone()
}

/// Compacts a session eight times, each time what the last one left and what came after it.
async fn eight(client: &mut Client) -> Vec<Value> {
    let mut items = vec![message("user", "Rewrite every part, one after the other.")];
    let mut made = Vec::new();
    for number in 1..=8 {
        items.extend(round(number));
        let result = compact(client, &items).await;
        items = result["history"].as_array().unwrap().clone();
        made.push(result);
    }
    made
}

#[tokio::test]
async fn the_eighth_compaction_knows_what_the_first_one_knew() {
    let daemon = Daemon::start().await;
    let made = eight(&mut daemon.connect().await).await;
    let view = made[7]["view"].as_str().unwrap();
    for number in 1..=8 {
        assert!(view.contains(&format!("src/part_{number}.rs (edited")), "{number}: {view}");
        assert!(view.contains(&format!("cargo test part_{number}")), "{number}: {view}");
    }
    assert!(view.trim_end().ends_with("Rewrite every part, one after the other."), "{view}");
    let history = made[7]["history"].as_array().unwrap();
    assert_eq!(history.len(), 2, "one view and the request: {history:?}");
    assert_eq!(history[1]["content"][0]["text"], "Rewrite every part, one after the other.");
}

#[tokio::test]
async fn sizes_and_receipt_are_of_the_items_that_were_given() {
    let daemon = Daemon::start().await;
    let mut client = daemon.connect().await;
    let made = eight(&mut client).await;
    let before = |at: usize| made[at]["tokens"]["before"].as_u64().unwrap();
    assert!(before(7) < 2 * before(0) + 2_000, "{} after {}", before(7), before(0));
    let totals = &made[7]["receipt"]["totals"];
    let items = |list: &str| totals[list]["items"].as_u64().unwrap();
    assert_eq!(items("kept") + items("shortened") + items("dropped"), 7, "{totals}");
    let undone = client
        .call("compaction/undo", json!({ "compaction_id": made[7]["compaction_id"] }))
        .await["result"]
        .clone();
    assert_eq!(undone["history"].as_array().map(Vec::len), Some(7));
    assert_eq!(undone["history"][0], made[6]["history"][0]);
}

#[tokio::test]
async fn marks_in_the_last_view_lead_to_what_was_printed_before_the_first_one() {
    let daemon = Daemon::start().await;
    let mut client = daemon.connect().await;
    let made = eight(&mut client).await;
    let view = made[7]["view"].as_str().unwrap();
    let id = made[7]["compaction_id"].as_str().unwrap();
    assert!(view.contains(&format!("thread={id}")), "{view}");
    let line = view.lines().find(|line| line.contains("cargo test part_1")).unwrap();
    let mark = line
        .split_whitespace()
        .find_map(|word| word.trim_matches(['(', ')', ',']).strip_prefix('#'));
    let mark = mark.unwrap_or_else(|| panic!("no mark in {line}"));
    let expanded = client.call("history/expand", json!({ "handle": format!("{id}#{mark}") })).await;
    let text = expanded["result"]["items"][0].to_string();
    assert!(text.contains("test part_1 ... ok"), "{expanded}");
    for entry in made[7]["receipt"]["dropped"].as_array().unwrap() {
        let expanded = client.call("history/expand", json!({ "handle": entry["handle"] })).await;
        assert!(expanded["error"].is_null(), "{expanded}");
    }
}

#[tokio::test]
async fn what_is_known_is_folded_again_where_the_stored_fold_is_gone() {
    let home = tempfile::tempdir().unwrap();
    let mut folders = vec![home.path().to_owned()];
    let daemon = Daemon::over(home, "").await;
    let mut client = daemon.connect().await;
    let made = eight(&mut client).await;
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
    let mut items = made[7]["history"].as_array().unwrap().clone();
    items.extend(round(9));
    let ninth = compact(&mut client, &items).await;
    let view = ninth["view"].as_str().unwrap();
    for number in 1..=9 {
        assert!(view.contains(&format!("src/part_{number}.rs (edited")), "{number}: {view}");
    }
}

#[tokio::test]
async fn a_new_request_after_a_view_is_the_one_worked_on() {
    let daemon = Daemon::start().await;
    let mut client = daemon.connect().await;
    let mut items = eight(&mut client).await[7]["history"].as_array().unwrap().clone();
    items.push(message("assistant", "All parts are rewritten."));
    items.push(message("user", "Now write the notes."));
    items.extend(round(9));
    let made = compact(&mut client, &items).await;
    let view = made["view"].as_str().unwrap();
    assert!(view.trim_end().ends_with("Now write the notes."), "{view}");
    assert!(view.contains("Rewrite every part"), "{view}");
    assert_eq!(made["history"][1]["content"][0]["text"], "Now write the notes.");
}

#[tokio::test]
async fn a_view_of_a_view_is_no_smaller_when_nobody_says_how_large() {
    let daemon = Daemon::start().await;
    let mut client = daemon.connect().await;
    let made = eight(&mut client).await;
    let params = json!({ "items": made[7]["history"], "strategy": "checkpoint" });
    let again = client.call("compaction/run", params).await["result"].clone();
    for number in 1..=8 {
        let view = again["view"].as_str().unwrap();
        assert!(view.contains(&format!("src/part_{number}.rs (edited")), "{number}: {view}");
    }
}

#[tokio::test]
async fn a_rule_must_wait_until_a_given_history_has_really_grown() {
    let daemon = Daemon::start().await;
    let mut client = daemon.connect().await;
    let made = eight(&mut client).await;
    let mut items = made[7]["history"].as_array().unwrap().clone();
    items.push(message("assistant", "A word."));
    let auto = |items: &[Value]| json!({ "items": items, "trigger": "auto" });
    let refused = client.call("compaction/run", auto(&items)).await;
    assert_eq!(refused["error"]["data"]["kind"], "not_worthwhile", "{refused}");
    let by_hand = client.call("compaction/run", json!({ "items": items })).await;
    assert!(by_hand["error"].is_null(), "{by_hand}");
    items.extend((0..4).flat_map(|more| round(10 + more)));
    let grown = client.call("compaction/run", auto(&items)).await;
    assert!(grown["error"].is_null(), "{grown}");
}

#[tokio::test]
async fn a_given_history_that_goes_in_circles_is_told_of_with_what_is_read_again() {
    let daemon = Daemon::start().await;
    let mut client = daemon.connect().await;
    let mut listener = daemon.connect().await;
    listener.call("event/subscribe", json!({ "kinds": ["compaction_loop"] })).await;
    let mut items = vec![message("user", "Find out why the parser is slow.")];
    let mut last = Value::Null;
    for turn in 0..3 {
        for look in 0..3 {
            let id = format!("look-{turn}-{look}");
            let command = json!({ "command": ["bash", "-lc", "cat src/parser.rs"] });
            items.push(json!({ "type": "function_call", "call_id": id, "name": "shell",
                "arguments": command.to_string() }));
            items.push(json!({ "type": "function_call_output", "call_id": id,
                "output": json!({ "output": "fn parse() {}\n".repeat(200),
                    "metadata": { "exit_code": 0 } }).to_string() }));
        }
        last = compact(&mut client, &items).await;
        items = last["history"].as_array().unwrap().clone();
    }
    let event = soon("the warning", listener.hear()).await.unwrap()["params"]["result"].take();
    assert_eq!(event["data"]["compaction_id"], last["compaction_id"], "the third one: {event}");
    assert_eq!(event["data"]["compactions"], 3);
    assert_eq!(event["data"]["reread"], json!(["src/parser.rs"]));
}
