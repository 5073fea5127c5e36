//! Behavior of Codex's remote compaction that its own tests pin.
//!
//! | pinned | here |
//! |---|---|
//! | the output replaces the history | `ladder::a_providers_own_compaction_…` |
//! | auth and headers as of any request; no tools | [`remote_requests_carry_the_key_and_headers`]; cache key and tier are the harness's |
//! | trimming until it fits, requests untouched | `core::compaction::remote::tests::trimming_…` (outputs are replaced in place, so pairs stay) |
//! | a failure ends the turn | not so here: the next rung is taken (`failures`) |
//! | the replacement is persisted | [`a_replacement_is_logged_as_it_was_answered`] |
//! | context before the last request, else the summary, else the compaction item; older items are sent | `core::compaction::remote::tests::mid_turn_context_…`, [`an_older_compaction_item_is_sent_again`] |
//! | harness context dropped, summaries kept, model switch back | `core::compaction::remote::tests::a_unary_answer_…`, [`remote_keeps_the_model_switch_aside`] |
//! | realtime restated | the harness's own context: it is rebuilt by the harness |
//! | exactly one compaction item | `failures::an_answer_without_exactly_one_compaction_item_is_unreadable` |
//! | OpenAI and Azure count as able | `config::model::tests::openai_and_azure_…`, [`openai_compacts_by_itself_for_its_own_models`] |

use longhaul_protocol::compaction::{Model, RunParams, Strategy};
use serde_json::{Value, json};

use crate::ladder::{REQUEST, SUMMARY, auto, daemon, daemon_with, ladder};
use crate::pinned::{call_with_output, sent};
use crate::support::provider::{Answer, Provider};
use crate::support::{message, of_items, texts};

/// A compaction item in the form of a provider, which only the provider can read.
fn sealed(content: &str) -> Value {
    json!({ "type": "compaction", "encrypted_content": content })
}

fn remote(items: &[Value]) -> RunParams {
    RunParams { strategy: Some(Strategy::Remote), ..of_items(items) }
}

#[tokio::test]
async fn remote_requests_carry_the_key_and_headers() {
    let opaque = sealed("opaque-words");
    for form in ["streamed", "unary"] {
        let answer = match form {
            "streamed" => Answer::items(std::slice::from_ref(&opaque)),
            _ => {
                let kept = message("user", REQUEST);
                Answer::Status("200 OK", json!({ "output": [kept, opaque] }))
            }
        };
        let provider = Provider::start(vec![answer]).await;
        let more = format!(
            "remote_compaction = \"{form}\"\nkey_command = [\"echo\", \"k-123\"]\n\
             [providers.p.headers]\nx-team = \"blue\""
        );
        let (_daemon, mut client) = daemon(&provider, &more).await;
        let result = client.compact(auto()).await;
        assert_eq!(ladder(&result), ["remote used"]);
        let head = provider.heads()[0].to_lowercase();
        assert!(head.contains("authorization: bearer k-123"), "{head}");
        assert!(head.contains("x-team: blue"), "{head}");
        assert_eq!(provider.requests()[0].1.get("tools"), None);
    }
}

#[tokio::test]
async fn openai_compacts_by_itself_for_its_own_models() {
    let items = vec![message("user", REQUEST), sealed("opaque-words")];
    for (reader, more, expected) in [
        ("gpt-5.5", "", vec!["remote used"]),
        ("gpt-5.5", "remote_compaction = \"no\"", vec!["hybrid used"]),
        ("claude-sonnet-4-5", "", vec!["hybrid used"]),
        ("gpt-oss-20b", "", vec!["hybrid used"]),
    ] {
        let compacted = Answer::Status("200 OK", json!({ "output": items }));
        let remote = expected[0] == "remote used";
        let provider =
            Provider::start(vec![if remote { compacted } else { Answer::says(SUMMARY) }]).await;
        let config =
            provider.config(more).replace("\"p\"", "\"openai\"").replace(".p]", ".openai]");
        let (_daemon, mut client) = daemon_with(&config).await;
        let model = Model { name: reader.to_owned(), context_window: None, provider: None };
        let result = client.compact(RunParams { model: Some(model), ..auto() }).await;
        assert_eq!(ladder(&result), expected, "{reader} {more}");
    }
    let gone = json!({ "error": { "message": "no such endpoint" } });
    let provider =
        Provider::start(vec![Answer::Status("404 Not Found", gone), Answer::says(SUMMARY)]).await;
    let config = provider.config("").replace("\"p\"", "\"openai\"").replace(".p]", ".openai]");
    let (_daemon, mut client) = daemon_with(&config).await;
    let model = Model { name: "gpt-5.5".to_owned(), context_window: None, provider: None };
    let result = client.compact(RunParams { model: Some(model), ..auto() }).await;
    assert_eq!(ladder(&result), ["remote failed not_found", "hybrid used"]);
}

#[tokio::test]
async fn a_replacement_is_logged_as_it_was_answered() {
    let opaque = sealed("opaque-words");
    let provider = Provider::start(vec![Answer::items(std::slice::from_ref(&opaque))]).await;
    let (_daemon, mut client) = daemon(&provider, "remote_compaction = \"streamed\"").await;
    let made = client.compact(auto()).await;
    let log = client.compaction(&made.compaction_id).await;
    assert_eq!(log.run.history.last(), Some(&opaque));
    assert_eq!(log.run, made);
}

#[tokio::test]
async fn an_older_compaction_item_is_sent_again() {
    let (older, newer) = (sealed("the-older-one"), sealed("the-newer-one"));
    let provider = Provider::start(vec![Answer::items(std::slice::from_ref(&newer))]).await;
    let (_daemon, mut client) = daemon(&provider, "remote_compaction = \"streamed\"").await;
    let mut history = vec![message("user", "Make src/fetch.rs retry."), older.clone()];
    history.extend(call_with_output("c", 20_000));
    let made = client.compact(remote(&history)).await;
    assert_eq!(ladder(&made), ["remote used"]);
    assert!(sent(&provider).contains(&older));
    let history = &made.history;
    assert!(
        history.last() == Some(&newer) && !history.contains(&older),
        "the newest alone: {history:?}"
    );
}

#[tokio::test]
async fn remote_keeps_the_model_switch_aside() {
    let opaque = sealed("opaque-words");
    let provider = Provider::start(vec![Answer::items(std::slice::from_ref(&opaque))]).await;
    let (_daemon, mut client) = daemon(&provider, "remote_compaction = \"streamed\"").await;
    let mut history = vec![
        message("developer", "<permissions instructions>old"),
        message("developer", "<model_switch>\nbe terse"),
        message("user", "Make src/fetch.rs retry."),
    ];
    history.extend(call_with_output("c", 20_000));
    let made = client.compact(remote(&history)).await;
    let texts = texts(&made.history[..3]);
    assert_eq!(texts[0], "Make src/fetch.rs retry.");
    assert_eq!(texts[1], "<model_switch>\nbe terse");
    assert!(texts[2].contains("[SESSION_CHECKPOINT v1]"), "{texts:?}");
}
