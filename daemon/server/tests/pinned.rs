//! Behavior of Codex's local compaction that its own tests pin; the remote compaction is in `pinned_remote`.
//!
//! | pinned | here |
//! |---|---|
//! | manual: history and prompt, no tools; then requests, prefixed summary | [`manual_asks_with_the_history_and_the_prompt_and_no_tools`] |
//! | a custom prompt replaces the default | `templates::a_call_can_bring_its_own_texts_…` |
//! | an empty thread still sends one request | not so here: [`an_empty_thread_sends_no_request`], no request is paid for nothing |
//! | usage from the answer, then the local estimate | [`usage_is_the_providers_and_does_not_change_the_threads_numbers`] |
//! | started and completed share an id; `context_compacted` too | [`a_compactions_events_share_its_id`], [`an_agents_own_compaction_is_an_event_when_it_happens_and_not_afterwards`] |
//! | fires at the limit, several times in one task | [`the_limit_is_reached_again_in_the_same_turn`] |
//! | fires on the first turn after resume by recorded usage | [`recorded_usage_over_the_limit_counts_on_the_first_turn`] |
//! | a limit above the window is clamped | [`an_unreachable_limit_is_replaced_by_the_default`] |
//! | encrypted reasoning counts | `core::context::estimate`, `core::fold::meter` tests |
//! | a smaller model: the previous one compacts; not when equal or larger | [`before_a_smaller_model_the_previous_one_compacts`] |
//! | pre-turn leaves out the incoming message and the model switch; both come after | [`pre_turn_omits_the_unanswered_request_and_puts_it_after`], [`the_checkpoint_keeps_the_model_switch_too_of_a_thread_and_of_given_items`] |
//! | mid-turn: call and output are in the request; context, user, summary last | [`mid_turn_sends_call_and_output_and_ends_on_the_summary`] |
//! | overflow drops the oldest with its counterpart | `ladder::an_overflow_…`, `core::compaction::summary` tests |
//! | other errors: retried, then one error, history unchanged | `failures` (the history is unchanged in any case: we hold a copy of nothing) |
//! | two manual compactions keep all requests and the newest summary alone | [`two_compactions_keep_all_requests_and_the_newest_summary`] |
//! | an overlong message is cut in its middle | `core::compaction::summary` tests |
//! | empty parts, image-only messages, contextual messages | [`context_not_written_by_the_person_is_not_a_request`] |
//! | the rollout after holds `compacted` with the summary | `continuation` tests: we never write into the thread's own |
//! | hooks before and after | `longhaul hook` (the tests of the command line): ours never block |

use longhaul_protocol::compaction::{
    Cost, Model, Phase, Reason, RunParams, Should, ShouldParams, ShouldResult, Strategy, Trigger,
};
use longhaul_protocol::event::{EventKind, Subscribe, SubscribeParams};
use serde_json::{Value, json};

use crate::ladder::{REQUEST, SUMMARY, THREAD, daemon, ladder, on};
use crate::support::provider::{Answer, Provider};
use crate::support::rollout::Rollout;
use crate::support::{
    Client, Daemon, Event, field, message, of_items, of_thread, soon, text_at, text_of, texts,
};

/// A call with an output of `size` characters.
pub fn call_with_output(id: &str, size: usize) -> [Value; 2] {
    [
        json!({ "type": "function_call", "name": "exec", "call_id": id,
            "arguments": "{\"cmd\":\"cat src/fetch.rs\"}" }),
        json!({ "type": "function_call_output", "call_id": id, "output": "x".repeat(size) }),
    ]
}

/// The items of the last request to the provider.
pub fn sent(provider: &Provider) -> Vec<Value> {
    let (_, body) = provider.requests().pop().unwrap();
    field(&body, "input").as_array().unwrap().clone()
}

/// A short name of each item: the beginning of its text, or its type.
fn outlines(items: &[Value]) -> Vec<String> {
    let outline = |item: &Value| match item.pointer("/content/0/text") {
        Some(text) => text.as_str().unwrap().chars().take(24).collect(),
        None => text_at(item, "type").to_owned(),
    };
    items.iter().map(outline).collect()
}

/// Params of a compaction of these items with the strategy `summary`.
fn summary_of(items: &[Value]) -> RunParams {
    RunParams { strategy: Some(Strategy::Summary), ..of_items(items) }
}

