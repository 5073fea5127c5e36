//! The kernel's limits of watches.

use std::fs;

use super::script::lay_out;
use super::shim::{Fault, PATIENCE, Place, Trigger};
use crate::support::Client;
use crate::support::rollout::Rollout;

#[tokio::test]
async fn without_watches_files_are_read_by_scanning_and_the_status_says_so_until_there_are_some() {
    let place = Place::new();
    lay_out(&place.home());
    let trigger = Trigger { fault: Fault::Watches, at: 0, length: 0 };
    let subject = place.start(trigger, false).await.unwrap();
    let mut client = Client::connect(&subject.socket).await;
    until(&mut client, 3, true).await;
    subject.set_fault(Fault::None);
    until(&mut client, 3, false).await;

    // None is left for a new folder.
    subject.set_fault(Fault::Watches);
    let aside = place.home().join("aside");
    let mut added = Rollout::new("019cadd3-0000-7000-8000-00000000000a", &aside);
    added.message("user", "Hello.").write(&aside);
    let sessions = |home: &std::path::Path| home.join(".codex/sessions");
    fs::rename(sessions(&aside), sessions(&place.home()).join("2031")).unwrap();
    until(&mut client, 4, true).await;
    subject.set_fault(Fault::None);
    until(&mut client, 4, false).await;
    subject.stop().await;
}

/// Waits until so many threads were read, and the status says whether changes are found by scanning only.
async fn until(client: &mut Client, threads: u64, is_degraded: bool) {
    let seen = async {
        loop {
            let status = client.status().await;
            let read: u64 = status.sources.iter().map(|source| source.threads).sum();
            let says = status.warnings.iter().any(|warning| warning.kind == "watch_degraded");
            if (read, says) == (threads, is_degraded) {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    let what = format!("{threads} threads, degraded: {is_degraded}");
    tokio::time::timeout(PATIENCE, seen).await.expect(&what);
}
