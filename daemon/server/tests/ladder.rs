//! The ladder end to end: whatever a provider does, the compaction is there, within its deadline, and
//! says which rungs were left and why. What a provider can do wrong is in `failures`, what Codex's own
//! tests pin in `pinned`.

use longhaul_daemon::clock::Clock;
use serde_json::{Value, json};

use crate::provider::{Answer, Provider};
use crate::rollout::Rollout;
use crate::support::{Client, Daemon, eventually, soon};

pub const THREAD: &str = "019cadd3-0000-7000-8000-000000000004";
pub const SUMMARY: &str =
    "The fetcher in src/fetch.rs was made to retry; cargo test passes. Next: document it.";

pub async fn daemon(provider: &Provider, more: &str) -> (Daemon, Client) {
    daemon_with(&provider.config(more)).await
}

pub async fn daemon_with(config: &str) -> (Daemon, Client) {
    let home = tempfile::tempdir().unwrap();
    let mut rollout = Rollout::new(THREAD, home.path());
    rollout.message("user", "Make the fetcher retry.\nKeep its interface.");
    for round in 0..60 {
        rollout.command(&format!("cargo test fetch_{round}"), 0, "running tests\n");
        rollout.message("assistant", &format!("Round {round} is through."));
    }
    rollout
        .patch("*** Begin Patch\n*** Update File: src/fetch.rs\n@@\n+fn retry() {}\n*** End Patch");
    rollout.write(home.path());
    let daemon = Daemon::on_clock(home, config, Clock::system()).await;
    let mut client = daemon.connect().await;
    client.call("thread/sync", json!({ "thread_id": THREAD })).await;
    (daemon, client)
}

pub async fn run(client: &mut Client, more: Value) -> Value {
    let mut params = json!({ "thread_id": THREAD, "deadline_ms": 5_000 });
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let answer = soon("a compaction", client.call("compaction/run", params)).await;
    assert!(answer["error"].is_null(), "{answer}");
    answer["result"].clone()
}

pub fn ladder(result: &Value) -> Vec<String> {
    let rung = |rung: &Value| {
        let reason = rung["reason"].as_str().map(|reason| format!(" {reason}")).unwrap_or_default();
        format!(
            "{} {}{reason}",
            rung["strategy"].as_str().unwrap(),
            rung["outcome"].as_str().unwrap()
        )
    };
    result["ladder"].as_array().unwrap().iter().map(rung).collect()
}

pub fn words(result: &Value) -> Vec<String> {
    let text = |item: &Value| item["content"][0]["text"].as_str().unwrap_or("").to_owned();
    result["history"].as_array().unwrap().iter().map(text).collect()
}

#[tokio::test]
async fn with_a_model_auto_is_summary_and_view_within_the_budget() {
    let provider = Provider::start(vec![Answer::says(SUMMARY)]).await;
    let (_daemon, mut client) = daemon(&provider, "").await;
    let result = run(&mut client, json!({ "max_tokens": 1_000 })).await;
    assert_eq!(ladder(&result), ["hybrid used"]);
    let view = result["view"].as_str().unwrap();
    assert!(view.len() <= 4_000, "{}", view.len());
    assert!(view.contains(SUMMARY) && view.contains("[SESSION_CHECKPOINT v1]"), "{view}");
    assert_eq!(words(&result), ["Make the fetcher retry.\nKeep its interface.", view]);
    let (path, body) = provider.requests()[0].clone();
    assert_eq!(path, "/v1/responses");
    assert_eq!(body["tools"], Value::Null, "no tools are offered");
    let last = body["input"].as_array().unwrap().last().unwrap();
    assert!(last["content"][0]["text"].as_str().unwrap().starts_with("Stop working"), "{last}");
    assert_eq!(result["receipt"]["kept"][0]["kind"], "user_message");
}

#[tokio::test]
async fn an_overflow_is_answered_by_sending_less_and_never_more_than_a_few_times() {
    let script = vec![Answer::overflow(), Answer::overflow(), Answer::says(SUMMARY)];
    let provider = Provider::start(script).await;
    let (_daemon, mut client) = daemon(&provider, "").await;
    let result = run(&mut client, json!({ "strategy": "summary" })).await;
    assert_eq!(ladder(&result), ["summary used"]);
    let sizes: Vec<usize> = provider
        .requests()
        .iter()
        .map(|(_, body)| body["input"].as_array().unwrap().len())
        .collect();
    assert!(sizes[0] > sizes[1] && sizes[1] > sizes[2], "{sizes:?}");
    let endless = Provider::start(vec![Answer::overflow()]).await;
    let (_daemon, mut client) = daemon(&endless, "").await;
    run(&mut client, json!({ "strategy": "summary" })).await;
    assert!(endless.requests().len() <= 6, "{}", endless.requests().len());
}