async fn should(client: &mut Client, params: ShouldParams) -> ShouldResult {
    client.call::<Should>(params).await.unwrap()
}

#[tokio::test]
async fn manual_asks_with_the_history_and_the_prompt_and_no_tools() {
    let provider = Provider::start(vec![Answer::says(SUMMARY)]).await;
    let (_daemon, mut client) = daemon(&provider, "").await;
    let result = client.compact(on(Strategy::Summary)).await;
    let (_, body) = provider.requests()[0].clone();
    assert_eq!((body.get("tools"), body.get("tool_choice")), (None, None));
    let input = sent(&provider);
    assert_eq!(text_of(&input[0]), REQUEST);
    let prompt = input.last().unwrap();
    assert_eq!(text_at(prompt, "role"), "user");
    assert!(text_of(prompt).starts_with("Stop working on the task"));
    let history = texts(&result.history);
    assert_eq!(history.len(), 2, "the request and the summary: the agent's words are gone");
    assert!(history[1].starts_with("[HANDOFF_SUMMARY v1]") && history[1].ends_with(SUMMARY));
}

#[tokio::test]
async fn an_empty_thread_sends_no_request() {
    let provider = Provider::start(vec![Answer::says(SUMMARY)]).await;
    let (_daemon, mut client) = daemon(&provider, "").await;
    let result = client.compact(summary_of(&[message("user", "Do it.")])).await;
    assert_eq!(ladder(&result), ["summary failed nothing_to_summarize", "checkpoint used"]);
    assert!(provider.requests().is_empty());
}

#[tokio::test]
async fn usage_is_the_providers_and_does_not_change_the_threads_numbers() {
    let provider = Provider::start(vec![Answer::says(SUMMARY)]).await;
    let (_daemon, mut client) = daemon(&provider, "").await;
    let before = client.usage(THREAD).await;
    assert!(before.tokens.used > 0);
    let result = client.compact(on(Strategy::Summary)).await;
    assert_eq!(result.cost, Cost { requests: 1, tokens: 110 }, "as the provider says");
    assert_eq!(client.usage(THREAD).await, before);
    assert_eq!(client.thread(THREAD).await.compactions, 0);
    let rows = client.compactions().await;
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0], client.compaction(&result.compaction_id).await.summary);
    let row = &rows[0];
    assert_eq!((row.strategy_used, row.reason), (Strategy::Summary, Reason::UserRequested));
    assert_eq!((row.trigger, row.phase), (Trigger::Manual, Phase::Standalone));
    assert_eq!((row.thread_id.as_deref(), row.undone_at), (Some(THREAD), None));
    assert_eq!((row.cost, row.tokens), (result.cost, result.tokens));
    let model = client.status().await.model.unwrap();
    assert_eq!((model.requests_today, model.tokens_today), (1, 110));
}

#[tokio::test]
async fn a_compactions_events_share_its_id() {
    let provider = Provider::start(vec![Answer::says(&format!("{SUMMARY} ").repeat(12))]).await;
    let (daemon, mut client) = daemon(&provider, "").await;
    let hybrid =
        |items: &[Value]| RunParams { strategy: Some(Strategy::Hybrid), ..of_items(items) };
    let mut given = client.history(THREAD).await;
    let once = client.compact(hybrid(&given)).await;
    given.splice(0..0, once.history.into_bytes());
    let mut listener = daemon.connect().await;
    listener.call::<Subscribe>(SubscribeParams::default()).await.unwrap();
    let result = client.compact(hybrid(&given)).await;
    let mut events: Vec<Event> = Vec::new();
    while events.last().is_none_or(|event| event.kind != EventKind::ContextCompacted) {
        let event = soon("an event", listener.event()).await;
        if ![EventKind::ThreadUpdated, EventKind::IngestWarning].contains(&event.kind) {
            events.push(event);
        }
    }
    for event in &events {
        assert_eq!(text_at(&event.data, "compaction_id"), result.compaction_id, "{event:?}");
    }
    let kinds: Vec<EventKind> = events.iter().map(|event| event.kind).collect();
    assert_eq!(kinds[0], EventKind::CompactionStarted);
    let ends = [EventKind::CompactionCompleted, EventKind::ContextCompacted];
    assert_eq!(kinds[kinds.len() - 2..], ends);
    let of = |kind: EventKind| events.iter().filter(move |event| event.kind == kind);
    let progress: Vec<&Value> =
        of(EventKind::CompactionProgress).map(|event| &event.data).collect();
    let stages: Vec<&str> = progress.iter().map(|data| text_at(data, "stage")).collect();
    assert_eq!(stages[..2], ["reading", "asking"]);
    assert_eq!(stages.last(), Some(&"checking"));
    let percents: Vec<u64> =
        progress.iter().map(|data| field(data, "percent").as_u64().unwrap()).collect();
    assert!(percents.is_sorted() && percents.iter().all(|percent| *percent < 100), "{percents:?}");
    let warning = of(EventKind::CompactionWarning).next().unwrap();
    assert_eq!(text_at(&warning.data, "warning"), "accuracy", "it was summarized before");
    let completed = &of(EventKind::CompactionCompleted).next().unwrap().data;
    assert_eq!(*field(completed, "tokens.before"), result.tokens.before);
    assert_eq!(*field(completed, "tokens.after"), result.tokens.after);
}

