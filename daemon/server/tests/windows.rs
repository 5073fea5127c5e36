//! The part of a history that a model gets: what fits into its window; the rest is reported.

use longhaul_protocol::compaction::{Model, Reason, RunParams, RunResult, Strategy};
use serde_json::{Value, json};

use crate::ladder::{REQUEST, SUMMARY, THREAD, ladder, on};
use crate::support::provider::{Answer, Provider};
use crate::support::rollout::Rollout;
use crate::support::{Client, Daemon, field};

/// A daemon that has read a thread of about `tokens`.
async fn daemon(config: &str, tokens: usize) -> (Daemon, Client) {
    let home = tempfile::tempdir().unwrap();
    let mut rollout = Rollout::new(THREAD, home.path());
    rollout.message("user", REQUEST);
    for round in 0..tokens / 500 {
        rollout.command(
            &format!("cargo test fetch_{round}"),
            0,
            &"running src/fetch.rs\n".repeat(85),
        );
        rollout.message("assistant", &format!("Round {round} is through."));
    }
    rollout.write(home.path());
    Daemon::synced(home, config, THREAD).await
}

/// Configuration of a model with this window, and of another provider.
fn config(provider: &Provider, window: u64) -> String {
    let url = &provider.base_url;
    format!(
        "[model]\nprovider = \"p\"\nname = \"m\"\ncontext_window = {window}\n\
         [providers.p]\nkind = \"responses\"\nbase_url = \"{url}\"\n\
         [providers.other]\nkind = \"chat\"\nbase_url = \"{url}\"\n"
    )
}

/// Tokens of each request's history, by bytes.
fn sent(provider: &Provider) -> Vec<u64> {
    let input = |body: &Value| body.get("input").or(body.get("messages")).unwrap().to_string();
    provider.requests().iter().map(|(_, body)| input(body).len() as u64 / 4).collect()
}

fn model(name: &str, context_window: Option<u64>, provider: Option<&str>) -> Model {
    Model { name: name.to_owned(), context_window, provider: provider.map(str::to_owned) }
}

#[track_caller]
fn assert_unseen_is_told(result: &RunResult, what: &str) {
    let unseen = result.receipt.unseen.as_ref().unwrap_or_else(|| panic!("{what}: no account"));
    assert!(unseen.items > 0 && unseen.seq_first < unseen.seq_last, "{what}: {unseen:?}");
    let warning = result.warnings.iter().find(|warning| warning.kind == "history_trimmed");
    let message = &warning.unwrap_or_else(|| panic!("{what}: {:?}", result.warnings)).message;
    for number in [unseen.items, unseen.seq_first, unseen.seq_last] {
        assert!(message.contains(&number.to_string()), "{what}: {number} in {message}");
    }
}

#[tokio::test]
async fn the_window_of_the_asked_model_decides() {
    let provider = Provider::start(vec![Answer::says(SUMMARY)]).await;
    let (_daemon, mut client) = daemon(&config(&provider, 32_000), 58_000).await;
    let whole = client.thread(THREAD).await.tokens;
    let mut asked = async |params: RunParams| {
        let result = client.compact(params).await;
        assert_eq!(ladder(&result), ["summary used"]);
        (*sent(&provider).last().unwrap(), result)
    };
    let on = || on(Strategy::Summary);
    let (small, result) = asked(on()).await;
    assert!(small < 24_000, "{small} of {whole}");
    assert_unseen_is_told(&result, "trimmed before it is sent");
    for (what, params) in [
        ("named", RunParams { model: Some(model("big", Some(272_000), Some("p"))), ..on() }),
        ("known", RunParams { model: Some(model("gpt-5.5", None, Some("p"))), ..on() }),
    ] {
        let (tokens, result) = asked(params).await;
        assert!(tokens * 100 >= whole * 98, "{what}: {tokens} of {whole}");
        assert_eq!((&result.receipt.unseen, result.warnings.len()), (&None, 0), "{what}");
    }
}