#[tokio::test]
async fn a_providers_own_compaction_is_taken_with_our_view_beside_it() {
    let opaque = json!({ "type": "compaction", "encrypted_content": "opaque-words" });
    for (form, path) in [("streamed", "/v1/responses"), ("unary", "/v1/responses/compact")] {
        let kept = json!({ "type": "message", "role": "user",
            "content": [{ "type": "input_text", "text": "Make the fetcher retry.\nKeep its interface." }] });
        let answer = match form {
            "streamed" => Answer::items(std::slice::from_ref(&opaque)),
            _ => Answer::Status("200 OK", json!({ "output": [kept, opaque] })),
        };
        let provider = Provider::start(vec![answer]).await;
        let config = format!("remote_compaction = \"{form}\"");
        let (_daemon, mut client) = daemon(&provider, &config).await;
        let result = run(&mut client, json!({})).await;
        assert_eq!(ladder(&result), ["remote used"], "{form}");
        let history = result["history"].as_array().unwrap();
        assert_eq!(*history.last().unwrap(), opaque);
        assert!(words(&result)[1].contains("[SESSION_CHECKPOINT v1]"));
        let (asked, body) = provider.requests()[0].clone();
        assert_eq!(asked, path);
        let has_trigger = body["input"].to_string().contains("compaction_trigger");
        assert_eq!(has_trigger, form == "streamed");
    }
}

#[tokio::test]
async fn zero_or_two_compaction_items_are_a_reason_to_take_the_next_rung() {
    let opaque = json!({ "type": "compaction", "encrypted_content": "x" });
    for items in [vec![], vec![opaque.clone(), opaque.clone()]] {
        let provider = Provider::start(vec![Answer::items(&items), Answer::says(SUMMARY)]).await;
        let (_daemon, mut client) = daemon(&provider, "remote_compaction = \"streamed\"").await;
        let result = run(&mut client, json!({})).await;
        let expected = format!(
            "remote failed unreadable: expected one compaction item, got {} among {} items",
            items.len(),
            items.len()
        );
        assert_eq!(ladder(&result), [expected.as_str(), "hybrid used"]);
    }
}

#[tokio::test]
async fn a_spent_budget_and_a_short_deadline_are_reasons_too() {
    let provider = Provider::start(vec![Answer::says(SUMMARY)]).await;
    let (_daemon, mut client) = daemon(&provider, "[budget]\ntokens_per_job = 10").await;
    let result = run(&mut client, json!({})).await;
    assert_eq!(ladder(&result), ["hybrid failed budget_spent", "checkpoint used"]);
    let result = run(&mut client, json!({ "deadline_ms": 50 })).await;
    assert_eq!(ladder(&result), ["hybrid skipped no_time", "checkpoint used"]);
    assert!(provider.requests().is_empty());
    let status = client.call("daemon/status", json!({})).await["result"].take();
    assert_eq!(status["model"]["tokens_per_job"], 10, "{status}");
    let warning = &status["warnings"][0];
    assert_eq!(warning["kind"], "budget_spent", "{status}");
    assert!(warning["message"].as_str().unwrap().contains("budget.tokens_per_job = 10"));
}

#[tokio::test]
async fn a_client_that_goes_takes_its_question_to_the_model_back() {
    let provider = Provider::start(vec![Answer::Hang]).await;
    let (daemon, mut client) = daemon(&provider, "").await;
    client.ask("compaction/run", json!({ "thread_id": THREAD })).await;
    eventually("the model is asked", || provider.hanging() == 1).await;
    drop(client);
    eventually("the connection is closed", || provider.hanging() == 0).await;
    let made = daemon.connect().await.call("compaction/list", json!({})).await["result"].take();
    assert_eq!(made["compactions"], json!([]), "nobody waits for it");
}

#[tokio::test]
async fn a_window_the_user_gave_codex_is_the_ceiling() {
    let provider = Provider::start(vec![Answer::says(SUMMARY)]).await;
    let (daemon, mut client) = daemon(&provider, "").await;
    let settings = daemon.home.path().join(".codex/config.toml");
    std::fs::write(settings, "model_context_window = 1200\n").unwrap();
    let result = run(&mut client, json!({ "max_tokens": 5_000 })).await;
    assert!(result["tokens"]["after"].as_u64().unwrap() <= 600, "{}", result["tokens"]);
}

#[tokio::test]
async fn without_a_model_nothing_is_asked_and_what_was_wanted_is_named() {
    let provider = Provider::start(vec![Answer::says(SUMMARY)]).await;
    let home = tempfile::tempdir().unwrap();
    let mut rollout = Rollout::new(THREAD, home.path());
    rollout.message("user", "Do it.");
    rollout.write(home.path());
    let daemon = Daemon::over(home, "").await;
    let mut client = daemon.connect().await;
    let result = run(&mut client, json!({ "strategy": "remote" })).await;
    assert_eq!(ladder(&result), ["remote skipped not_configured", "checkpoint used"]);
    assert!(provider.requests().is_empty());
}

#[tokio::test]
async fn secrets_do_not_reach_a_model_and_given_items_are_summarised_too() {
    let provider = Provider::start(vec![Answer::says(SUMMARY)]).await;
    let (_daemon, mut client) = daemon(&provider, "").await;
    let secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD";
    let message = |role: &str, kind: &str, text: String| json!({ "type": "message", "role": role, "content": [{ "type": kind, "text": text }] });
    let mut items =
        vec![message("user", "input_text", format!("Use {secret} to fetch src/fetch.rs."))];
    for round in 0..80 {
        items.push(message(
            "assistant",
            "output_text",
            format!("Round {round} is through, retry it."),
        ));
    }
    let params = json!({ "items": items, "strategy": "summary" });
    let answer = client.call("compaction/run", params).await;
    assert_eq!(ladder(&answer["result"]), ["summary used"]);
    assert!(!provider.requests()[0].1.to_string().contains("abcdefghijkl"));
    assert!(!answer.to_string().contains("abcdefghijkl"));
}
