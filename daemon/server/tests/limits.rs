//! Clients that use too much, and their effect on others.

use std::sync::Arc;
use std::time::Duration;

use jsonrpsee::RpcModule;
use longhaul_daemon::descriptors;
use longhaul_daemon::socket::Bounds;
use longhaul_protocol::event::{
    EventKind, Subscribe, SubscribeParams, Unsubscribe, UnsubscribeParams,
};
use longhaul_protocol::limit::{EVENT_QUEUE_MAX, EVENT_RING_MAX};
use longhaul_protocol::{ErrorKind, Retry, daemon, thread};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::support::{Client, Daemon, Process, Response, Rig, connected, eventually, field, soon};

fn table() -> RpcModule<()> {
    let mut module = RpcModule::new(());
    module.register_method("echo", |params, _, _| params.as_str().map(str::to_owned)).unwrap();
    module.register_method("big", |params, _, _| "x".repeat(params.one().unwrap_or(0))).unwrap();
    module
}

/// A client with one answered call.
async fn spoken(rig: &Rig) -> Client {
    let mut client = rig.connect().await;
    client.request("echo", json!([])).await;
    client
}

#[tokio::test]
async fn beyond_the_limit_a_new_client_is_rejected_and_the_others_are_served() {
    let rig = Rig::start(table(), Bounds { connections_max: 3, ..Bounds::default() });
    let mut inside = [spoken(&rig).await, spoken(&rig).await, spoken(&rig).await];
    let mut newcomer = rig.connect().await;
    let refusal = newcomer.response().await;
    assert_eq!((&refusal.id, refusal.kind()), (&Value::Null, Some(ErrorKind::ServerBusy)));
    assert_eq!(refusal.error().retry(), Retry::Backoff);
    assert_eq!(newcomer.receive().await, None);
    for client in &mut inside {
        client.request("echo", json!([])).await;
    }
    let [leaving, ..] = inside;
    drop(leaving);
    eventually("a place is free", || rig.connections() == 2).await;
    spoken(&rig).await;
}

