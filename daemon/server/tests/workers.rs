//! Workers outside the daemon work by the rules of those inside; what a killed daemon left is taken up.

use longhaul_core::job::{self, JobKey, JobRequest, Kind};
use longhaul_store::Store;
use serde_json::{Value, json};

use crate::support::{Client, Daemon, soon};

/// Leaves a kind of job to workers outside.
pub const OUTSIDE: &str = "[jobs.reindex]\noutside = true\n";

/// A job of a kind that is left to workers outside.
pub async fn owe(daemon: &Daemon, subject: &str) {
    let database = daemon.deps.config.now().state_dir.join("longhaul.db");
    let (store, _) = Store::open(&database, daemon.clock.now_ms()).await.unwrap();
    let key = JobKey { kind: Kind::Reindex, subject: subject.to_owned() };
    let (input, payload) = ("1".to_owned(), "{}".to_owned());
    let asked = JobRequest { key: key.clone(), input, payload, priority: 0, urgent: false };
    let now = daemon.clock.moment();
    let decide = move |found| (Some(job::request(found, asked, &now)), ());
    store.job_decide(&key, decide).await.unwrap();
    store.close().await;
}

async fn claim(client: &mut Client, worker: &str) -> Value {
    let answer = client.call("job/claim", json!({ "kind": "reindex", "worker": worker })).await;
    assert!(answer["error"].is_null(), "{answer}");
    answer["result"]["claim"].clone()
}

fn held(claim: &Value) -> Value {
    json!({ "job": claim["job"]["job"], "token": claim["token"] })
}

#[tokio::test]
async fn a_worker_that_was_taken_over_changes_nothing() {
    let daemon = Daemon::with_config(OUTSIDE).await;
    owe(&daemon, "search").await;
    let mut client = daemon.connect().await;
    let first = claim(&mut client, "one").await;
    assert_eq!(first["job"]["holder"], "worker:one");
    assert!(claim(&mut client, "two").await.is_null(), "one at a time");

    let stop_in_ms = first["stop_in_ms"].as_i64().unwrap();
    daemon.clock.advance_ms(stop_in_ms / 2);
    let beat = client.call("job/heartbeat", held(&first)).await;
    assert_eq!(beat["result"]["stop_in_ms"], stop_in_ms, "renewed whole");

    // As if it had been stopped (SIGSTOP, a suspend) past its lease: it is lost, taken or not.
    daemon.clock.advance_ms(2 * stop_in_ms);
    for method in ["job/heartbeat", "job/complete"] {
        let late = client.call(method, held(&first)).await;
        assert_eq!(late["error"]["data"]["kind"], "lease_lost", "{method}: {late}");
    }
    let second = claim(&mut client, "two").await;
    assert_eq!((&second["job"]["attempts"], &second["job"]["epoch"]), (&json!(2), &json!(2)));
    let late = client.call("job/complete", held(&first)).await;
    assert_eq!(late["error"]["data"]["kind"], "lease_lost");
    let done = client.call("job/complete", held(&second)).await;
    assert_eq!(done["result"]["job"]["state"], "done");
    let twice = client.call("job/complete", held(&second)).await;
    assert_eq!(twice["error"]["data"]["kind"], "lease_lost", "settled once");
    daemon.stopped().await;
}

#[tokio::test]
async fn failures_are_told_apart_and_hold_no_secret() {
    let daemon = Daemon::with_config(OUTSIDE).await;
    owe(&daemon, "search").await;
    let mut client = daemon.connect().await;
    let mut params = held(&claim(&mut client, "one").await);
    params["kind"] = json!("interrupted");
    params["detail"] = json!("password=hunter2-hunter2-hunter2");
    let failed = client.call("job/fail", params).await;
    let job = &failed["result"]["job"];
    assert_eq!((&job["state"], &job["attempts"]), (&json!("queued"), &json!(0)), "given back");
    assert!(!failed.to_string().contains("hunter2"), "{failed}");
    let mut params = held(&claim(&mut client, "one").await);
    params["kind"] = json!("permanent");
    params["detail"] = json!("it can never work");
    let failed = client.call("job/fail", params).await;
    assert_eq!(failed["result"]["job"]["state"], "dead");
    assert!(claim(&mut client, "one").await.is_null());
    daemon.stopped().await;
}

