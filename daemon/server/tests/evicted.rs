//! Which connections are closed for others, and which never are.

use std::sync::Arc;
use std::time::Duration;

use jsonrpsee::RpcModule;
use longhaul_daemon::socket::Bounds;
use longhaul_protocol::ErrorKind;
use longhaul_protocol::event::EventKind;
use serde_json::json;
use tokio::sync::Semaphore;

use crate::support::{Client, Daemon, Rig, eventually};

/// The last message to a connection that the daemon closes.
async fn goodbye(client: &mut Client) -> String {
    let last = client.response().await;
    assert_eq!(last.kind(), Some(ErrorKind::ServerBusy), "{last:?}");
    assert_eq!(client.receive().await, None, "the connection is closed");
    last.error().message.clone()
}

#[tokio::test]
async fn the_connection_idle_longest_is_closed_for_a_new_one_and_a_subscriber_last() {
    let daemon = Daemon::with_config("[server]\nconnections_max = 3\n").await;
    let spoken = async || {
        daemon.clock.advance_ms(2_000);
        let mut client = daemon.connect().await;
        client.status().await;
        client
    };
    let mut subscriber = daemon.connect().await;
    subscriber.subscribe(&[EventKind::ThreadUpdated]).await;
    let (mut first, mut second) = (spoken().await, spoken().await);
    let mut third = spoken().await;
    assert!(goodbye(&mut first).await.contains("idle longest"));
    // A call makes it the least idle of all.
    daemon.clock.advance_ms(2_000);
    second.status().await;
    let mut fourth = spoken().await;
    assert!(goodbye(&mut third).await.contains("idle longest"));
    for client in [&mut subscriber, &mut second, &mut fourth] {
        client.status().await;
    }
}

#[tokio::test]
async fn a_connection_that_waits_for_an_answer_is_not_closed_for_a_new_one() {
    let gate = Arc::new(Semaphore::new(0));
    let mut table = RpcModule::from_arc(Arc::new(gate.clone()));
    table
        .register_async_method("wait", |_, gate, _| async move {
            gate.acquire().await.unwrap().forget();
            "waited"
        })
        .unwrap();
    let rig = Rig::start(table, Bounds { connections_max: 1, ..Bounds::default() });
    let mut waiting = rig.connect().await;
    waiting.send_request("wait", json!([])).await;
    eventually("the call has begun", || rig.in_flight() == 1).await;
    rig.clock.advance_ms(3_600_000);
    let mut newcomer = rig.connect().await;
    goodbye(&mut newcomer).await;
    gate.add_permits(1);
    assert_eq!(waiting.response().await.result(), "waited");
}

#[tokio::test]
async fn a_message_that_is_never_completed_ends_its_connection_only() {
    let mut table = RpcModule::new(());
    table.register_method("echo", |params, _, _| params.as_str().map(str::to_owned)).unwrap();
    let frame_timeout = Duration::from_millis(200);
    let rig = Rig::start(table, Bounds { frame_timeout, ..Bounds::default() });
    let mut other = rig.connect().await;
    other.request("echo", json!([])).await;
    let mut half = rig.connect().await;
    half.send("{\"jsonrpc\":").await;
    assert!(goodbye(&mut half).await.contains("not completed"));
    other.request("echo", json!([])).await;
    eventually("only the other one is open", || rig.connections() == 1).await;
}
