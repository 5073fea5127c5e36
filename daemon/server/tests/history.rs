//! `history/get` for transcripts with compactions, rollbacks and forks: the behavior pinned by Codex's own tests, or the
//! right behavior where Codex is wrong.

use std::collections::BTreeSet;
use std::path::Path;

use longhaul_protocol::checkpoint::{View, ViewParams};
use longhaul_protocol::context::{Diff, DiffParams, Permissions, Settings};
use longhaul_protocol::daemon::{NoParams, Status};
use longhaul_protocol::history::{
    Base, BaseKind, HistoryGet, HistoryGetParams, HistoryGetResult, Opaque,
};
use longhaul_protocol::limit::Limits;
use longhaul_protocol::thread;
use serde_json::{Value, json};

use crate::support::rollout::Rollout;
use crate::support::{Daemon, message, of_thread, text_of};

const THREAD: &str = "019e0000-0000-7000-8000-000000000001";
const FORK: &str = "019e0000-0000-7000-8000-000000000002";

/// No setting changed.
const NOTHING: [&str; 0] = [];

async fn start(rollouts: &[&Rollout]) -> Daemon {
    let home = tempfile::tempdir().unwrap();
    for rollout in rollouts {
        rollout.write(home.path());
    }
    Daemon::over(home, "").await
}

fn of(thread_id: &str) -> HistoryGetParams {
    HistoryGetParams { thread_id: thread_id.into(), ..Default::default() }
}

async fn get(daemon: &Daemon, params: HistoryGetParams) -> HistoryGetResult {
    let mut client = daemon.connect().await;
    client.sync(&params.thread_id).await;
    client.call::<HistoryGet>(params).await.unwrap()
}

fn items(history: &HistoryGetResult) -> Vec<Value> {
    history.items.iter().map(|item| serde_json::from_str(item.get()).unwrap()).collect()
}

async fn texts(daemon: &Daemon, params: HistoryGetParams) -> Vec<String> {
    items(&get(daemon, params).await).iter().map(|item| text_of(item).to_owned()).collect()
}

