//! `history/get` over transcripts that were compacted, rolled back and forked: the behaviours of Codex's
//! own tests (`facts/codex-compaction.md` §9), and where it is wrong, what is right.

use std::path::Path;

use serde_json::{Value, json};

use crate::rollout::Rollout;
use crate::support::Daemon;

const THREAD: &str = "019e0000-0000-7000-8000-000000000001";
const FORK: &str = "019e0000-0000-7000-8000-000000000002";

fn text(item: &Value) -> String {
    item.pointer("/content/0/text").and_then(Value::as_str).unwrap_or("-").to_owned()
}

fn message(role: &str, text: &str) -> Value {
    json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]})
}

async fn start(rollouts: &[&Rollout]) -> Daemon {
    let home = tempfile::tempdir().unwrap();
    for rollout in rollouts {
        rollout.write(home.path());
    }
    Daemon::over(home, "").await
}

async fn get(daemon: &Daemon, params: Value) -> Value {
    let thread = params["thread_id"].clone();
    let mut client = daemon.connect().await;
    client.call("thread/sync", json!({"thread_id": thread})).await;
    let answer = client.call("history/get", params).await;
    assert!(answer["error"].is_null(), "{answer}");
    answer["result"].clone()
}

async fn texts(daemon: &Daemon, params: Value) -> Vec<String> {
    get(daemon, params).await["items"].as_array().unwrap().iter().map(text).collect()
}

fn two_turns() -> Rollout {
    let mut rollout = Rollout::new(THREAD, Path::new("/w"));
    rollout.message("user", "<environment_context>first</environment_context>");
    rollout.message("user", "one").message("assistant", "did one");
    rollout.message("developer", "<permissions instructions>changed");
    rollout.message("user", "<environment_context>second</environment_context>");
    rollout.message("user", "two").message("assistant", "did two");
    rollout
}

fn roll_back(rollout: &mut Rollout, turns: u64) {
    rollout.line("event_msg", &json!({"type": "thread_rolled_back", "num_turns": turns}));
}

#[tokio::test]
async fn a_rollback_takes_its_turns_and_the_context_above_them() {
    let env = "<environment_context>first</environment_context>";
    for (turns, expected) in [(0, 7), (1, 3), (2, 1), (9, 1)] {
        let mut rollout = two_turns();
        roll_back(&mut rollout, turns);
        let daemon = start(&[&rollout]).await;
        let left = texts(&daemon, json!({"thread_id": THREAD})).await;
        assert_eq!((left.len(), left[0].as_str()), (expected, env), "{turns}: {left:?}");
    }
}

#[tokio::test]
async fn what_one_agent_asks_another_begins_a_turn_and_old_style_messages_do_not() {
    let envelope = json!({
        "author": "/lead", "recipient": "/lead/a", "other_recipients": [],
        "content": "Read the lexer.", "trigger_turn": true,
    });
    let old = json!({ "author": "/lead", "recipient": "/lead/a", "content": "by the way" });
    let mut rollout = Rollout::new(THREAD, Path::new("/w"));
    rollout.message("user", "one").message("assistant", "did one");
    rollout.message("assistant", &envelope.to_string()).message("assistant", "read it");
    rollout.message("assistant", &old.to_string());
    let daemon = start(&[&rollout]).await;
    let mut client = daemon.connect().await;
    client.call("thread/sync", json!({ "thread_id": THREAD })).await;
    let view = client.call("checkpoint/view", json!({ "thread_id": THREAD })).await;
    assert!(view["result"].to_string().contains("Read the lexer."), "{view}");
    roll_back(&mut rollout, 1);
    let daemon = start(&[&rollout]).await;
    assert_eq!(texts(&daemon, json!({"thread_id": THREAD})).await, ["one", "did one"]);
}