#[tokio::test]
async fn an_agents_own_compaction_is_an_event_when_it_happens_and_not_afterwards() {
    let daemon = Daemon::start().await;
    let (mut client, mut listener) = (daemon.connect().await, daemon.connect().await);
    let kinds = [EventKind::ContextCompacted];
    let begun = listener.subscribe(&kinds).await;
    let mut rollout = Rollout::new(THREAD, daemon.home.path());
    let kept = [message("user", "Do it.")];
    rollout.message("user", "Do it.").message("assistant", "Done.").compacted(&kept);
    let path = rollout.write(daemon.home.path());
    client.sync_file(&path).await;
    rollout.message("user", "More.").message("assistant", "Done.").compacted(&kept);
    rollout.append(&path);
    client.sync(THREAD).await;
    let event = soon("the event", listener.event()).await;
    assert_eq!(event.kind, EventKind::ContextCompacted);
    let after = field(&event.data, "tokens.after").as_u64().unwrap();
    assert_eq!(event.data, json!({ "thread_id": THREAD, "tokens": { "after": after } }));
    let mut late = daemon.connect().await;
    let all = SubscribeParams { kinds: Some(kinds.to_vec()), since_seq: Some(begun.seq) };
    late.call::<Subscribe>(all).await.unwrap();
    let first = soon("the event", late.event()).await;
    assert_eq!(first.seq, event.seq, "what was in the file when it was found is history");
}

#[tokio::test]
async fn the_limit_is_reached_again_in_the_same_turn() {
    let provider = Provider::start(vec![Answer::says(SUMMARY)]).await;
    let (_daemon, mut client) = daemon(&provider, "").await;
    let mid_turn = |items: &[Value]| ShouldParams {
        items: Some(items.to_vec()),
        phase: Some(Phase::MidTurn),
        context_window: Some(10_000),
        ..Default::default()
    };
    let mut history = vec![message("user", "Make src/fetch.rs retry.")];
    for round in 0..3 {
        history.extend(call_with_output(&format!("c{round}"), 40_000));
        let full = should(&mut client, mid_turn(&history)).await;
        assert_eq!((full.compact, full.reason.as_str()), (true, "context_limit"));
        let params = RunParams { phase: Some(Phase::MidTurn), ..summary_of(&history) };
        history = client.compact(params).await.history.into_bytes();
        let small = should(&mut client, mid_turn(&history)).await;
        assert!(!small.compact && small.used < full.used, "round {round}: {small:?}");
    }
}

#[tokio::test]
async fn recorded_usage_over_the_limit_counts_on_the_first_turn() {
    let home = tempfile::tempdir().unwrap();
    let mut rollout = Rollout::new(THREAD, home.path());
    rollout.message("user", "Do it.").message("assistant", "Done.");
    rollout.token_count(95_500, 95_000);
    rollout.write(home.path());
    let (_daemon, mut client) = Daemon::synced(home, "", THREAD).await;
    let params = ShouldParams { thread_id: Some(THREAD.into()), ..Default::default() };
    let answer = should(&mut client, params).await;
    assert!(answer.compact && answer.used >= 95_000, "{answer:?}");
}

