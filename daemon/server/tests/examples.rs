//! The protocol's examples against a real daemon that has read the sample session.

use std::path::Path;

use longhaul_core::job::Kind;
use longhaul_protocol::example::{Bindings, examples};
use longhaul_protocol::thread::IndexState;

use crate::support::{Daemon, soon};
use crate::workers::{OUTSIDE, request_job};

#[tokio::test]
async fn every_example_gets_its_answer() {
    let home = tempfile::tempdir().unwrap();
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../samples/codex-home/sessions");
    copy(&sample, &home.path().join(".codex/sessions"));
    let (daemon, mut client) = Daemon::with_client(home, OUTSIDE).await;
    let listed = async {
        loop {
            if let Some(thread) = client.threads().await.pop() {
                return thread;
            }
        }
    };
    let thread = soon("the sample is listed", listed).await;
    client.sync(&thread.thread_id).await;
    let indexed = async { while client.status().await.search.state != IndexState::Idle {} };
    soon("the sample is indexed", indexed).await;
    crate::archive::archived(&mut client).await;

    request_job(&daemon, Kind::Reindex, "a").await;
    request_job(&daemon, Kind::Reindex, "b").await;

    let new_file = daemon.home.path().join("restored.jsonl").display().to_string();
    let mut bindings = Bindings::default().bind("$NEW_FILE", new_file);
    for example in examples().unwrap() {
        let mut client = daemon.connect().await;
        for exchange in &example.exchanges {
            // No model is configured here; `memory_agent` tests this method.
            if exchange.name == "the model's next step" {
                continue;
            }
            let name = format!("{}: {}", example.method.as_deref().unwrap_or("any"), exchange.name);
            let request =
                bindings.fill(&exchange.request).unwrap_or_else(|e| panic!("{name}: {e}"));
            client.send_message(&request).await;
            let answer = client.receive().await.unwrap_or_else(|| panic!("{name}: no answer"));
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