#[tokio::test]
async fn a_compaction_s_replacement_is_the_base_and_a_rollback_after_it_keeps_the_summary() {
    let mut rollout = two_turns();
    let items = [message("user", "one"), message("user", "SUMMARY")];
    rollout.line("compacted", &json!({"message": "SUMMARY", "replacement_history": items}));
    rollout.message("user", "three").message("assistant", "did three");
    let daemon = start(&[&rollout]).await;
    let history = get(&daemon, json!({"thread_id": THREAD})).await;
    assert_eq!(history["base"], json!({"kind": "replacement", "seq": 8}));
    let now = texts(&daemon, json!({"thread_id": THREAD})).await;
    assert_eq!(now, ["one", "SUMMARY", "three", "did three"]);
    let before = texts(&daemon, json!({"thread_id": THREAD, "as_of": 7})).await;
    assert_eq!(before.len(), 7, "the history before the compaction is still there");
    roll_back(&mut rollout, 1);
    let daemon = start(&[&rollout]).await;
    assert_eq!(texts(&daemon, json!({"thread_id": THREAD})).await, ["one", "SUMMARY"]);
}

#[tokio::test]
async fn taking_back_a_turn_takes_back_the_compaction_in_it() {
    let mut rollout = two_turns();
    let items = [message("user", "one"), message("user", "SUMMARY")];
    rollout.line("compacted", &json!({"message": "SUMMARY", "replacement_history": items}));
    rollout.message("assistant", "went on with two");
    roll_back(&mut rollout, 1);
    rollout.message("user", "instead");
    let daemon = start(&[&rollout]).await;
    let history = texts(&daemon, json!({"thread_id": THREAD})).await;
    assert_eq!(history[1..], ["one", "did one", "instead"]);
}

#[tokio::test]
async fn an_old_compaction_keeps_requests_and_its_summary() {
    let mut rollout = two_turns();
    rollout.line("compacted", &json!({"message": "SUMMARY"}));
    rollout.message("user", "three");
    rollout.line("compacted", &json!({"message": "SECOND"}));
    let daemon = start(&[&rollout]).await;
    let history = get(&daemon, json!({"thread_id": THREAD})).await;
    assert_eq!(history["base"]["kind"], "summary");
    let texts: Vec<String> = history["items"].as_array().unwrap().iter().map(text).collect();
    assert_eq!(texts, ["one", "two", "three", "SECOND"]);
}

#[tokio::test]
async fn the_checkpoint_stands_in_for_an_encrypted_compaction() {
    let mut rollout = two_turns();
    let sealed = json!({"type": "compaction", "encrypted_content": "gAAA"});
    let items = [message("user", "two"), sealed.clone()];
    rollout.line("compacted", &json!({"message": "", "replacement_history": items}));
    let daemon = start(&[&rollout]).await;
    let history = get(&daemon, json!({"thread_id": THREAD})).await;
    assert_eq!(history["base"]["kind"], "opaque");
    assert_eq!(history["origins"][1]["stand_in"], true);
    assert!(text(&history["items"][1]).starts_with("[longhaul]"), "{history}");
    let as_is = get(&daemon, json!({"thread_id": THREAD, "opaque": "as_is"})).await;
    assert_eq!(as_is["items"][1], sealed);
}

#[tokio::test]
async fn pages_join_to_the_whole_and_a_fork_goes_on_from_its_base() {
    let base = two_turns();
    let mut fork = Rollout::forked(FORK, &base, 4);
    fork.message("user", "another way");
    let daemon = start(&[&base, &fork]).await;
    get(&daemon, json!({"thread_id": THREAD})).await;
    let whole = texts(&daemon, json!({"thread_id": FORK})).await;
    assert_eq!(whole[1..], ["one", "did one", "another way"]);
    let mut pages = Vec::new();
    let mut params = json!({"thread_id": FORK, "max_bytes": 1});
    loop {
        let page = get(&daemon, params.clone()).await;
        assert_eq!(page["items"].as_array().unwrap().len(), 1);
        pages.push(text(&page["items"][0]));
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        params["cursor"] = cursor.into();
    }
    assert_eq!(pages, whole);
}

#[tokio::test]
async fn aborted_and_incomplete_turns_stay_and_count_as_turns() {
    for (turns, expected) in [(0, 8), (1, 7), (2, 3)] {
        let mut rollout = two_turns();
        rollout.line("event_msg", &json!({"type": "turn_aborted", "reason": "interrupted"}));
        rollout.message("user", "three");
        roll_back(&mut rollout, turns);
        let daemon = start(&[&rollout]).await;
        let left = texts(&daemon, json!({"thread_id": THREAD})).await;
        assert_eq!(left.len(), expected, "{turns}: {left:?}");
    }
}

