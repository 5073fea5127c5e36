//! Every failure of a model ends in a valid compaction within the deadline, without losing anything.
//!
//! # Table
//! Each was reported by people whose thread was stuck. A scripted provider plays it against a whole daemon, on the rung
//! `summary`, on `remote` in its streamed and its unary form, or on all of them.
//!
//! | failure | test | reason of the rung |
//! |---|---|---|
//! | overflow | `a_failure_of_any_kind_on_…`, `ladder::an_overflow_…` (sends less, a few times at most) | `context_overflow` |
//! | zero, two compaction items, an empty one | [`an_answer_without_exactly_one_compaction_item_is_unreadable`] | `unreadable: expected one …` |
//! | stream cut at each event | [`a_stream_cut_after_any_event_or_inside_one_is_a_failure`] | `stream_cut` |
//! | 429, with and without `Retry-After`; quota | `a_failure_of_any_kind_on_…` | `rate_limited`, `quota_exceeded` |
//! | 500, 404, no HTTP at all | `a_failure_of_any_kind_on_…` | `unavailable`, `not_found`, `stream_cut` |
//! | hang before, and in the middle of an answer | `a_failure_of_any_kind_on_…`, [`a_hanging_provider_is_abandoned_in_time`] | `timeout` |
//! | blank, refusing, larger than the input, wrong role | [`an_answer_that_is_not_a_summary_is_rejected_and_not_stored`] | `blank_summary`, `refused_summary`, `inflated_summary`; about something else: taken, with the warning `doubtful_summary` |
//! | truncated JSON, an event that is none | `a_failure_of_any_kind_on_…` | `unreadable` |
//! | key missing | [`without_a_key_no_request_is_sent`] | `unauthorized` |
//! | nothing listens | [`without_a_key_no_request_is_sent`] | `unreachable` |
//!
//! [`assert_holds`] checks all of them for *valid, in time, nothing lost*. Here the provider uses the Responses format; the
//! same failures in Chat Completions and Anthropic Messages, and of a program on its standard output, are in `wires`.

use longhaul_protocol::compaction::{RunParams, RunResult, Strategy};
use serde_json::json;

use crate::ladder::{REQUEST, SUMMARY, THREAD, auto, daemon, ladder, on};
use crate::support::provider::{Answer, Provider};
use crate::support::{Client, Daemon, eventually, message};

/// The deadline of a compaction here, in milliseconds.
pub const DEADLINE_MS: u64 = 1_500;

/// The deadline with a margin for a busy machine. A hanging provider, or retries that ignore the deadline, take longer.
const LATE_MS: u64 = 2 * DEADLINE_MS;

/// Asserts that the compaction contains the request, is smaller and in time, and that every item of the history is kept or
/// reachable.
pub async fn assert_holds(client: &mut Client, result: &RunResult, what: &str) {
    let history = &result.history;
    let has_text = |text: &str| history.iter().any(|item| item.to_string().contains(text));
    assert!(history.contains(&message("user", REQUEST)), "{what}: {history:?}");
    assert!(has_text("[SESSION_CHECKPOINT v1]"), "{what}");
    let calls = history.iter().filter(|item| item.get("call_id").is_some()).count();
    assert_eq!(calls, 0, "{what}: no half of a pair");
    assert!(result.tokens.after < result.tokens.before, "{what}: {:?}", result.tokens);
    let duration_ms: u64 = result.ladder.iter().map(|rung| rung.duration_ms).sum();
    assert!(duration_ms <= LATE_MS, "{what}: {duration_ms} ms");
    let undone = client.undo(&result.compaction_id).await;
    let whole = client.history(THREAD).await;
    assert!(undone.complete, "{what}");
    assert_eq!(undone.history.into_bytes(), whole, "{what}: the old history is back, item by item");
    let totals = &result.receipt.totals;
    let items = totals.kept.items + totals.shortened.items + totals.dropped.items;
    assert_eq!(items, whole.len() as u64, "{what}: all accounted for");
}

/// A compaction that must be there before the deadline.
pub fn in_time(params: RunParams) -> RunParams {
    RunParams { deadline_ms: Some(DEADLINE_MS), ..params }
}

/// Compacts with `strategy` while the provider answers `answer`; the first rung must fail with `reason`.
async fn fails(
    provider: &Provider,
    client: &mut Client,
    case: (Strategy, Answer, &str),
) -> RunResult {
    let (strategy, answer, reason) = case;
    provider.answers(vec![answer]);
    let asked = provider.requests().len();
    let result = client.compact(in_time(on(strategy))).await;
    let ladder = ladder(&result);
    let expected = format!("{strategy} failed {reason}");
    assert!(ladder[0].starts_with(&expected), "{expected}: {ladder:?}");
    assert_eq!(ladder.last().unwrap(), "checkpoint used", "{expected}");
    assert!(provider.requests().len() > asked, "{expected}: it was asked");
    assert_holds(client, &result, &expected).await;
    result
}