/// The texts of the thread's history when a new daemon reads `rollout`.
async fn texts_of(rollout: &Rollout) -> Vec<String> {
    texts(&start(&[rollout]).await, of(THREAD)).await
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

#[tokio::test]
async fn a_rollback_removes_its_turns_and_the_context_above_them() {
    let env = "<environment_context>first</environment_context>";
    for (turns, expected) in [(0, 7), (1, 3), (2, 1), (9, 1)] {
        let mut rollout = two_turns();
        rollout.rolled_back(turns);
        let left = texts_of(&rollout).await;
        assert_eq!((left.len(), left[0].as_str()), (expected, env), "{turns}: {left:?}");
    }
}

#[tokio::test]
async fn a_message_from_another_agent_begins_a_turn_and_one_of_the_old_style_does_not() {
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
    client.sync(THREAD).await;
    let view = ViewParams { thread_id: THREAD.into(), ..Default::default() };
    let view = client.call::<View>(view).await.unwrap().text;
    assert!(view.contains("Read the lexer."), "{view}");
    rollout.rolled_back(1);
    assert_eq!(texts_of(&rollout).await, ["one", "did one"]);
}

#[tokio::test]
async fn a_compactions_replacement_is_the_base_and_a_rollback_after_it_keeps_the_summary() {
    let mut rollout = two_turns();
    let items = [message("user", "one"), message("user", "SUMMARY")];
    rollout.compacted(&items);
    rollout.message("user", "three").message("assistant", "did three");
    let daemon = start(&[&rollout]).await;
    let history = get(&daemon, of(THREAD)).await;
    assert_eq!(history.base, Base { kind: BaseKind::Replacement, seq: 8 });
    let now = texts(&daemon, of(THREAD)).await;
    assert_eq!(now, ["one", "SUMMARY", "three", "did three"]);
    let before = texts(&daemon, HistoryGetParams { as_of: Some(7), ..of(THREAD) }).await;
    assert_eq!(before.len(), 7, "the history before the compaction is still there");
    rollout.rolled_back(1);
    assert_eq!(texts_of(&rollout).await, ["one", "SUMMARY"]);
}

#[tokio::test]
async fn rolling_back_a_turn_rolls_back_the_compaction_in_it() {
    let mut rollout = two_turns();
    let items = [message("user", "one"), message("user", "SUMMARY")];
    rollout.compacted(&items);
    rollout.message("assistant", "went on with two");
    rollout.rolled_back(1);
    rollout.message("user", "instead");
    let history = texts_of(&rollout).await;
    assert_eq!(history[1..], ["one", "did one", "instead"]);
}

#[tokio::test]
async fn an_old_compaction_keeps_requests_and_its_summary() {
    let mut rollout = two_turns();
    rollout.line("compacted", &json!({"message": "SUMMARY"}));
    rollout.message("user", "three");
    rollout.line("compacted", &json!({"message": "SECOND"}));
    let daemon = start(&[&rollout]).await;
    let history = get(&daemon, of(THREAD)).await;
    assert_eq!(history.base.kind, BaseKind::Summary);
    let items = items(&history);
    let texts: Vec<&str> = items.iter().map(text_of).collect();
    assert_eq!(texts, ["one", "two", "three", "SECOND"]);
}

#[tokio::test]
async fn the_checkpoint_replaces_an_encrypted_compaction() {
    let mut rollout = two_turns();
    let sealed = json!({"type": "compaction", "encrypted_content": "gAAA"});
    let kept = [message("user", "two"), sealed.clone()];
    rollout.compacted(&kept);
    let daemon = start(&[&rollout]).await;
    let history = get(&daemon, of(THREAD)).await;
    assert_eq!(history.base.kind, BaseKind::Opaque);
    let stand_ins: Vec<bool> = history.origins.iter().map(|origin| origin.stand_in).collect();
    assert_eq!(stand_ins, [false, true]);
    assert!(text_of(&items(&history)[1]).starts_with("[longhaul]"), "{history:?}");
    let as_is = get(&daemon, HistoryGetParams { opaque: Some(Opaque::AsIs), ..of(THREAD) }).await;
    assert_eq!(items(&as_is)[1], sealed);
}

#[tokio::test]
async fn pages_join_to_the_whole_history_and_a_fork_continues_its_base() {
    let base = two_turns();
    let mut fork = Rollout::forked(FORK, &base, 4);
    fork.message("user", "another way");
    let daemon = start(&[&base, &fork]).await;
    get(&daemon, of(THREAD)).await;
    let whole = texts(&daemon, of(FORK)).await;
    assert_eq!(whole[1..], ["one", "did one", "another way"]);
    let mut pages = Vec::new();
    let mut params = HistoryGetParams { max_bytes: Some(1), ..of(FORK) };
    loop {
        let page = get(&daemon, params.clone()).await;
        let [item] = &items(&page)[..] else { panic!("one item a page: {page:?}") };
        pages.push(text_of(item).to_owned());
        let Some(cursor) = page.next_cursor else { break };
        params.cursor = Some(cursor);
    }
    assert_eq!(pages, whole);
}

#[tokio::test]
async fn a_page_is_never_larger_than_initialize_says() {
    let mut rollout = Rollout::new(THREAD, Path::new("/w"));
    for _ in 0..12 {
        rollout.message("user", &"word ".repeat(200_000));
    }
    let daemon = start(&[&rollout]).await;
    let page = get(&daemon, HistoryGetParams { max_bytes: Some(u64::MAX), ..of(THREAD) }).await;
    let bytes: usize = page.items.iter().map(|item| item.get().len()).sum();
    assert!(bytes as u64 <= Limits::OURS.expand_bytes_max, "{bytes}");
    assert!(page.items.len() > 1 && page.next_cursor.is_some());
}

#[tokio::test]
async fn aborted_and_incomplete_turns_stay_and_count_as_turns() {
    for (turns, expected) in [(0, 8), (1, 7), (2, 3)] {
        let mut rollout = two_turns();
        rollout.line("event_msg", &json!({"type": "turn_aborted", "reason": "interrupted"}));
        rollout.message("user", "three");
        rollout.rolled_back(turns);
        let left = texts_of(&rollout).await;
        assert_eq!(left.len(), expected, "{turns}: {left:?}");
    }
}

#[tokio::test]
async fn a_bare_turn_context_is_not_a_turn() {
    let mut rollout = two_turns();
    rollout.line("turn_context", &json!({"cwd": "/elsewhere", "model": "m"}));
    rollout.rolled_back(1);
    assert_eq!(texts_of(&rollout).await[1..], ["one", "did one"]);
}

#[tokio::test]
async fn a_compaction_in_an_incomplete_turn_is_the_base() {
    let mut rollout = two_turns();
    rollout.message("user", "three");
    let items = [message("user", "three"), message("user", "SUMMARY")];
    rollout.compacted(&items);
    let daemon = start(&[&rollout]).await;
    let history = get(&daemon, of(THREAD)).await;
    assert_eq!(history.base, Base { kind: BaseKind::Replacement, seq: 9 });
    assert_eq!(texts(&daemon, of(THREAD)).await, ["three", "SUMMARY"]);
}

/// The settings in a turn's line.
fn settings(approval: &str) -> Value {
    json!({"cwd": "/w", "approval_policy": approval, "model": "m"})
}

/// The settings to send before the next turn of a thread with the approval policy `never`: the changed ones, or
/// `everything` without a reference.
async fn repeated(rollout: &Rollout) -> Vec<String> {
    let daemon = start(&[rollout]).await;
    let mut client = daemon.connect().await;
    client.sync(THREAD).await;
    let permissions =
        Permissions { profile: "p".into(), approval_policy: "never".into(), ..Default::default() };
    let current = Settings { permissions: Some(permissions), ..Default::default() };
    let params = DiffParams { thread_id: Some(THREAD.into()), current, ..Default::default() };
    let result = client.call::<Diff>(params).await.unwrap();
    if result.full { vec!["everything".to_owned()] } else { result.changed }
}

#[tokio::test]
async fn settings_that_a_rollback_removes_are_repeated_in_the_next_turn() {
    let mut rollout = Rollout::new(THREAD, Path::new("/w"));
    rollout.line("turn_context", &settings("on-request"));
    rollout.message("user", "one").message("assistant", "did one");
    rollout.message("developer", "<permissions instructions>never ask");
    rollout.line("turn_context", &settings("never"));
    rollout.message("user", "two").message("assistant", "did two");
    assert_eq!(repeated(&rollout).await, NOTHING, "nothing to repeat");
    rollout.rolled_back(1);
    assert_eq!(texts_of(&rollout).await, ["one", "did one"]);
    assert_eq!(repeated(&rollout).await, ["permissions"]);
    rollout.rolled_back(9);
    assert_eq!(repeated(&rollout).await, ["everything"], "no turn with settings is left");
}

#[tokio::test]
async fn a_rolled_back_bundle_of_everything_leaves_no_reference() {
    let mut rollout = two_turns();
    let items = [message("user", "two"), message("user", "SUMMARY")];
    rollout.compacted(&items);
    // After a compaction, settings and instructions come in one message.
    let parts = ["<permissions instructions>never ask", "Answer in French."];
    let parts = parts.map(|text| json!({"type": "input_text", "text": text}));
    let bundle = json!({"type": "message", "role": "developer", "content": parts});
    rollout.line("response_item", &bundle);
    rollout.line("turn_context", &settings("never"));
    rollout.message("user", "three").message("assistant", "did three");
    assert_eq!(repeated(&rollout).await, NOTHING);
    rollout.rolled_back(1);
    assert_eq!(texts_of(&rollout).await, ["two", "SUMMARY"]);
    assert_eq!(repeated(&rollout).await, ["everything"], "all of it again");
}

#[tokio::test]
async fn settings_count_within_a_turn_only_with_or_without_an_id() {
    let mut bare = Rollout::new(THREAD, Path::new("/w"));
    bare.line("turn_context", &settings("never"));
    assert_eq!(repeated(&bare).await, ["everything"], "a bare line of settings is no turn");
    for id in [None, Some("t1")] {
        for ending in [Some("task_complete"), Some("turn_aborted"), None] {
            let mut rollout = Rollout::new(THREAD, Path::new("/w"));
            rollout.line("event_msg", &json!({"type": "task_started", "turn_id": "t1"}));
            rollout.line("turn_context", &settings("never"));
            rollout.message("user", "one");
            match (ending, id) {
                (Some(kind), Some(id)) => {
                    rollout.line("event_msg", &json!({"type": kind, "turn_id": id}));
                }
                (Some(kind), None) => {
                    rollout.line("event_msg", &json!({"type": kind}));
                }
                (None, _) => {}
            }
            assert_eq!(repeated(&rollout).await, NOTHING, "{id:?} {ending:?}");
        }
    }
}

#[tokio::test]
async fn settings_are_lost_with_a_compaction_and_return_with_the_next_turn() {
    let mut rollout = two_turns();
    rollout.line("turn_context", &settings("never"));
    rollout.message("user", "three");
    let items = [message("user", "three"), message("user", "SUMMARY")];
    rollout.compacted(&items);
    assert_eq!(repeated(&rollout).await, ["everything"], "in a turn that is not complete, too");
    rollout.line("turn_context", &settings("never"));
    rollout.message("assistant", "went on with three");
    assert_eq!(repeated(&rollout).await, NOTHING);
}

#[tokio::test]
async fn an_old_compaction_brings_no_context_and_keeps_no_settings() {
    let mut rollout = two_turns();
    rollout.line("compacted", &json!({"message": "SUMMARY"}));
    rollout.line("turn_context", &settings("never"));
    rollout.message("user", "three");
    let now = texts_of(&rollout).await;
    assert_eq!(now, ["one", "two", "SUMMARY", "three"]);
    assert_eq!(
        repeated(&rollout).await,
        ["everything"],
        "what the agent put before the model then is written nowhere"
    );
}

#[tokio::test]
async fn after_a_second_compaction_the_thread_and_its_fork_begin_with_the_newest_base() {
    let mut rollout = two_turns();
    for summary in ["FIRST", "SECOND"] {
        let items = [message("user", "two"), message("user", summary)];
        rollout.compacted(&items);
        rollout.message("user", &format!("after {summary}"));
    }
    let lines = usize::try_from(rollout.seq()).unwrap() + 1;
    let mut fork = Rollout::forked(FORK, &rollout, lines);
    fork.message("user", "another way");
    let daemon = start(&[&rollout, &fork]).await;
    let live = texts(&daemon, of(THREAD)).await;
    assert_eq!(live, ["two", "SECOND", "after SECOND"]);
    let forked = texts(&daemon, of(FORK)).await;
    assert_eq!(forked, ["two", "SECOND", "after SECOND", "another way"]);
}

#[tokio::test]
async fn lines_that_no_model_sees_are_in_no_history() {
    let mut rollout = two_turns();
    let before = texts_of(&rollout).await;
    rollout.line("response_item", &json!({"type": "ghost_snapshot", "ghost_commit": {"id": "a"}}));
    rollout.line("response_item", &json!({"type": "item_of_tomorrow", "x": 1}));
    rollout.line("event_msg", &json!({"type": "warning", "message": "long threads forget"}));
    assert_eq!(texts_of(&rollout).await, before);
}

#[tokio::test]
async fn a_history_as_of_before_a_request_ends_there_and_honors_rollbacks() {
    let mut rollout = two_turns();
    let before_two = 5;
    rollout.rolled_back(1);
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
        let left = texts(&daemon, HistoryGetParams { as_of: Some(as_of), ..of(THREAD) }).await;
        let turns: Vec<&str> =
            left.iter().map(String::as_str).filter(|text| !text.starts_with('<')).collect();
        assert_eq!(turns, expected, "as of {as_of}");
    }
}

