//! The protocol's examples against a real daemon that has read the sample session.

use std::path::Path;

use longhaul_protocol::example::{Bindings, examples};
use serde_json::json;

use crate::support::Daemon;
use crate::workers::{OUTSIDE, owe};

#[tokio::test]
async fn every_example_is_answered_as_it_says() {
    let home = tempfile::tempdir().unwrap();
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../samples/codex-home/sessions");
    copy(&sample, &home.path().join(".codex/sessions"));
    let daemon = Daemon::over(home, OUTSIDE).await;
    let threads = loop {
        let answer = daemon.connect().await.call("thread/list", json!({})).await;
        let threads = answer["result"]["threads"].as_array().unwrap().clone();
        if !threads.is_empty() {
            break threads;
        }
    };
    let sync = json!({ "thread_id": threads[0]["thread_id"] });
    daemon.connect().await.call("thread/sync", sync).await;

    let mut client = daemon.connect().await;
    while client.call("daemon/status", json!({})).await["result"]["search"]["state"] != "idle" {
        tokio::task::yield_now().await;
    }

    owe(&daemon, "a").await;
    owe(&daemon, "b").await;

    let mut bindings = Bindings::default();
    for example in examples().unwrap() {
        let mut client = daemon.connect().await;
        for exchange in &example.exchanges {
            let name = format!("{}: {}", example.method.as_deref().unwrap_or("any"), exchange.name);
            let request =
                bindings.fill(&exchange.request).unwrap_or_else(|e| panic!("{name}: {e}"));
            client.say(&request).await;
            let answer = client.hear().await.unwrap_or_else(|| panic!("{name}: no answer"));
            let matched = bindings.matches(&exchange.response, &answer);
            matched.unwrap_or_else(|mismatch| panic!("{name}: {mismatch}\n{request}\n{answer}"));
        }
    }
    daemon.ended().await.unwrap();
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
