//! The cost of a failing model by kind of provider: the table of PROTOCOL.md, row by row.

use longhaul_protocol::compaction::{RunParams, Strategy};
use serde_json::{Value, json};

use crate::failures::assert_holds;
use crate::ladder::{REQUEST, SUMMARY, auto, daemon_with, ladder};
use crate::support::provider::{Answer, Provider};
use crate::support::{message, of_items};
use crate::wires::FORMS;

fn status(line: &'static str, code: &str, words: &str) -> Answer {
    Answer::Status(line, json!({ "error": { "code": code, "type": code, "message": words } }))
}

/// An answer with this text in the format `kind`.
fn says(kind: &str, words: &str) -> Answer {
    match FORMS.iter().find(|form| form.kind == kind) {
        Some(form) => Answer::Events((form.says)(words)),
        None => Answer::says(words),
    }
}

/// The case, the provider's answers, the rungs, the warnings, the requests.
type Row = (
    &'static str,
    Vec<Answer>,
    Vec<&'static str>,
    Vec<&'static str>,
    std::ops::RangeInclusive<usize>,
);

fn rows(kind: &str) -> Vec<Row> {
    let silent = || status("400 Bad Request", "context_length_exceeded", "too long");
    let telling = status(
        "400 Bad Request",
        "context_length_exceeded",
        "prompt is too long: 9,000 tokens > 6,000 maximum",
    );
    let next = |reason| vec![reason, "checkpoint used"];
    let used = || vec!["hybrid used"];
    vec![
        ("a good answer", vec![says(kind, SUMMARY)], used(), vec![], 1..=1),
        (
            "too large, limit told",
            vec![telling, says(kind, SUMMARY)],
            used(),
            vec!["history_trimmed"],
            2..=2,
        ),
        (
            "too large, limit not told",
            vec![silent(), silent(), says(kind, SUMMARY)],
            used(),
            vec!["history_trimmed"],
            3..=4,
        ),
        (
            "too large whatever is sent",
            vec![silent()],
            next("hybrid failed context_overflow"),
            vec![],
            2..=8,
        ),
    ]
}

/// Cases that do not depend on the size.
fn failures(kind: &str) -> Vec<Row> {
    let next = |reason| vec![reason, "checkpoint used"];
    vec![
        (
            "overloaded",
            vec![status("529 Overloaded", "overloaded_error", "no")],
            next("hybrid failed unavailable"),
            vec![],
            2..=5,
        ),
        (
            "overloaded once",
            vec![status("500 Oops", "server_error", "no"), says(kind, SUMMARY)],
            vec!["hybrid used"],
            vec![],
            2..=2,
        ),
        (
            "rate limited",
            vec![status("429 Slow", "rate_limit_exceeded", "no")],
            next("hybrid failed rate_limited"),
            vec![],
            2..=5,
        ),
        (
            "wrong key",
            vec![status("401 Unauthorized", "invalid_api_key", "no")],
            next("hybrid failed unauthorized"),
            vec![],
            1..=1,
        ),
        (
            "no such model",
            vec![status("404 Not Found", "model_not_found", "no")],
            next("hybrid failed not_found"),
            vec![],
            1..=1,
        ),
        (
            "the API refuses",
            vec![status("400 Bad Request", "invalid_request_error", "bad field")],
            next("hybrid failed refused"),
            vec![],
            1..=1,
        ),
        ("blank", vec![says(kind, " \n ")], next("hybrid failed blank_summary"), vec![], 1..=1),
        (
            "refused",
            vec![says(kind, "Lo siento, no puedo ayudar con eso.")],
            next("hybrid failed refused_summary"),
            vec![],
            1..=1,
        ),
        (
            "inflated",
            vec![says(kind, &"src/fetch.rs retry ".repeat(2_000))],
            next("hybrid failed inflated_summary"),
            vec![],
            1..=1,
        ),
        (
            "something else",
            vec![says(kind, "Hello! How may I help you today, dear stranger from afar?")],
            vec!["hybrid used"],
            vec!["doubtful_summary"],
            1..=1,
        ),
    ]
}

#[tokio::test]
async fn every_failure_has_its_outcome_with_every_kind_of_provider() {
    for kind in ["responses", "chat", "messages"] {
        for (what, script, rungs, warnings, requests) in
            rows(kind).into_iter().chain(failures(kind))
        {
            let provider = Provider::start(script).await;
            let (_daemon, mut client) = daemon_with(&provider.config_as(kind, "")).await;
            let result = client.compact(RunParams { deadline_ms: Some(2_500), ..auto() }).await;
            let what = format!("{kind}: {what}");
            assert_eq!(ladder(&result), rungs, "{what}");
            let kinds: Vec<_> =
                result.warnings.iter().map(|warning| warning.kind.as_str()).collect();
            assert_eq!(kinds, warnings, "{what}");
            let asked = provider.requests().len();
            assert!(requests.contains(&asked), "{what}: {asked} requests");
            assert_holds(&mut client, &result, &what).await;
        }
    }
}

