//! More transcripts than one page of a scan.

use std::fs;
use std::path::PathBuf;

use longhaul_protocol::thread::{IndexState, Search, SearchParams};

use crate::archive::archived;
use crate::support::rollout::Rollout;
use crate::support::{Client, Daemon, pause, soon};

const MANY: u32 = longhaul_store::FILES_AT_ONCE + 100;

fn write(home: &std::path::Path, number: u32) -> PathBuf {
    let id = format!("019cadd3-0000-7000-8000-{number:012}");
    let mut rollout = Rollout::new(&id, std::path::Path::new("/w/app"));
    rollout.message("user", &format!("Repair table number{number}."));
    rollout.write(home)
}

/// Waits until `items` are indexed and everything is ingested.
async fn indexed(client: &mut Client, items: u64) {
    let reached = async {
        loop {
            let search = client.status().await.search;
            if (search.state, search.items) == (IndexState::Idle, items) {
                return;
            }
            pause().await;
        }
    };
    soon("the index has everything", reached).await;
}

async fn hits(client: &mut Client, word: &str) -> usize {
    let params = SearchParams { query: word.into(), ..Default::default() };
    client.call::<Search>(params).await.unwrap().hits.len()
}

#[tokio::test]
async fn all_transcripts_are_found_and_archived_and_moves_are_distinguished_from_deletions() {
    let home = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = (0..MANY).map(|number| write(home.path(), number)).collect();
    let (daemon, mut client) = Daemon::with_client(home, "").await;
    client.sync_file(&paths[0]).await;
    indexed(&mut client, u64::from(MANY)).await;
    assert_eq!(archived(&mut client).await.transcripts, u64::from(MANY));

    let last = paths.len() - 1;
    fs::remove_file(&paths[last - 1]).unwrap();
    let moved = daemon.home.path().join(".codex/archived_sessions");
    fs::create_dir_all(&moved).unwrap();
    let moved = moved.join(paths[last].file_name().unwrap());
    fs::rename(&paths[last], &moved).unwrap();
    client.sync_file(&moved).await;
    indexed(&mut client, u64::from(MANY)).await;
    assert_eq!(hits(&mut client, &format!("number{}", MANY - 1)).await, 1, "moved");
    assert_eq!(
        hits(&mut client, &format!("number{}", MANY - 2)).await,
        1,
        "only the archive has it"
    );
    assert_eq!(hits(&mut client, "number0").await, 1);
    let sources = client.status().await.sources;
    assert_eq!(sources.iter().map(|source| source.files).sum::<u64>(), u64::from(MANY) - 1);
}