fn status(line: &'static str, code: &str) -> Answer {
    Answer::Status(line, json!({ "error": { "code": code, "message": "no" } }))
}

fn raw(body: &str) -> Answer {
    Answer::Raw(format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n{body}"))
}

/// A daemon whose provider compacts histories itself in `form`, and the rung that is tried first.
async fn rig(form: &str) -> (Provider, Daemon, Client, Strategy) {
    let provider = Provider::start(vec![Answer::Hang]).await;
    let more = format!("remote_compaction = \"{form}\"");
    let (daemon, client) = daemon(&provider, &more).await;
    (provider, daemon, client, if form == "no" { Strategy::Summary } else { Strategy::Remote })
}

async fn a_failure_of_any_kind(form: &str) {
    let later = "HTTP/1.1 429 Too Many Requests\r\nretry-after: 60\r\ncontent-length: 0\r\n\r\n";
    let (provider, _daemon, mut client, strategy) = rig(form).await;
    for (answer, reason) in [
        (status("401 Unauthorized", "invalid_api_key"), "unauthorized"),
        (status("429 Too Many Requests", "rate_limit_exceeded"), "rate_limited"),
        (Answer::Raw(later.to_owned()), "rate_limited"),
        (status("429 Too Many Requests", "insufficient_quota"), "quota_exceeded"),
        (status("404 Not Found", "model_not_found"), "not_found"),
        (status("500 Oops", "server_error"), "unavailable"),
        (Answer::overflow(), "context_overflow"),
        (raw("data: {\"ty\n\n"), "unreadable"),
        (Answer::Raw("no HTTP at all".to_owned()), "stream_cut"),
    ] {
        fails(&provider, &mut client, (strategy, answer, reason)).await;
    }
}

#[tokio::test]
async fn a_failure_of_any_kind_on_the_summary() {
    a_failure_of_any_kind("no").await;
}

#[tokio::test]
async fn a_failure_of_any_kind_on_the_streamed_remote_compaction() {
    a_failure_of_any_kind("streamed").await;
}

#[tokio::test]
async fn a_failure_of_any_kind_on_the_unary_remote_compaction() {
    a_failure_of_any_kind("unary").await;
}

#[tokio::test]
async fn a_hanging_provider_is_abandoned_in_time() {
    for form in ["no", "streamed", "unary"] {
        let (provider, _daemon, mut client, strategy) = rig(form).await;
        let result = fails(&provider, &mut client, (strategy, Answer::Hang, "timeout")).await;
        assert!(result.ladder[0].duration_ms >= 100, "{:?}", result.ladder);
        let middle = Answer::Stall(vec![
            json!({ "type": "response.created", "response": { "id": "r" } }),
            json!({ "type": "response.output_text.delta", "delta": "The fetcher" }),
        ]);
        fails(&provider, &mut client, (strategy, middle, "timeout")).await;
        eventually("the connections are closed", || provider.hanging() == 0).await;
    }
}

#[tokio::test]
async fn a_stream_cut_after_any_event_or_inside_one_is_a_failure() {
    let words = message("assistant", SUMMARY);
    let opaque = json!({ "type": "compaction", "encrypted_content": "opaque-words" });
    for (form, item) in [("no", words), ("streamed", opaque)] {
        let events = vec![
            json!({ "type": "response.created", "response": { "id": "r" } }),
            json!({ "type": "response.in_progress", "response": { "id": "r" } }),
            json!({ "type": "response.output_item.added", "item": item }),
            json!({ "type": "response.output_text.delta", "delta": SUMMARY }),
            json!({ "type": "response.output_item.done", "item": item }),
            json!({ "type": "response.completed", "response": {} }),
        ];
        let (provider, _daemon, mut client, strategy) = rig(form).await;
        for whole in 0..events.len() {
            let cut = Answer::Events(events[..whole].to_vec());
            fails(&provider, &mut client, (strategy, cut, "stream_cut")).await;
        }
        let text: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        let inside = raw(&text[..text.len() - 20]);
        fails(&provider, &mut client, (strategy, inside, "stream_cut")).await;
        provider.answers(vec![Answer::Events(events)]);
        let result = client.compact(on(strategy)).await;
        assert_eq!(ladder(&result), [format!("{strategy} used")], "the whole one is taken");
    }
}

#[tokio::test]
async fn an_answer_without_exactly_one_compaction_item_is_unreadable() {
    let opaque = |words: &str| json!({ "type": "compaction", "encrypted_content": words });
    for form in ["streamed", "unary"] {
        let (provider, _daemon, mut client, _) = rig(form).await;
        for (items, reason) in [
            (vec![], "unreadable: expected one compaction item, got 0 among 0"),
            (
                vec![message("assistant", SUMMARY)],
                "unreadable: expected one compaction item, got 0 among 1",
            ),
            (vec![opaque("a"), opaque("b")], "unreadable: expected one compaction item, got 2"),
            (vec![opaque("")], "unreadable: the compaction item holds nothing"),
        ] {
            let answer = match form {
                "streamed" => Answer::items(&items),
                _ => Answer::Status("200 OK", json!({ "output": items })),
            };
            provider.answers(vec![answer, status("401 Unauthorized", "invalid_api_key")]);
            let result = client.compact(in_time(auto())).await;
            let ladder = ladder(&result);
            assert!(ladder[0].starts_with(&format!("remote failed {reason}")), "{form} {ladder:?}");
            assert_eq!(ladder[1..], ["hybrid failed unauthorized", "checkpoint used"]);
            assert_holds(&mut client, &result, reason).await;
        }
        let nothing = match form {
            "streamed" => Answer::items(&[]),
            _ => Answer::Status("200 OK", json!({ "output": [] })),
        };
        provider.answers(vec![nothing, Answer::says(SUMMARY)]);
        let result = client.compact(auto()).await;
        assert_eq!(
            ladder(&result).last().unwrap(),
            "hybrid used",
            "{form}: the next rung is taken"
        );
    }
}

#[tokio::test]
async fn an_answer_that_is_not_a_summary_is_rejected_and_not_stored() {
    let long = "src/fetch.rs retry ".repeat(2_000);
    let role = Answer::items(&[message("user", SUMMARY)]);
    let call = Answer::items(&[json!({ "type": "function_call", "name": "exec", "call_id": "c",
        "arguments": "{}" })]);
    let provider = Provider::start(vec![Answer::Hang]).await;
    let (_daemon, mut client) = daemon(&provider, "").await;
    for strategy in [Strategy::Summary, Strategy::Hybrid] {
        for (answer, reason) in [
            (Answer::says(""), "blank_summary"),
            (Answer::says("  \n \n"), "blank_summary"),
            (Answer::says("...... ------ ......"), "blank_summary"),
            (role.clone(), "blank_summary"),
            (call.clone(), "blank_summary"),
            (Answer::says("I'm sorry, but I can't help with that request."), "refused_summary"),
            (Answer::says(&long), "inflated_summary"),
        ] {
            let asked = provider.requests().len();
            provider.answers(vec![answer]);
            let result = client.compact(in_time(on(strategy))).await;
            let expected = format!("{strategy} failed {reason}");
            assert_eq!(ladder(&result), [expected.as_str(), "checkpoint used"]);
            assert_eq!(provider.requests().len(), asked + 1, "what was of no use is not kept");
            assert_holds(&mut client, &result, &expected).await;
        }
    }
}

#[tokio::test]
async fn a_summary_of_another_subject_is_used_with_a_warning() {
    let words = "Hello! How may I help you today, dear stranger from afar?";
    let provider = Provider::start(vec![Answer::says(words)]).await;
    let (_daemon, mut client) = daemon(&provider, "").await;
    let result = client.compact(auto()).await;
    assert_eq!(ladder(&result), ["hybrid used"]);
    let kinds: Vec<_> = result.warnings.iter().map(|warning| warning.kind.as_str()).collect();
    assert_eq!(kinds, ["doubtful_summary"]);
    assert_holds(&mut client, &result, "doubtful").await;
}

#[tokio::test]
async fn without_a_key_no_request_is_sent() {
    let provider = Provider::start(vec![Answer::says(SUMMARY)]).await;
    let (_daemon, mut client) = daemon(&provider, "key_env = \"LONGHAUL_NO_SUCH_KEY\"").await;
    let result = client.compact(in_time(auto())).await;
    assert_eq!(ladder(&result), ["hybrid failed unauthorized", "checkpoint used"]);
    assert!(provider.requests().is_empty());
    assert_holds(&mut client, &result, "no key").await;
    for form in ["streamed", "unary"] {
        let more = format!("key_env = \"LONGHAUL_NO_SUCH_KEY\"\nremote_compaction = \"{form}\"");
        let (_daemon, mut client) = daemon(&provider, &more).await;
        let result = client.compact(in_time(auto())).await;
        let (first, second) = ("remote failed unauthorized", "hybrid failed unauthorized");
        assert_eq!(ladder(&result), [first, second, "checkpoint used"]);
        assert!(provider.requests().is_empty(), "{form}");
        assert_holds(&mut client, &result, form).await;
    }

    let nobody = Provider::start(vec![Answer::Gone]).await;
    let (_daemon, mut client) = daemon(&nobody, "").await;
    let result = client.compact(in_time(auto())).await;
    let left = ladder(&result);
    assert!(
        left[0] == "hybrid failed unreachable" || left[0] == "hybrid failed stream_cut",
        "{left:?}"
    );
    assert_holds(&mut client, &result, "nothing listens").await;
}