#[tokio::test]
async fn a_silent_connection_is_evicted_for_a_new_one() {
    let rig = Rig::start(table(), Bounds { connections_max: 2, ..Bounds::default() });
    let mut silent = rig.connect().await;
    let mut kept = spoken(&rig).await;
    eventually("both are in", || rig.connections() == 2).await;
    let mut early = rig.connect().await;
    let refusal = early.response().await;
    assert_eq!(
        refusal.kind(),
        Some(ErrorKind::ServerBusy),
        "the silent one gets a moment to speak"
    );

    rig.clock.advance_ms(1_000);
    spoken(&rig).await;
    assert_eq!(silent.response().await.kind(), Some(ErrorKind::ServerBusy));
    assert_eq!(silent.receive().await, None);
    kept.request("echo", json!([])).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_open_connections_lock_nobody_out() {
    const WANTED: usize = 10_000;
    let descriptors = descriptors::raise(2 * WANTED).unwrap_or(u64::MAX);
    let count = WANTED.min(usize::try_from(descriptors).unwrap_or(WANTED).saturating_sub(1_000));
    if count < WANTED {
        eprintln!(
            "not run: {WANTED} connections, only {descriptors} descriptors are allowed; {count} instead"
        );
    }
    let rig = Rig::start(table(), Bounds { connections_max: 64, ..Bounds::default() });
    let mut before = spoken(&rig).await;
    let mut crowd = Vec::with_capacity(count);
    for at in 0..count {
        crowd.push(connected(&rig.socket).await);
        if at % 1_000 == 0 {
            before.request("echo", json!([])).await;
        }
    }
    rig.clock.advance_ms(1_000);
    before.request("echo", json!([])).await;
    spoken(&rig).await;
    assert!(rig.connections() <= 65, "{} connections", rig.connections());
}

#[tokio::test]
async fn a_daemon_out_of_descriptors_serves_its_clients_and_recovers() {
    let home = tempfile::tempdir().unwrap();
    // A hard limit, which the daemon cannot raise.
    let (daemon, mut before) = Process::after("ulimit -n 40", home.path()).await;
    before.status().await;
    let mut crowd = Vec::new();
    for _ in 0..80 {
        crowd.push(Client::connect(&daemon.socket).await);
    }
    for _ in 0..50 {
        before.status().await;
    }
    drop(crowd);
    Client::connect(&daemon.socket).await.status().await;
    daemon.stopped().await;
}

#[tokio::test]
async fn a_client_that_never_reads_is_closed_and_the_others_are_served() {
    // Before and after the first check whether it still exists.
    for write_timeout_ms in [200, 700] {
        let write_timeout = Duration::from_millis(write_timeout_ms);
        let rig = Rig::start(table(), Bounds { write_timeout, ..Bounds::default() });
        let mut other = spoken(&rig).await;
        let mut greedy = rig.connect().await;
        greedy.send_request("big", json!([4_000_000])).await;
        eventually("the greedy one is in", || rig.connections() == 2).await;
        for _ in 0..10 {
            other.request("echo", json!([])).await;
        }
        eventually("the greedy one is out", || rig.connections() == 1).await;
        other.request("echo", json!([])).await;
    }
}

#[tokio::test]
async fn calls_of_a_client_that_never_reads_do_not_block_others() {
    // A method that needs an exclusive resource, such as reading from the store.
    let reader = Arc::new(Semaphore::new(1));
    let mut table = RpcModule::new(());
    table
        .register_async_method("read", move |_, _, _| {
            let reader = reader.clone();
            async move {
                let held = reader.acquire().await.unwrap();
                tokio::task::yield_now().await;
                drop(held);
                "x".repeat(300_000)
            }
        })
        .unwrap();
    let rig = Rig::start(table, Bounds::default());
    let mut greedy = rig.connect().await;
    for _ in 0..100 {
        greedy.send_request("read", json!([])).await;
    }
    eventually("the greedy one is in", || rig.connections() == 1).await;
    let mut other = rig.connect().await;
    for _ in 0..10 {
        soon("an answer", other.request("read", json!([]))).await;
    }
    let first = greedy.response().await;
    assert_eq!(first.result().as_str().unwrap().len(), 300_000, "nothing of it is lost");
}

#[tokio::test]
async fn memory_for_all_clients_is_bounded_and_the_largest_users_are_closed() {
    const BOUND: usize = 8 << 20;
    let rig = Rig::start(table(), Bounds { held_bytes_max: BOUND, ..Bounds::default() });
    let mut other = spoken(&rig).await;
    // Endless messages, and answers that are not read: four times the limit.
    let mut halves = Vec::new();
    for _ in 0..16 {
        let mut half = rig.connect().await;
        // The daemon may close a connection before everything is sent.
        half.try_send(&vec![b'x'; 1 << 20]).await;
        halves.push(half);
        other.request("echo", json!([])).await;
    }
    let mut unread = Vec::new();
    for _ in 0..8 {
        let mut client = rig.connect().await;
        client.send_request("big", json!([2 << 20])).await;
        unread.push(client);
        other.request("echo", json!([])).await;
    }
    eventually("the greediest are out", || rig.connections() <= 9).await;
    let mut refused = 0;
    for half in &mut halves {
        let received = tokio::time::timeout(Duration::from_millis(20), half.receive()).await;
        let refusal = received.ok().flatten().map(|message| Response::from_wire(&message));
        refused += usize::from(
            refusal.is_some_and(|refusal| refusal.kind() == Some(ErrorKind::ServerBusy)),
        );
    }
    assert!(refused > 0, "those that read learn why");
    other.request("echo", json!([])).await;
    spoken(&rig).await;
}

#[tokio::test]
async fn a_client_that_reads_late_loses_nothing() {
    let rig = Rig::start(table(), Bounds::default());
    let mut client = rig.connect().await;
    for _ in 0..40 {
        client.send_request("big", json!([100_000])).await;
    }
    for id in 1..=40 {
        let answer = client.response().await;
        assert_eq!(
            (answer.id.as_u64(), answer.result().as_str().unwrap().len()),
            (Some(id), 100_000)
        );
    }
}

#[tokio::test]
async fn a_connection_of_another_user_is_closed_without_an_answer() {
    let somebody_else = rustix::process::geteuid().as_raw() + 1;
    let rig = Rig::start_for(table(), Bounds::default(), Some(somebody_else));
    let mut client = rig.connect().await;
    assert_eq!(client.receive().await, None);
    assert_eq!(rig.connections(), 0);
}

#[tokio::test]
async fn subscriptions_are_bounded_and_end_when_unsubscribed() {
    let (_daemon, mut client) = Daemon::start_with_client().await;
    let all = SubscribeParams::default;
    let mut ids = Vec::new();
    for _ in 0..8 {
        ids.push(client.call::<Subscribe>(all()).await.unwrap().subscription);
    }
    let error = client.call::<Subscribe>(all()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooManySubscriptions);
    let unsubscribe = UnsubscribeParams { subscription: ids[0].clone() };
    assert!(client.call::<Unsubscribe>(unsubscribe.clone()).await.unwrap().ended);
    assert!(!client.call::<Unsubscribe>(unsubscribe).await.unwrap().ended);
    // The subscription's own task frees its place.
    let resubscribed = async { while client.call::<Subscribe>(all()).await.is_err() {} };
    soon("a place for a subscription", resubscribed).await;
}

#[tokio::test]
async fn a_slow_subscriber_gets_a_gap_instead_of_silence() {
    let (daemon, mut slow) = Daemon::start_with_client().await;
    let mut quick = daemon.connect().await;
    slow.subscribe(&[EventKind::ThreadUpdated]).await;
    let long = "x".repeat(2_000);
    let published = EVENT_RING_MAX + EVENT_QUEUE_MAX;
    for at in 0..published {
        daemon
            .deps
            .events
            .publish(EventKind::ThreadUpdated, json!({ "thread_id": at, "cwd": long }));
        if at % 500 == 0 {
            quick.status().await;
        }
    }
    let last = daemon.deps.events.latest_seq();
    let (mut seen, mut missed, mut next) = (0, 0, None);
    while next != Some(last + 1) {
        let event = slow.event().await;
        if event.kind == EventKind::Gap {
            missed += field(&event.data, "missed").as_u64().unwrap();
        } else {
            let is_next = next.is_none_or(|next| event.seq == next);
            assert!(is_next, "events come in order, without silent holes");
            seen += 1;
        }
        next = Some(event.seq + 1);
    }
    assert!(missed > 0, "this much is not buffered for anyone");
    assert_eq!(seen + missed, published as u64);
}

#[tokio::test]
async fn calls_are_counted_with_their_errors_and_times() {
    let (_daemon, mut client) = Daemon::start_with_client().await;
    for _ in 0..3 {
        client.threads().await;
    }
    let nobody = thread::ThreadGetParams { thread_id: "nobody".into() };
    client.call::<thread::ThreadGet>(nobody).await.unwrap_err();
    client.request("no/such", json!({})).await;
    let metrics = client.call::<daemon::Metrics>(daemon::NoParams {}).await.unwrap();
    let counted = |method: &str| {
        let found = metrics.methods.iter().find(|found| found.method == method)?;
        assert!(found.p50_us <= found.p99_us && found.p99_us <= found.max_us, "{found:?}");
        assert!(found.max_us > 0, "{found:?}");
        Some((found.calls, found.errors))
    };
    assert_eq!(counted("thread/list"), Some((3, 0)), "{metrics:?}");
    assert_eq!(counted("thread/get"), Some((1, 1)), "{metrics:?}");
    assert_eq!(counted("no/such"), None, "{metrics:?}");
    assert_eq!((metrics.in_flight, metrics.connections, metrics.panics), (0, 1, 0));
    assert!(metrics.stored_bytes > 0, "{metrics:?}");
    let process = metrics.process.unwrap();
    assert!(process.resident_bytes > 0 && process.threads > 0, "{process:?}");
    assert!(process.resident_peak_bytes >= process.resident_bytes / 2, "{process:?}");
}