#[tokio::test]
async fn an_unreachable_limit_is_replaced_by_the_default() {
    let provider = Provider::start(vec![Answer::Hang]).await;
    let (_daemon, mut client) = daemon(&provider, "").await;
    let history = [message("user", &"x".repeat(3_600))];
    for (limit, expected) in [(2_000, true), (940, false), (0, false)] {
        let params = ShouldParams {
            items: Some(history.to_vec()),
            phase: Some(Phase::MidTurn),
            context_window: Some(1_000),
            auto_compact_limit: Some(limit),
            ..Default::default()
        };
        let answer = should(&mut client, params).await;
        assert_eq!(answer.compact, expected, "limit {limit}: {answer:?}");
    }
}

#[tokio::test]
async fn before_a_smaller_model_the_previous_one_compacts() {
    let provider = Provider::start(vec![Answer::says(SUMMARY)]).await;
    let (_daemon, mut client) = daemon(&provider, "").await;
    let mut history = vec![message("user", "Make src/fetch.rs retry.")];
    history.extend(call_with_output("c", 40_000));
    for (now, before, expected, asked) in [
        (10_000, 100_000, "model_downshift", "old"),
        (10_000, 10_000, "context_limit", "new"),
        (100_000, 100_000, "under_limit", "new"),
        (200_000, 100_000, "under_limit", "new"),
    ] {
        let params = ShouldParams {
            items: Some(history.clone()),
            phase: Some(Phase::PreTurn),
            model: Some("new".into()),
            context_window: Some(now),
            previous_model: Some("old".into()),
            previous_context_window: Some(before),
            ..Default::default()
        };
        let answer = should(&mut client, params).await;
        assert_eq!((answer.reason.as_str(), answer.model.as_deref()), (expected, Some(asked)));
    }
    let old =
        Model { name: "old".into(), provider: Some("p".into()), context_window: Some(100_000) };
    let params = RunParams {
        model: Some(old),
        reason: Some(Reason::ModelDownshift),
        trigger: Some(Trigger::Auto),
        phase: Some(Phase::PreTurn),
        ..summary_of(&history)
    };
    let result = client.compact(params).await;
    assert_eq!(text_at(&provider.requests()[0].1, "model"), "old", "the larger model is used");
    let summary = client.compaction(&result.compaction_id).await.summary;
    assert_eq!((summary.reason, summary.trigger), (Reason::ModelDownshift, Trigger::Auto));
    assert_eq!(summary.phase, Phase::PreTurn);
}

#[tokio::test]
async fn pre_turn_omits_the_unanswered_request_and_puts_it_after() {
    let provider = Provider::start(vec![Answer::says(SUMMARY)]).await;
    let (_daemon, mut client) = daemon(&provider, "").await;
    let mut history = vec![message("user", "Make src/fetch.rs retry.")];
    history.extend(call_with_output("c", 8_000));
    history.push(message("developer", "<model_switch>\nbe terse"));
    history.push(message("user", "Now document it."));
    let params = RunParams { phase: Some(Phase::PreTurn), ..summary_of(&history) };
    let result = client.compact(params).await;
    let input = Value::from(sent(&provider)).to_string();
    assert!(!input.contains("Now document it.") && !input.contains("model_switch"), "{input}");
    let history = texts(&result.history);
    assert_eq!(history[0], "Make src/fetch.rs retry.");
    assert!(history[1].starts_with("[HANDOFF_SUMMARY v1]"));
    assert_eq!(history[2..], ["<model_switch>\nbe terse", "Now document it."]);
}

#[tokio::test]
async fn the_checkpoint_keeps_the_model_switch_too_of_a_thread_and_of_given_items() {
    let home = tempfile::tempdir().unwrap();
    let mut rollout = Rollout::new(THREAD, home.path());
    rollout.message("user", "Make src/fetch.rs retry.");
    rollout.command("cargo test", 0, &"running\n".repeat(500));
    rollout.message("developer", "<model_switch>\nbe terse");
    rollout.message("user", "Now document it.");
    rollout.command("cargo doc", 0, "documenting\n");
    rollout.write(home.path());
    let (_daemon, mut client) = Daemon::synced(home, "", THREAD).await;
    let whole = client.history(THREAD).await;
    for subject in [of_thread(THREAD), of_items(whole)] {
        for (phase, fresh) in [(Phase::PreTurn, 0), (Phase::MidTurn, 1)] {
            let params = RunParams {
                phase: Some(phase),
                initial_context: Some(vec![message("developer", "<permissions instructions>new")]),
                ..subject.clone()
            };
            let result = client.compact(params).await;
            let texts = texts(&result.history);
            assert!(texts[0].contains("[SESSION_CHECKPOINT v1]"), "{texts:?}");
            assert_eq!(texts[1], "<model_switch>\nbe terse", "{phase:?}");
            assert_eq!(texts.len(), 3 + fresh, "{texts:?}");
            assert_eq!(*texts.last().unwrap(), "Now document it.");
            let kept = result.receipt.kept.iter().map(|entry| entry.kind.as_str());
            let kept: Vec<&str> = kept.collect();
            assert!(
                kept.ends_with(&["context", "user_message"]),
                "the switch and the request: {kept:?}"
            );
        }
    }
}

