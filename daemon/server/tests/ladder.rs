//! The whole ladder: whatever a provider does, there is a compaction within the deadline, with the reason for every rung
//! that was left. Failures of providers are in `failures`, behavior pinned by Codex's tests in `pinned`.

use longhaul_daemon::clock::Clock;
use longhaul_protocol::compaction::{Run, RunParams, RunResult, Strategy};
use serde_json::json;

use crate::support::provider::{Answer, Provider};
use crate::support::rollout::Rollout;
use crate::support::{
    Client, Daemon, eventually, field, message, of_items, of_thread, text_of, texts,
};

pub const THREAD: &str = "019cadd3-0000-7000-8000-000000000004";
pub const REQUEST: &str = "Make the fetcher retry.\nKeep its interface.";
pub const SUMMARY: &str =
    "The fetcher in src/fetch.rs was made to retry; cargo test passes. Next: document it.";

/// A daemon that asks `provider` and has read a long thread.
pub async fn daemon(provider: &Provider, more: &str) -> (Daemon, Client) {
    daemon_with(&provider.config(more)).await
}

pub async fn daemon_with(config: &str) -> (Daemon, Client) {
    let home = tempfile::tempdir().unwrap();
    let mut rollout = Rollout::with_rounds(THREAD, home.path(), REQUEST, 60);
    rollout
        .patch("*** Begin Patch\n*** Update File: src/fetch.rs\n@@\n+fn retry() {}\n*** End Patch");
    rollout.write(home.path());
    let daemon = Daemon::on_clock(home, config, Clock::system()).await;
    let mut client = daemon.connect().await;
    client.sync(THREAD).await;
    (daemon, client)
}

/// A compaction of the thread with a chosen strategy.
pub fn auto() -> RunParams {
    RunParams { deadline_ms: Some(5_000), ..of_thread(THREAD) }
}

pub fn on(strategy: Strategy) -> RunParams {
    RunParams { strategy: Some(strategy), ..auto() }
}

/// Each rung that was reached, its outcome, and why it was left.
pub fn ladder(result: &RunResult) -> Vec<String> {
    let rung = |rung: &longhaul_protocol::compaction::Rung| {
        let outcome = format!("{:?}", rung.outcome).to_lowercase();
        let reason = rung.reason.as_deref().map(|reason| format!(" {reason}")).unwrap_or_default();
        format!("{} {outcome}{reason}", rung.strategy)
    };
    result.ladder.iter().map(rung).collect()
}

#[tokio::test]
async fn with_a_model_auto_is_summary_and_view_within_the_budget() {
    let provider = Provider::start(vec![Answer::says(SUMMARY)]).await;
    let (_daemon, mut client) = daemon(&provider, "").await;
    let result = client.compact(RunParams { max_tokens: Some(1_000), ..auto() }).await;
    assert_eq!(ladder(&result), ["hybrid used"]);
    let view = result.view.as_str();
    assert!(view.len() <= 4_000, "{}", view.len());
    assert!(view.contains(SUMMARY) && view.contains("[SESSION_CHECKPOINT v1]"), "{view}");
    assert_eq!(texts(&result.history), [REQUEST, view]);
    let (path, body) = provider.requests()[0].clone();
    assert_eq!(path, "/v1/responses");
    assert_eq!(body.get("tools"), None, "no tools are offered");
    let last = field(&body, "input").as_array().unwrap().last().unwrap();
    assert!(text_of(last).starts_with("Stop working"), "{last}");
    assert_eq!(result.receipt.kept[0].kind, "user_message");
}

#[tokio::test]
async fn an_overflow_is_retried_with_less_a_few_times_at_most() {
    let script = vec![Answer::overflow(), Answer::overflow(), Answer::says(SUMMARY)];
    let provider = Provider::start(script).await;
    let (_daemon, mut client) = daemon(&provider, "").await;
    let result = client.compact(on(Strategy::Summary)).await;
    assert_eq!(ladder(&result), ["summary used"]);
    let sizes: Vec<usize> = provider
        .requests()
        .iter()
        .map(|(_, body)| field(body, "input").as_array().unwrap().len())
        .collect();
    assert!(sizes[0] > sizes[1] && sizes[1] > sizes[2], "{sizes:?}");
    let requests = provider.requests();
    let says = |at: usize, words: &str| requests[at].1.to_string().contains(words);
    for (at, checklist, carry_over) in [(0, true, false), (2, false, true)] {
        assert!(says(at, "[SESSION_CHECKPOINT v1]"), "{at}: {}", requests[at].1);
        assert_eq!(says(at, "Use them as a checklist"), checklist, "{at}");
        assert_eq!(says(at, "kept these quotations"), carry_over, "{at}");
    }
    let endless = Provider::start(vec![Answer::overflow()]).await;
    let (_daemon, mut client) = daemon(&endless, "").await;
    client.compact(on(Strategy::Summary)).await;
    assert!(endless.requests().len() <= 7, "{}", endless.requests().len());
}

