//! Background compactions: jobs, restarts, cancellation, and the guard against loops.

use longhaul_protocol::ErrorKind;
use longhaul_protocol::compaction::{self, Strategy, Trigger};
use longhaul_protocol::event::EventKind;
use serde_json::{Value, json};

use crate::support::provider::{Answer, Provider};
use crate::support::rollout::Rollout;
use crate::support::{Client, Daemon, eventually, message, of_items, of_thread, soon, text_at};

const THREAD: &str = "019cadd3-0000-7000-8000-000000000005";
const SUMMARY: &str =
    "The fetcher in src/fetch.rs was made to retry; cargo test passes. Next: document it.";

/// A daemon that has read a long session.
async fn session(config: &str) -> (Daemon, Client) {
    let home = tempfile::tempdir().unwrap();
    Rollout::with_rounds(THREAD, home.path(), "Make the fetcher retry.", 60).write(home.path());
    Daemon::synced(home, config, THREAD).await
}

fn job(compaction_id: &str) -> String {
    format!("compact/{compaction_id}")
}

#[tokio::test]
async fn a_started_compaction_reports_its_progress_and_is_kept() {
    let long = format!("{SUMMARY} {}", "It keeps its interface. ".repeat(20));
    let mut events: Vec<Value> = long
        .as_bytes()
        .chunks(40)
        .map(|words| {
            json!({ "type": "response.output_text.delta", "delta": String::from_utf8_lossy(words) })
        })
        .collect();
    events.push(json!({ "type": "response.completed", "response": {} }));
    let provider = Provider::start(vec![Answer::Events(events)]).await;
    let (daemon, mut client) = session(&provider.config("")).await;
    let mut listener = daemon.connect().await;
    let kinds = [
        EventKind::CompactionStarted,
        EventKind::CompactionProgress,
        EventKind::CompactionCompleted,
    ];
    listener.subscribe(&kinds).await;
    let id = client.start_compaction(of_thread(THREAD)).await;
    let mut received = Vec::new();
    while received.last() != Some(&EventKind::CompactionCompleted) {
        let event = soon("an event", listener.event()).await;
        assert_eq!(text_at(&event.data, "compaction_id"), id);
        received.push(event.kind);
    }
    received.dedup();
    assert_eq!(received, kinds);
    client.job_in(&job(&id), "done").await;
    let run = client.compaction(&id).await.run;
    assert_eq!(run.strategy_used, Strategy::Hybrid);
    assert!(run.cost.tokens > 0);
}

#[tokio::test]
async fn a_running_compaction_is_resumed_after_a_restart() {
    let hanging = Provider::start(vec![Answer::Hang]).await;
    let (daemon, mut client) = session(&hanging.config("")).await;
    let items: Vec<Value> =
        (0..60).map(|n| message("assistant", &format!("Round {n} of src/fetch.rs."))).collect();
    let ids = [
        client.start_compaction(of_thread(THREAD)).await,
        client.start_compaction(of_items(items)).await,
    ];
    for id in &ids {
        client.job_in(&job(id), "running").await;
    }
    let home = daemon.stopped().await;
    let provider = Provider::start(vec![Answer::says(SUMMARY)]).await;
    let (_daemon, mut client) = Daemon::with_client(home, &provider.config("")).await;
    for id in &ids {
        client.job_in(&job(id), "done").await;
        assert_eq!(client.compaction(id).await.run.strategy_used, Strategy::Hybrid);
    }
}

#[tokio::test]
async fn a_cancelled_compaction_closes_its_request_to_the_model() {
    let provider = Provider::start(vec![Answer::Hang]).await;
    let (_daemon, mut client) = session(&provider.config("")).await;
    let id = client.start_compaction(of_thread(THREAD)).await;
    eventually("the model receives a request", || provider.hanging() == 1).await;
    let cancel = compaction::CancelParams { compaction_id: id.clone() };
    assert!(client.call::<compaction::Cancel>(cancel).await.unwrap().cancelled);
    client.job_in(&job(&id), "done").await;
    eventually("the connection is closed", || provider.hanging() == 0).await;
    let get = compaction::CompactionGetParams { compaction_id: id };
    let error = client.call::<compaction::CompactionGet>(get).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CompactionNotFound);
}

#[tokio::test]
async fn an_automatic_compaction_needs_growth_and_a_manual_one_does_not() {
    let (_daemon, mut client) = session("").await;
    let auto = compaction::RunParams { trigger: Some(Trigger::Auto), ..of_thread(THREAD) };
    client.compact(auto.clone()).await;
    let again = client.call::<compaction::Run>(auto).await.unwrap_err();
    assert_eq!(again.kind(), ErrorKind::NotWorthwhile);
    client.compact(of_thread(THREAD)).await;
}