#[tokio::test]
async fn after_a_failed_compaction_of_the_provider_the_hybrid_is_used() {
    for form in ["unary", "streamed"] {
        for (what, failure, reason) in [
            (
                "too large",
                status("400 Bad Request", "context_length_exceeded", "too long"),
                "context_overflow",
            ),
            ("not there", status("404 Not Found", "", "no"), "not_found"),
        ] {
            let provider = Provider::start(vec![failure, Answer::says(SUMMARY)]).await;
            let more = format!("remote_compaction = \"{form}\"");
            let (_daemon, mut client) = daemon_with(&provider.config(&more)).await;
            let result = client.compact(auto()).await;
            let expected = [format!("remote failed {reason}"), "hybrid used".to_owned()];
            assert_eq!(ladder(&result), expected, "{form}: {what}");
            assert_eq!(provider.requests().len(), 2, "{form}: {what}");
            assert_holds(&mut client, &result, what).await;
        }
    }
}

fn pair(id: &str, output: &str) -> [Value; 2] {
    [
        json!({ "type": "function_call", "name": "exec", "arguments": "{}", "call_id": id }),
        json!({ "type": "function_call_output", "call_id": id, "output": output }),
    ]
}

/// The case, the history's items, the rungs, the warnings.
type Case = (&'static str, Vec<Value>, &'static [&'static str], &'static [&'static str]);

/// Histories that blocked people's threads: the compaction exists, is small, and contains the request.
#[tokio::test]
async fn a_history_larger_than_every_window_is_still_compacted() {
    let provider = Provider::start(vec![Answer::says(SUMMARY)]).await;
    let (_daemon, mut client) = daemon_with(&provider.config("")).await;
    let image = json!({ "type": "message", "role": "user", "content": [
        { "type": "input_image", "image_url": format!("data:image/png;base64,{}", "A".repeat(900_000)) }] });
    let rounds = || (0..40).flat_map(|n| pair(&format!("c{n}"), &"made it retry ".repeat(60)));
    let several = (0..30).flat_map(|n| pair(&format!("l{n}"), &"src/fetch.rs ".repeat(4_000)));
    let cases: [Case; 4] = [
        (
            "one huge output",
            pair("huge", &"src/fetch.rs ".repeat(60_000)).to_vec(),
            &["hybrid used"],
            &["history_trimmed"],
        ),
        ("three windows", several.collect(), &["hybrid used"], &["history_trimmed"]),
        ("an inline image", [image].into_iter().chain(rounds()).collect(), &["hybrid used"], &[]),
        (
            "requests alone",
            vec![message("user", "And its tests, too.")],
            &["hybrid failed nothing_to_summarize", "checkpoint used"],
            &["not_worthwhile"],
        ),
    ];
    for (what, items, rungs, warnings) in cases {
        let mut history = vec![message("user", REQUEST)];
        history.extend(items);
        let params = RunParams { deadline_ms: Some(10_000), ..of_items(history) };
        let result = client.compact(params).await;
        assert_eq!(ladder(&result), rungs, "{what}");
        let kinds: Vec<_> = result.warnings.iter().map(|warning| warning.kind.as_str()).collect();
        assert_eq!(kinds, warnings, "{what}");
        assert!(result.history.iter().any(|item| item.to_string().contains("fetch")), "{what}");
        assert!(result.tokens.after <= 50_000, "{what}: {:?}", result.tokens);
    }
    assert_eq!(provider.requests().len(), 3, "a request each, none for requests alone");
}

/// Without a strategy, the summary is combined with the checkpoint's view.
#[tokio::test]
async fn the_hybrid_is_the_default_of_every_path() {
    let provider = Provider::start(vec![Answer::says(SUMMARY)]).await;
    let (_daemon, mut client) = daemon_with(&provider.config("")).await;
    let run = client.compact(RunParams { strategy: None, ..auto() }).await;
    let id = client.start_compaction(auto()).await;
    client.job_in(&format!("compact/{id}"), "done").await;
    let started = client.compaction(&id).await.run;
    for result in [run, started] {
        assert_eq!(result.strategy_used, Strategy::Hybrid);
        assert!(result.view.contains(SUMMARY) && result.view.contains("[SESSION_CHECKPOINT v1]"));
    }
}
