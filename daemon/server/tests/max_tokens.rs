//! `max_tokens` of a compaction bounds the whole replacement.

use longhaul_protocol::ErrorKind;
use longhaul_protocol::checkpoint::{View, ViewParams};
use longhaul_protocol::compaction::{AgentStep, RunParams, RunResult, Trigger};

use crate::support::rollout::Rollout;
use crate::support::{Client, Daemon, of_thread, texts};

const THREAD: &str = "019cadd3-0000-7000-8000-000000000001";

/// A session whose last request has this text.
async fn session(request: &str) -> (Daemon, Client) {
    let home = tempfile::tempdir().unwrap();
    let mut rollout = Rollout::new(THREAD, home.path());
    for round in 0..80 {
        rollout.message("user", &format!("Say \"why\" test {round} of the fetcher fails."));
        rollout.command(
            &format!("cargo test fetch_{round}"),
            1,
            "assertion `left == right` failed\n",
        );
        rollout
            .message("assistant", &format!("Test {round} fails: `retry_{round}` never returns."));
    }
    rollout.message("user", request);
    rollout.write(home.path());
    Daemon::synced(home, "", THREAD).await
}

async fn compact(client: &mut Client, max_tokens: u64) -> RunResult {
    client.compact(RunParams { max_tokens: Some(max_tokens), ..of_thread(THREAD) }).await
}

fn over(result: &RunResult) -> Option<&str> {
    let warning = result.warnings.iter().find(|warning| warning.kind == "over_max_tokens");
    warning.map(|warning| warning.message.as_str())
}

#[tokio::test]
async fn the_view_its_frame_and_the_request_fit_together() {
    let (_daemon, mut client) = session("Make the fetcher retry.").await;
    let whole = compact(&mut client, 100_000).await;
    for max_tokens in [600, 700, 800, 2_000] {
        let result = compact(&mut client, max_tokens).await;
        assert!(result.tokens.after <= max_tokens, "{max_tokens}: {:?}", result.tokens);
        assert_eq!(over(&result), None);
        let is_used = result.tokens.after * 10 >= max_tokens * 8;
        assert!(is_used || result.view == whole.view, "{max_tokens}: {:?}", result.tokens);
        assert_eq!(texts(&result.history)[1..], ["Make the fetcher retry."]);
    }
    let mut answer = of_thread(THREAD);
    answer.agent_step = Some(AgentStep::Answered);
    answer.trigger = Some(Trigger::Manual);
    answer.max_tokens = Some(600);
    let answer = client.compact(answer).await;
    assert!(answer.tokens.after > 600, "an agent takes the view alone: {:?}", answer.tokens);
}

#[tokio::test]
async fn more_than_was_allowed_is_said_and_no_view_is_empty() {
    let (_daemon, mut client) = session(&"Read the log below. ".repeat(500)).await;
    for max_tokens in [1, 1_000] {
        let result = compact(&mut client, max_tokens).await;
        let words = over(&result).expect("a warning");
        assert!(
            words.contains(&format!(
                "more than the {} asked for:",
                longhaul_core::text::grouped(max_tokens)
            )),
            "{words}"
        );
        assert!(result.tokens.after > 2_500, "the request is kept: {words}");
        assert!(result.view.contains("[TASK]") && result.view.len() <= 1_024, "{}", result.view.0);
        assert!(
            !result.view.trim_end().ends_with(')'),
            "no heading without text: {}",
            result.view.0
        );
    }
    assert_eq!(over(&compact(&mut client, 4_000).await), None);
}

#[tokio::test]
async fn a_view_of_less_than_the_header_and_a_request_is_rejected() {
    let (_daemon, mut client) = session("Make the fetcher retry.").await;
    let of = |max_tokens| ViewParams {
        thread_id: THREAD.to_owned(),
        max_tokens: Some(max_tokens),
        ..ViewParams::default()
    };
    let error = client.call::<View>(of(255)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidParams);
    assert!(error.message.contains("max_tokens: at least 256"), "{}", error.message);
    let view = client.call::<View>(of(256)).await.unwrap();
    assert!(view.text.contains("Make the fetcher retry."), "{}", view.text.0);
}