#[tokio::test]
async fn mid_turn_sends_call_and_output_and_ends_on_the_summary() {
    let provider = Provider::start(vec![Answer::says(SUMMARY)]).await;
    let (_daemon, mut client) = daemon(&provider, "").await;
    let mut history = vec![
        message("developer", "<permissions instructions>old"),
        message("user", "Make src/fetch.rs retry."),
    ];
    history.extend(call_with_output("c", 8_000));
    let fresh = [
        message("developer", "<permissions instructions>new"),
        message("user", "<environment_context>\nnew"),
    ];
    let params = RunParams {
        phase: Some(Phase::MidTurn),
        initial_context: Some(fresh.to_vec()),
        ..summary_of(&history)
    };
    let result = client.compact(params).await;
    let input = outlines(&sent(&provider));
    assert_eq!(input[..3], ["Make src/fetch.rs retry.", "function_call", "function_call_output"]);
    let history = texts(&result.history);
    assert_eq!(
        history[..3],
        ["<permissions instructions>new", "<environment_context>\nnew", "Make src/fetch.rs retry."]
    );
    assert!(history[3].starts_with("[HANDOFF_SUMMARY v1]") && history.len() == 4, "{history:?}");
}

#[tokio::test]
async fn two_compactions_keep_all_requests_and_the_newest_summary() {
    let second = format!("{SUMMARY} And it is documented now.");
    let provider = Provider::start(vec![Answer::says(SUMMARY), Answer::says(&second)]).await;
    let (_daemon, mut client) = daemon(&provider, "").await;
    let mut history = vec![message("user", "Make src/fetch.rs retry.")];
    history.extend(call_with_output("a", 8_000));
    let mut history = client.compact(summary_of(&history)).await.history.into_bytes();
    history.push(message("user", "Now document it."));
    history.extend(call_with_output("b", 8_000));
    let result = client.compact(summary_of(&history)).await;
    assert!(Value::from(sent(&provider)).to_string().contains(SUMMARY), "it is merged, not lost");
    let history = texts(&result.history);
    assert_eq!(history[..2], ["Make src/fetch.rs retry.", "Now document it."]);
    assert!(history[2].ends_with(&second) && history.len() == 3, "{history:?}");
}

#[tokio::test]
async fn context_not_written_by_the_person_is_not_a_request() {
    let provider = Provider::start(vec![Answer::says(SUMMARY)]).await;
    let (_daemon, mut client) = daemon(&provider, "").await;
    let image = json!({ "type": "message", "role": "user", "content": [
        { "type": "input_image", "image_url": "data:image/png;base64,AAAA" }] });
    let parts = json!({ "type": "message", "role": "user", "content": [
        { "type": "input_text", "text": "" }, { "type": "input_text", "text": "Make src/fetch.rs retry." }] });
    let mut history = vec![
        message("user", "# AGENTS.md instructions for /w\n<INSTRUCTIONS>x</INSTRUCTIONS>"),
        message("user", "<environment_context>\n</environment_context>"),
        message("user", "<turn_aborted>\n</turn_aborted>"),
        message("user", ""),
        image.clone(),
        parts.clone(),
    ];
    history.extend(call_with_output("c", 8_000));
    let history = client.compact(summary_of(&history)).await.history;
    assert_eq!(history.len(), 3, "the image, the words, the summary: {history:?}");
    let content = |item: &Value| field(item, "content").clone();
    assert_eq!(content(&history[0]), content(&image), "an image with no words is kept as it is");
    assert_eq!(content(&history[1]), content(&parts));
}
