//! The focus of a view: matching lines are selected first, in every kind of view.

use std::path::Path;

use longhaul_protocol::ErrorKind;
use longhaul_protocol::checkpoint::{View, ViewParams};
use longhaul_protocol::compaction::{Preview, PreviewParams, RunParams};
use longhaul_protocol::limit::FOCUS_BYTES_MAX;

use crate::support::rollout::Rollout;
use crate::support::{Client, Daemon, of_thread};

const THREAD: &str = "019cadd3-0000-7000-8000-000000000071";
/// A line of an old turn that a view of this size does not contain by default.
const OLD: &str = "The fetcher keeps queue_5 in slot_5 and closes socket_5 after limit_5 retries.";
const TOKENS: u64 = 400;

async fn session() -> (Daemon, Client) {
    let mut rollout = Rollout::new(THREAD, Path::new("/w"));
    for round in 0..40 {
        rollout.message("user", &format!("Make the fetcher keep queue_{round} and limit_{round}."));
        let text = format!(
            "The fetcher keeps queue_{round} in slot_{round} and closes socket_{round} after limit_{round} retries."
        );
        rollout.message("assistant", &text);
    }
    Daemon::reading(&rollout, "").await
}

fn view(focus: Option<&str>) -> ViewParams {
    let (thread_id, focus) = (THREAD.to_owned(), focus.map(str::to_owned));
    ViewParams { thread_id, max_tokens: Some(TOKENS), focus, ..Default::default() }
}

#[tokio::test]
async fn a_view_with_a_focus_contains_a_line_that_a_plain_one_lacks() {
    let (_daemon, mut client) = session().await;
    let plain = client.call::<View>(view(None)).await.unwrap();
    assert!(!plain.text.contains(OLD), "{}", plain.text.0);
    let empty = client.call::<View>(view(Some(""))).await.unwrap();
    assert_eq!(empty.digest, plain.digest);
    let words = "socket_5 and its slot_5, token sk-proj-Q7mX2vR9tL4kW8zB3nF6yH1cJ5dG0sPa";
    let aimed = client.call::<View>(view(Some(words))).await.unwrap();
    assert!(aimed.text.contains(OLD) && !aimed.text.contains("sk-proj"), "{}", aimed.text.0);

    let (thread_id, focus) = (THREAD.to_owned(), Some(words.to_owned()));
    let max_tokens = Some(TOKENS);
    let params =
        PreviewParams { thread_id, max_tokens, focus: focus.clone(), ..Default::default() };
    let preview = client.call::<Preview>(params).await.unwrap();
    assert!(preview.view.contains(OLD), "{}", preview.view.0);
    let run = RunParams { max_tokens, focus, ..of_thread(THREAD) };
    assert_eq!(client.compact(run).await.view.0, preview.view.0);
}

#[tokio::test]
async fn a_focus_over_the_bound_is_rejected() {
    let (_daemon, mut client) = session().await;
    let long = "x".repeat(FOCUS_BYTES_MAX + 1);
    let refused = client.call::<View>(view(Some(&long))).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidParams);
    assert!(refused.message.contains("4097"), "{}", refused.message);
}