/// The result of a program killed before the end of a line, or of two programs writing to the same file.
#[tokio::test]
async fn several_objects_on_a_line_are_read_and_counted_consistently() {
    let message_item = |text: &str| {
        let payload = message("assistant", text);
        json!({ "timestamp": "2026-03-02T09:15:30.000Z", "type": "response_item", "payload": payload })
    };
    let (first, second) = (message_item("first").to_string(), message_item("second").to_string());
    let torn = &second[..second.len() - 9];
    let both: &[&str] = &["first", "second"];
    for (line, malformed, said_on_it) in [
        (first.clone(), 0, &both[..1]),
        (format!("{first}{second}"), 1, both),
        (format!("{first} {second}"), 1, both),
        (format!("{first}\r{second}"), 1, both),
        (format!("{first}{torn}"), 1, &both[..1]),
        (format!("{first},{second}"), 1, &both[..1]),
        (format!("{torn}{second}"), 1, &[]),
    ] {
        let home = tempfile::tempdir().unwrap();
        let path = two_turns().write(home.path());
        let text = std::fs::read_to_string(&path).unwrap();
        let last = message_item("the end").to_string();
        std::fs::write(&path, format!("{text}{line}\n{last}\n")).unwrap();
        let daemon = Daemon::over(home, "").await;
        let history = get(&daemon, of(THREAD)).await;
        let shown: Vec<Value> = items(&history);
        let shown: Vec<&str> = shown.iter().skip(7).map(text_of).collect();
        assert_eq!(shown, [said_on_it, &["the end"]].concat(), "{line}");

        let mut client = daemon.connect().await;
        let params = thread::ThreadGetParams { thread_id: THREAD.into() };
        let thread = client.call::<thread::ThreadGet>(params).await.unwrap().thread;
        assert_eq!((thread.malformed, thread.lines), (malformed, 10), "{line}");
        let ingest = client.call::<Status>(NoParams {}).await.unwrap().ingest;
        assert_eq!((ingest.malformed, ingest.lines), (malformed, 10), "{line}");
        // Several objects on one line are one item in every count, with one handle.
        let handles: BTreeSet<_> = history.origins.iter().map(|origin| &origin.handle).collect();
        let totals = client.compact(of_thread(THREAD)).await.receipt.totals;
        let counted = totals.kept.items + totals.shortened.items + totals.dropped.items;
        assert_eq!((thread.items, counted), (handles.len() as u64, handles.len() as u64), "{line}");
    }
}
