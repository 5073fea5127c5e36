//! The kinds of job that keep house: `prune` and `reindex`, asked for by themselves and by a person.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::rollout::Rollout;
use crate::support::{Client, Daemon, soon};

const THREAD: &str = "019cadd3-0000-7000-8000-0000000000c1";
const DAY_MS: i64 = 86_400_000;

fn session(home: &Path) {
    let mut rollout = Rollout::new(THREAD, Path::new("/w/app"));
    rollout.message("user", "Make the fetcher retry.");
    for round in 0..60 {
        rollout.command(&format!("cargo test fetch_{round}"), 0, "running tests\n");
        rollout.message("assistant", &format!("Round {round} is through."));
    }
    rollout.write(home);
}

async fn daemon_with(config: &str) -> (Daemon, Client) {
    let home = tempfile::tempdir().unwrap();
    session(home.path());
    let daemon = Daemon::over(home, config).await;
    let mut client = daemon.connect().await;
    client.call("thread/sync", json!({ "thread_id": THREAD })).await;
    (daemon, client)
}

/// The job once a run that was asked for after `epoch` is through.
async fn ran_after(client: &mut Client, job: &str, epoch: u64) -> Value {
    let ran = async {
        loop {
            let answer = client.call("job/get", json!({ "job": job })).await["result"].take();
            let is_newer = answer["job"]["epoch"].as_u64().is_some_and(|found| found > epoch);
            if is_newer && answer["job"]["state"] == "done" {
                return answer["job"].clone();
            }
        }
    };
    soon(job, ran).await
}

async fn compactions(client: &mut Client) -> usize {
    let list = client.call("compaction/list", json!({})).await;
    list["result"]["compactions"].as_array().unwrap().len()
}

#[tokio::test]
async fn pruning_is_a_job_that_a_clock_set_ahead_does_not_mislead() {
    let (daemon, mut client) = daemon_with("").await;
    let first = ran_after(&mut client, "prune/", 0).await;
    client.call("compaction/run", json!({ "thread_id": THREAD })).await;
    let asked = client.call("compaction/start", json!({ "thread_id": THREAD })).await;
    let job = format!("compact/{}", asked["result"]["compaction_id"].as_str().unwrap());
    ran_after(&mut client, &job, 0).await;
    assert_eq!(compactions(&mut client).await, 2);

    daemon.clock.set_wall_ms(daemon.clock.now_ms() + 400 * DAY_MS);
    client.call("job/retry", json!({ "job": "prune/" })).await;
    let second = ran_after(&mut client, "prune/", first["epoch"].as_u64().unwrap()).await;
    assert_eq!(compactions(&mut client).await, 2, "nothing is older than it was");

    daemon.clock.set_wall_ms(daemon.clock.now_ms() - 400 * DAY_MS);
    daemon.clock.advance_ms(91 * DAY_MS);
    client.call("job/retry", json!({ "job": "prune/" })).await;
    ran_after(&mut client, "prune/", second["epoch"].as_u64().unwrap()).await;
    assert_eq!(compactions(&mut client).await, 0, "over their 90 days");
    let gone = client.call("job/get", json!({ "job": job })).await;
    assert_eq!(gone["error"]["data"]["kind"], "job_not_found", "jobs that ended go, too: {gone}");
    daemon.stopped().await;
}

#[tokio::test]
async fn what_a_compaction_still_needs_is_not_pruned() {
    let (daemon, mut client) = daemon_with("[jobs.compact]\noutside = true\n").await;
    let text = |n: u32| {
        json!({ "type": "message", "role": "assistant",
            "content": [{ "type": "output_text", "text": format!("Round {n} of src/fetch.rs.") }] })
    };
    let items: Vec<Value> = (0..60).map(text).collect();
    let asked = client.call("compaction/start", json!({ "items": items })).await;
    let id = asked["result"]["compaction_id"].as_str().unwrap().to_owned();
    ran_after(&mut client, "prune/", 0).await;
    // Long after what was just written on the real clock.
    daemon.clock.set_wall_ms(4_000_000_000_000);
    client.call("job/retry", json!({ "job": "prune/" })).await;
    ran_after(&mut client, "prune/", 1).await;
    let daemon = Daemon::over(daemon.stopped().await, "").await;
    let mut client = daemon.connect().await;
    ran_after(&mut client, &format!("compact/{id}"), 0).await;
    let made = client.call("compaction/get", json!({ "compaction_id": id })).await;
    assert!(made["error"].is_null(), "{made}");
    daemon.stopped().await;
}

#[tokio::test]
async fn the_search_index_is_made_anew_when_a_person_asks() {
    let (daemon, mut client) = daemon_with("").await;
    let search = json!({ "query": "fetch_17" });
    let found = async {
        loop {
            let answer = client.call("thread/search", search.clone()).await;
            if answer["result"]["hits"].as_array().is_some_and(|hits| !hits.is_empty()) {
                return answer["result"]["hits"].clone();
            }
        }
    };
    let before = soon("the item is found", found).await;
    let index = daemon.deps.config.now().state_dir.join("search.db");
    // Held open, so that its number is not given to another file.
    let old = std::fs::File::open(&index).unwrap();
    let asked = client.call("job/retry", json!({ "job": "reindex/search" })).await;
    assert!(asked["error"].is_null(), "{asked}");
    ran_after(&mut client, "reindex/search", 0).await;
    let (made, old) = (std::fs::metadata(&index).unwrap(), old.metadata().unwrap());
    assert_ne!(made.ino(), old.ino(), "another file");
    let after = client.call("thread/search", search.clone()).await;
    assert_eq!(after["result"]["hits"], before, "all is found again when the job is done");
    daemon.stopped().await;
}

#[tokio::test]
async fn a_thread_without_a_job_says_why() {
    let (daemon, mut client) = daemon_with("[memory]\nenabled = false\n").await;
    let why = |thread: &str| json!({ "job": format!("extract/{thread}") });
    let told = client.call("job/why", why(THREAD)).await["result"].take();
    let found = (&told["reason"], &told["skipped"], &told["job"]);
    assert_eq!(found, (&json!("not_asked"), &json!("busy"), &Value::Null), "{told}");
    client.call("memory/run", json!({ "all": true })).await;
    let told = client.call("job/why", why(THREAD)).await["result"].take();
    let found = (&told["reason"], &told["skipped"]);
    assert_eq!(found, (&json!("nothing_owed"), &json!("nothing_new")), "{told}");
    let nobody = client.call("job/why", why("019cadd3-0000-7000-8000-00000000dead")).await;
    assert_eq!(nobody["error"]["data"]["kind"], "thread_not_found", "{nobody}");
    daemon.stopped().await;
}
