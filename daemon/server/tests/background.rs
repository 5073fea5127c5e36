//! Compactions that nobody waits for: as jobs, through a restart, taken back, and never in a circle.

use serde_json::{Value, json};

use crate::provider::{Answer, Provider};
use crate::rollout::Rollout;
use crate::support::{Client, Daemon, soon};

const THREAD: &str = "019cadd3-0000-7000-8000-000000000005";
const SUMMARY: &str =
    "The fetcher in src/fetch.rs was made to retry; cargo test passes. Next: document it.";

fn session(home: &std::path::Path) {
    let mut rollout = Rollout::new(THREAD, home);
    rollout.message("user", "Make the fetcher retry.");
    for round in 0..60 {
        rollout.command(&format!("cargo test fetch_{round}"), 0, "running tests\n");
        rollout.message("assistant", &format!("Round {round} is through."));
    }
    rollout.write(home);
}

async fn start(client: &mut Client, params: Value) -> String {
    let answer = client.call("compaction/start", params).await;
    answer["result"]["compaction_id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

/// The compaction's job once it is in `state`.
async fn job_in(client: &mut Client, id: &str, state: &str) -> Value {
    let wait = async {
        loop {
            let answer = client.call("job/get", json!({ "job": format!("compact/{id}") })).await;
            if answer["result"]["job"]["state"] == state {
                return answer["result"].clone();
            }
        }
    };
    soon(state, wait).await
}

#[tokio::test]
async fn a_started_compaction_is_made_and_tells_how_far_it_is() {
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
    let home = tempfile::tempdir().unwrap();
    session(home.path());
    let daemon = Daemon::over(home, &provider.config("")).await;
    let mut listener = daemon.connect().await;
    let kinds = ["compaction_started", "compaction_progress", "compaction_completed"];
    listener.call("event/subscribe", json!({ "kinds": kinds })).await;
    let mut client = daemon.connect().await;
    client.call("thread/sync", json!({ "thread_id": THREAD })).await;
    let id = start(&mut client, json!({ "thread_id": THREAD })).await;
    let mut heard = Vec::new();
    while heard.last() != Some(&"compaction_completed".to_owned()) {
        let event = soon("an event", listener.hear()).await.unwrap();
        let event = &event["params"]["result"];
        assert_eq!(event["data"]["compaction_id"], id.as_str(), "{event}");
        heard.push(event["kind"].as_str().unwrap().to_owned());
    }
    heard.dedup();
    assert_eq!(heard, kinds);
    job_in(&mut client, &id, "done").await;
    let made = client.call("compaction/get", json!({ "compaction_id": id })).await;
    assert_eq!(made["result"]["strategy_used"], "hybrid", "{made}");
    assert!(made["result"]["cost"]["tokens"].as_u64().unwrap() > 0);
}

#[tokio::test]
async fn one_that_was_begun_is_taken_up_after_a_restart() {
    let hanging = Provider::start(vec![Answer::Hang]).await;
    let home = tempfile::tempdir().unwrap();
    session(home.path());
    let daemon = Daemon::over(home, &hanging.config("")).await;
    let mut client = daemon.connect().await;
    client.call("thread/sync", json!({ "thread_id": THREAD })).await;
    let thread = start(&mut client, json!({ "thread_id": THREAD })).await;
    let text = |text: String| {
        json!({ "type": "message", "role": "assistant",
            "content": [{ "type": "output_text", "text": text }] })
    };
    let items: Vec<Value> = (0..60).map(|n| text(format!("Round {n} of src/fetch.rs."))).collect();
    let given = start(&mut client, json!({ "items": items })).await;
    job_in(&mut client, &thread, "running").await;
    job_in(&mut client, &given, "running").await;
    let home = daemon.stopped().await;
    let provider = Provider::start(vec![Answer::says(SUMMARY)]).await;
    let daemon = Daemon::over(home, &provider.config("")).await;
    let mut client = daemon.connect().await;
    for id in [&thread, &given] {
        job_in(&mut client, id, "done").await;
        let made = client.call("compaction/get", json!({ "compaction_id": id })).await;
        assert_eq!(made["result"]["strategy_used"], "hybrid", "{made}");
    }
}

#[tokio::test]
async fn one_that_is_taken_back_stops_asking_at_once() {
    let provider = Provider::start(vec![Answer::Hang]).await;
    let home = tempfile::tempdir().unwrap();
    session(home.path());
    let daemon = Daemon::over(home, &provider.config("")).await;
    let mut client = daemon.connect().await;
    client.call("thread/sync", json!({ "thread_id": THREAD })).await;
    let id = start(&mut client, json!({ "thread_id": THREAD })).await;
    let asked = async {
        while provider.requests().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    soon("a request", asked).await;
    let answer = client.call("compaction/cancel", json!({ "compaction_id": id })).await;
    assert_eq!(answer["result"]["cancelled"], true, "{answer}");
    job_in(&mut client, &id, "done").await;
    let closed = async {
        while provider.hanging() > 0 {
            tokio::task::yield_now().await;
        }
    };
    soon("the connection's end", closed).await;
    let made = client.call("compaction/get", json!({ "compaction_id": id })).await;
    assert_eq!(made["error"]["data"]["kind"], "compaction_not_found");
}

#[tokio::test]
async fn a_rule_must_wait_for_real_growth_and_a_person_need_not() {
    let home = tempfile::tempdir().unwrap();
    session(home.path());
    let daemon = Daemon::over(home, "").await;
    let mut client = daemon.connect().await;
    client.call("thread/sync", json!({ "thread_id": THREAD })).await;
    let auto = json!({ "thread_id": THREAD, "trigger": "auto" });
    let first = client.call("compaction/run", auto.clone()).await;
    assert!(first["error"].is_null(), "{first}");
    let again = client.call("compaction/run", auto).await;
    assert_eq!(again["error"]["data"]["kind"], "not_worthwhile", "{again}");
    let by_hand = client.call("compaction/run", json!({ "thread_id": THREAD })).await;
    assert!(by_hand["error"].is_null(), "{by_hand}");
}