#[tokio::test]
async fn a_bare_turn_context_is_no_turn() {
    let mut rollout = two_turns();
    rollout.line("turn_context", &json!({"cwd": "/elsewhere", "model": "m"}));
    roll_back(&mut rollout, 1);
    let daemon = start(&[&rollout]).await;
    assert_eq!(texts(&daemon, json!({"thread_id": THREAD})).await[1..], ["one", "did one"]);
}

#[tokio::test]
async fn a_compaction_in_an_incomplete_turn_is_the_base() {
    let mut rollout = two_turns();
    rollout.message("user", "three");
    let items = [message("user", "three"), message("user", "SUMMARY")];
    rollout.line("compacted", &json!({"message": "SUMMARY", "replacement_history": items}));
    let daemon = start(&[&rollout]).await;
    let history = get(&daemon, json!({"thread_id": THREAD})).await;
    assert_eq!(history["base"], json!({"kind": "replacement", "seq": 9}));
    assert_eq!(texts(&daemon, json!({"thread_id": THREAD})).await, ["three", "SUMMARY"]);
}

/// Settings as a turn's line has them.
fn settings(approval: &str) -> Value {
    json!({"cwd": "/w", "approval_policy": approval, "model": "m"})
}

/// What would be put before the next turn of a thread that asks with `never`: the dimensions, and whether
/// everything is told for want of a reference.
async fn told(rollout: &Rollout) -> (Value, bool) {
    let daemon = start(&[rollout]).await;
    let mut client = daemon.connect().await;
    client.call("thread/sync", json!({"thread_id": THREAD})).await;
    let current = json!({"permissions": {"profile": "p", "approval_policy": "never"}});
    let params = json!({"thread_id": THREAD, "current": current});
    let result = client.call("context/diff", params).await["result"].take();
    (result["changed"].clone(), result["full"] == true)
}

#[tokio::test]
async fn what_a_rollback_takes_is_told_once_more_in_the_next_turn() {
    let mut rollout = Rollout::new(THREAD, Path::new("/w"));
    rollout.line("turn_context", &settings("on-request"));
    rollout.message("user", "one").message("assistant", "did one");
    rollout.message("developer", "<permissions instructions>never ask");
    rollout.line("turn_context", &settings("never"));
    rollout.message("user", "two").message("assistant", "did two");
    assert_eq!(told(&rollout).await, (json!([]), false), "it was told");
    roll_back(&mut rollout, 1);
    let daemon = start(&[&rollout]).await;
    assert_eq!(texts(&daemon, json!({"thread_id": THREAD})).await, ["one", "did one"]);
    assert_eq!(told(&rollout).await, (json!(["permissions"]), false));
    roll_back(&mut rollout, 9);
    assert!(told(&rollout).await.1, "no turn is left that told anything");
}

#[tokio::test]
async fn a_rolled_back_bundle_of_everything_leaves_no_reference() {
    let mut rollout = two_turns();
    let items = [message("user", "two"), message("user", "SUMMARY")];
    rollout.line("compacted", &json!({"message": "SUMMARY", "replacement_history": items}));
    // After a compaction settings and standing instructions come in one message.
    let parts = ["<permissions instructions>never ask", "Answer in French."];
    let parts = parts.map(|text| json!({"type": "input_text", "text": text}));
    let bundle = json!({"type": "message", "role": "developer", "content": parts});
    rollout.line("response_item", &bundle);
    rollout.line("turn_context", &settings("never"));
    rollout.message("user", "three").message("assistant", "did three");
    assert_eq!(told(&rollout).await, (json!([]), false));
    roll_back(&mut rollout, 1);
    let daemon = start(&[&rollout]).await;
    assert_eq!(texts(&daemon, json!({"thread_id": THREAD})).await, ["two", "SUMMARY"]);
    assert!(told(&rollout).await.1, "all of it is told again");
}