#[tokio::test]
async fn another_providers_model_gets_what_fits_into_its_window() {
    let words =
        json!({ "choices": [{ "message": { "content": SUMMARY }, "finish_reason": "stop" }] });
    let provider = Provider::start(vec![Answer::Status("200 OK", words)]).await;
    let (_daemon, mut client) = daemon(&config(&provider, 32_000), 58_000).await;
    let whole = client.thread(THREAD).await.tokens;
    let big = model("big", Some(272_000), Some("other"));
    let result = client.compact(RunParams { model: Some(big), ..on(Strategy::Summary) }).await;
    assert_eq!(ladder(&result), ["summary used"]);
    let tokens = sent(&provider)[0];
    assert!(tokens * 100 >= whole * 80, "{tokens} of {whole}: turns have no envelopes");
}

#[tokio::test]
async fn a_downshift_compacts_with_the_larger_model_before() {
    let provider = Provider::start(vec![Answer::says(SUMMARY)]).await;
    let (_daemon, mut client) = daemon(&config(&provider, 16_000), 58_000).await;
    let whole = client.thread(THREAD).await.tokens;
    let params = RunParams {
        model: Some(model("small", Some(16_000), None)),
        previous_model: Some(model("large", Some(272_000), None)),
        reason: Some(Reason::ModelDownshift),
        ..on(Strategy::Hybrid)
    };
    let result = client.compact(params).await;
    assert_eq!(ladder(&result), ["hybrid used"]);
    assert_eq!(field(&provider.requests()[0].1, "model"), "large");
    assert!(sent(&provider)[0] * 100 >= whole * 98);
    assert!(result.tokens.after <= 8_000, "it fits the small one: {:?}", result.tokens);
}

/// Takes 32 kB and names no limit.
fn silent(body: &Value) -> Answer {
    limited(body, "Your input exceeds the context window of this model.")
}

/// Takes 32 kB and says so, in tokens of its own of three bytes.
fn telling(body: &Value) -> Answer {
    let tokens = body.to_string().len() / 3;
    limited(body, &format!("prompt is too long: {tokens} tokens > 10666 maximum"))
}

fn limited(body: &Value, words: &str) -> Answer {
    if body.to_string().len() <= 32_000 {
        return Answer::says(SUMMARY);
    }
    let error = json!({ "code": "context_length_exceeded", "message": words });
    Answer::Status("400 Bad Request", json!({ "error": error }))
}

#[tokio::test]
async fn the_largest_input_that_fits_is_found_in_few_requests() {
    for (how, limit, requests_max, percent) in
        [("silent", Answer::To(silent), 8, 75), ("telling", Answer::To(telling), 3, 85)]
    {
        let provider = Provider::start(vec![limit]).await;
        let (_daemon, mut client) = daemon(&config(&provider, 272_000), 36_000).await;
        let result = client.compact(on(Strategy::Summary)).await;
        assert_eq!(ladder(&result), ["summary used"], "{how}");
        let sizes: Vec<usize> =
            provider.requests().iter().map(|(_, body)| body.to_string().len()).collect();
        let best = sizes.iter().filter(|size| **size <= 32_000).max().copied().unwrap_or(0);
        println!("{how}: {sizes:?}");
        assert!(sizes.len() <= requests_max && best * 100 >= 32_000 * percent, "{how}: {sizes:?}");
        assert_unseen_is_told(&result, how);
    }
}

#[tokio::test]
async fn a_remote_compaction_tells_which_outputs_it_left_out() {
    let opaque = json!({ "type": "compaction", "encrypted_content": "opaque-words" });
    let provider = Provider::start(vec![Answer::items(&[opaque])]).await;
    let config = config(&provider, 32_000)
        + "[providers.far]\nkind = \"responses\"\nremote_compaction = \"streamed\"\n";
    let config = format!("{config}base_url = \"{}\"\n", provider.base_url);
    let (_daemon, mut client) = daemon(&config, 58_000).await;
    let far = model("m", Some(32_000), Some("far"));
    let result = client.compact(RunParams { model: Some(far), ..on(Strategy::Remote) }).await;
    assert_eq!(ladder(&result), ["remote used"]);
    assert_unseen_is_told(&result, "remote");
}
