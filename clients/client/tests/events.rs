use longhaul_client::scripted::{Reply, Script};
use longhaul_protocol::{daemon, event};
use serde_json::json;

use crate::Daemon;

fn event(seq: u64, kind: &str) -> String {
    let result = json!({ "seq": seq, "at": 0, "kind": kind, "data": {}, "more": true });
    let params = json!({ "subscription": "s1", "result": result });
    json!({ "jsonrpc": "2.0", "method": "event", "params": params }).to_string()
}

#[tokio::test]
async fn events_come_in_order_also_those_that_overtake_the_answer_and_end_with_the_connection() {
    let script = Script::from_examples().unwrap().on::<event::Subscribe>(|_| {
        let events = (1..=600).map(|seq| event(seq, "thread_updated"));
        Reply::ResultThen(json!({ "subscription": "s1", "seq": 0 }), events.collect())
    });
    let daemon = Daemon::start(script.on::<daemon::Shutdown>(|_| Reply::Close));
    let client = daemon.connect().await.unwrap();
    let mut events = client.subscribe(event::SubscribeParams::default()).await.unwrap();
    for seq in 1..=600 {
        assert_eq!(events.next().await.unwrap().seq, seq);
    }
    let ended = client.call::<daemon::Shutdown>(Default::default()).await;
    assert!(ended.is_err());
    assert_eq!(events.next().await, None);
}

#[tokio::test]
async fn closing_and_dropping_a_subscription_unsubscribe_once() {
    let daemon = Daemon::start(Script::from_examples().unwrap());
    let client = daemon.connect().await.unwrap();
    let subscribe = || client.subscribe(event::SubscribeParams::default());
    subscribe().await.unwrap().close().await.unwrap();
    assert_eq!(unsubscribed(&daemon), 1);

    drop(subscribe().await.unwrap());
    let until_heard = async {
        while unsubscribed(&daemon) < 2 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(10), until_heard).await.unwrap();
}

fn unsubscribed(daemon: &Daemon) -> usize {
    daemon.server.calls::<event::Unsubscribe>().unwrap().len()
}