#[tokio::test]
async fn a_providers_own_compaction_is_used_with_the_daemons_view() {
    let opaque = json!({ "type": "compaction", "encrypted_content": "opaque-words" });
    for (form, path) in [("streamed", "/v1/responses"), ("unary", "/v1/responses/compact")] {
        let kept = message("user", REQUEST);
        let answer = match form {
            "streamed" => Answer::items(std::slice::from_ref(&opaque)),
            _ => Answer::Status("200 OK", json!({ "output": [kept, opaque] })),
        };
        let provider = Provider::start(vec![answer]).await;
        let config = format!("remote_compaction = \"{form}\"");
        let (_daemon, mut client) = daemon(&provider, &config).await;
        let result = client.compact(auto()).await;
        assert_eq!(ladder(&result), ["remote used"], "{form}");
        assert_eq!(*result.history.last().unwrap(), opaque);
        assert!(text_of(&result.history[1]).contains("[SESSION_CHECKPOINT v1]"));
        let (asked, body) = provider.requests()[0].clone();
        assert_eq!(asked, path);
        let has_trigger = field(&body, "input").to_string().contains("compaction_trigger");
        assert_eq!(has_trigger, form == "streamed");
    }
}

#[tokio::test]
async fn a_spent_budget_and_a_short_deadline_are_reasons_to_leave_a_rung() {
    let provider = Provider::start(vec![Answer::says(SUMMARY)]).await;
    let (_daemon, mut client) = daemon(&provider, "[budget]\ntokens_per_job = 10").await;
    let result = client.compact(auto()).await;
    assert_eq!(ladder(&result), ["hybrid failed budget_spent", "checkpoint used"]);
    let result = client.compact(RunParams { deadline_ms: Some(50), ..auto() }).await;
    assert_eq!(ladder(&result), ["hybrid skipped no_time", "checkpoint used"]);
    assert!(provider.requests().is_empty());
    let status = client.status().await;
    assert_eq!(status.model.unwrap().tokens_per_job, Some(10));
    let warning = &status.warnings[0];
    assert_eq!(warning.kind, "budget_spent");
    assert!(warning.message.contains("budget.tokens_per_job = 10"), "{}", warning.message);
}

#[tokio::test]
async fn a_server_of_this_machine_that_is_not_there_is_a_warning_of_the_status() {
    let provider = Provider::start(vec![Answer::says(SUMMARY)]).await;
    let (_daemon, mut client) = daemon(&provider, "").await;
    assert!(client.status().await.warnings.is_empty());
    assert!(provider.requests().is_empty(), "nothing is asked");

    // A port that is free again.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let config = provider.config("").replace(&provider.base_url, &format!("http://{address}/v1"));
    let (_daemon, mut client) = daemon_with(&config).await;
    let warning = client.status().await.warnings.remove(0);
    assert_eq!(warning.kind, "model_unreachable");
    assert!(warning.message.contains(&address.to_string()), "{}", warning.message);
}

#[tokio::test]
async fn a_client_that_disconnects_cancels_its_request_to_the_model() {
    let provider = Provider::start(vec![Answer::Hang]).await;
    let (daemon, mut client) = daemon(&provider, "").await;
    client.begin::<Run>(of_thread(THREAD)).await;
    eventually("the model receives a request", || provider.hanging() == 1).await;
    drop(client);
    eventually("the connection is closed", || provider.hanging() == 0).await;
    assert_eq!(daemon.connect().await.compactions().await, [], "no caller waits for it");
}

#[tokio::test]
async fn a_window_set_in_codex_is_the_upper_limit() {
    let provider = Provider::start(vec![Answer::says(SUMMARY)]).await;
    let (daemon, mut client) = daemon(&provider, "").await;
    let settings = daemon.home.path().join(".codex/config.toml");
    std::fs::write(settings, "model_context_window = 1200\n").unwrap();
    let result = client.compact(RunParams { max_tokens: Some(5_000), ..auto() }).await;
    assert!(result.tokens.after <= 600, "{:?}", result.tokens);
}

#[tokio::test]
async fn without_a_model_no_request_is_sent_and_the_wanted_strategy_is_named() {
    let provider = Provider::start(vec![Answer::says(SUMMARY)]).await;
    let home = tempfile::tempdir().unwrap();
    let mut rollout = Rollout::new(THREAD, home.path());
    rollout.message("user", "Do it.");
    rollout.write(home.path());
    let (_daemon, mut client) = Daemon::with_client(home, "").await;
    let result = client.compact(on(Strategy::Remote)).await;
    assert_eq!(ladder(&result), ["remote skipped not_configured", "checkpoint used"]);
    assert!(provider.requests().is_empty());
}

#[tokio::test]
async fn secrets_do_not_reach_a_model_and_given_items_are_summarized() {
    let provider = Provider::start(vec![Answer::says(SUMMARY)]).await;
    let (_daemon, mut client) = daemon(&provider, "").await;
    let secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD";
    let mut items = vec![message("user", &format!("Use {secret} to fetch src/fetch.rs."))];
    for round in 0..80 {
        items.push(message("assistant", &format!("Round {round} is through, retry it.")));
    }
    let params = RunParams { strategy: Some(Strategy::Summary), ..of_items(items) };
    let result = client.compact(params).await;
    assert_eq!(ladder(&result), ["summary used"]);
    assert!(!provider.requests()[0].1.to_string().contains("abcdefghijkl"));
    assert!(!serde_json::to_string(&result).unwrap().contains("abcdefghijkl"));
    assert!(result.receipt.redacted > 0);
}