#[tokio::test]
async fn a_claim_outlives_the_daemon_but_not_its_lease() {
    let daemon = Daemon::with_config(OUTSIDE).await;
    owe(&daemon, "search").await;
    let mut client = daemon.connect().await;
    let first = claim(&mut client, "one").await;
    // The manual clock of the next daemon begins anew: the same boot, the same moment.
    let daemon = Daemon::over(daemon.stopped().await, OUTSIDE).await;
    let mut client = daemon.connect().await;
    assert!(claim(&mut client, "two").await.is_null(), "it is still the first worker's");
    let done = client.call("job/complete", held(&first)).await;
    assert_eq!(done["result"]["job"]["state"], "done", "{done}");
    daemon.stopped().await;
}

#[tokio::test]
async fn a_wall_clock_that_is_set_takes_no_claim_and_stretches_no_wait() {
    let daemon = Daemon::with_config(OUTSIDE).await;
    owe(&daemon, "search").await;
    let mut client = daemon.connect().await;
    let began_ms = daemon.clock.now_ms();
    let clocks = [began_ms - 3_600_000, began_ms + 86_400_000, 0, began_ms + 10_000_000_000_000];
    for wall_ms in clocks {
        let held_by = claim(&mut client, "one").await;
        daemon.clock.set_wall_ms(wall_ms);
        assert!(claim(&mut client, "two").await.is_null(), "at {wall_ms} it is still the first's");
        let mut params = held(&held_by);
        params["kind"] = json!("rate_limited");
        params["detail"] = json!("slow down");
        params["retry_after_ms"] = json!(120_000);
        client.call("job/fail", params).await;
        daemon.clock.set_wall_ms(began_ms - 7_200_000);
        let why = client.call("job/why", json!({ "job": "reindex/search" })).await;
        let why = &why["result"];
        assert_eq!(
            (&why["reason"], &why["wait_ms"]),
            (&json!("waiting"), &json!(120_000)),
            "{why}"
        );
        assert_eq!(why["text"], "it waits after a failure: slow down");
        daemon.clock.advance_ms(120_000);
        let why = client.call("job/why", json!({ "job": "reindex/search" })).await;
        assert_eq!(why["result"]["reason"], "due", "after {wall_ms}");
    }
    daemon.stopped().await;
}

#[tokio::test]
async fn what_waits_for_another_configuration_is_woken_by_it() {
    let daemon = Daemon::with_config(OUTSIDE).await;
    owe(&daemon, "search").await;
    let mut client = daemon.connect().await;
    let mut params = held(&claim(&mut client, "one").await);
    params["kind"] = json!("unauthorized");
    params["detail"] = json!("no key");
    client.call("job/fail", params).await;
    let why = client.call("job/why", json!({ "job": "reindex/search" })).await;
    assert_eq!(why["result"]["reason"], "parked", "{why}");
    client.call("daemon/reload", json!({})).await;
    let due = async {
        loop {
            let why = client.call("job/why", json!({ "job": "reindex/search" })).await;
            if why["result"]["reason"] == "due" {
                return;
            }
        }
    };
    soon("it is due", due).await;
    daemon.stopped().await;
}

#[tokio::test]
async fn no_room_and_a_missing_job_say_so() {
    let daemon = Daemon::with_config(OUTSIDE).await;
    owe(&daemon, "a").await;
    owe(&daemon, "b").await;
    let mut client = daemon.connect().await;
    let why = async |client: &mut Client, job: &str| {
        client.call("job/why", json!({ "job": job })).await["result"].take()
    };
    assert_eq!(why(&mut client, "reindex/search").await["reason"], "not_asked");
    claim(&mut client, "one").await;
    let told = why(&mut client, "reindex/b").await;
    assert_eq!(told["reason"], "no_room", "{told}");
    assert_eq!(told["text"], "1 of its kind run already, as many as may");
    daemon.stopped().await;
}