#[tokio::test]
async fn settings_seed_nothing_without_a_turn_and_join_theirs_with_or_without_an_id() {
    let mut bare = Rollout::new(THREAD, Path::new("/w"));
    bare.line("turn_context", &settings("never"));
    assert!(told(&bare).await.1, "a bare line of settings is no turn");
    for id in [json!({}), json!({"turn_id": "t1"})] {
        for ending in ["task_complete", "turn_aborted", "none"] {
            let with = |kind: &str| {
                let mut line = id.clone();
                line["type"] = kind.into();
                line
            };
            let mut rollout = Rollout::new(THREAD, Path::new("/w"));
            rollout.line("event_msg", &json!({"type": "task_started", "turn_id": "t1"}));
            rollout.line("turn_context", &settings("never"));
            rollout.message("user", "one");
            if ending != "none" {
                rollout.line("event_msg", &with(ending));
            }
            assert_eq!(told(&rollout).await, (json!([]), false), "{id} {ending}");
        }
    }
}

#[tokio::test]
async fn settings_go_with_a_compaction_and_come_with_the_next_turn() {
    let mut rollout = two_turns();
    rollout.line("turn_context", &settings("never"));
    rollout.message("user", "three");
    let items = [message("user", "three"), message("user", "SUMMARY")];
    rollout.line("compacted", &json!({"message": "SUMMARY", "replacement_history": items}));
    assert!(told(&rollout).await.1, "in a turn that is not complete, too");
    rollout.line("turn_context", &settings("never"));
    rollout.message("assistant", "went on with three");
    assert_eq!(told(&rollout).await, (json!([]), false));
}

#[tokio::test]
async fn an_old_compaction_brings_no_context_and_keeps_no_settings() {
    let mut rollout = two_turns();
    rollout.line("compacted", &json!({"message": "SUMMARY"}));
    rollout.line("turn_context", &settings("never"));
    rollout.message("user", "three");
    let daemon = start(&[&rollout]).await;
    let now = texts(&daemon, json!({"thread_id": THREAD})).await;
    assert_eq!(now, ["one", "two", "SUMMARY", "three"]);
    assert!(told(&rollout).await.1, "what the agent put before the model then is written nowhere");
}

#[tokio::test]
async fn after_a_second_compaction_the_thread_and_its_fork_begin_with_the_newest_base() {
    let mut rollout = two_turns();
    for summary in ["FIRST", "SECOND"] {
        let items = [message("user", "two"), message("user", summary)];
        rollout.line("compacted", &json!({"message": summary, "replacement_history": items}));
        rollout.message("user", &format!("after {summary}"));
    }
    let lines = usize::try_from(rollout.seq()).unwrap() + 1;
    let mut fork = Rollout::forked(FORK, &rollout, lines);
    fork.message("user", "another way");
    let daemon = start(&[&rollout, &fork]).await;
    let live = texts(&daemon, json!({"thread_id": THREAD})).await;
    assert_eq!(live, ["two", "SECOND", "after SECOND"]);
    let forked = texts(&daemon, json!({"thread_id": FORK})).await;
    assert_eq!(forked, ["two", "SECOND", "after SECOND", "another way"]);
}

#[tokio::test]
async fn what_no_model_sees_is_in_no_history() {
    let mut rollout = two_turns();
    let before = texts(&start(&[&rollout]).await, json!({"thread_id": THREAD})).await;
    rollout.line("response_item", &json!({"type": "ghost_snapshot", "ghost_commit": {"id": "a"}}));
    rollout.line("response_item", &json!({"type": "item_of_tomorrow", "x": 1}));
    rollout.line("event_msg", &json!({"type": "warning", "message": "long threads forget"}));
    let daemon = start(&[&rollout]).await;
    assert_eq!(texts(&daemon, json!({"thread_id": THREAD})).await, before);
}

#[tokio::test]
async fn a_history_as_of_before_a_request_ends_there_and_honours_rollbacks() {
    let mut rollout = two_turns();
    let before_two = 5;
    roll_back(&mut rollout, 1);
    rollout.message("user", "instead").message("assistant", "did it");
    let before_instead = rollout.seq() - 2;
    rollout.message("user", "four");
    let before_four = rollout.seq() - 1;
    let daemon = start(&[&rollout]).await;
    for (as_of, expected) in [
        (before_two, &["one", "did one"][..]),
        (before_instead, &["one", "did one"]),
        (before_four, &["one", "did one", "instead", "did it"]),
    ] {
        let left = texts(&daemon, json!({"thread_id": THREAD, "as_of": as_of})).await;
        let turns: Vec<&str> =
            left.iter().map(String::as_str).filter(|text| !text.starts_with('<')).collect();
        assert_eq!(turns, expected, "as of {as_of}");
    }
}
