//! More transcripts than one page of a scan.

use std::fs;
use std::path::PathBuf;

use crate::archive::archived;
use crate::support::Daemon;
use crate::support::rollout::Rollout;

const MANY: u32 = longhaul_store::FILES_AT_ONCE + 100;

fn write(home: &std::path::Path, number: u32) -> PathBuf {
    let id = format!("019cadd3-0000-7000-8000-{number:012}");
    let mut rollout = Rollout::new(&id, std::path::Path::new("/w/app"));
    rollout.message("user", &format!("Repair table number{number}."));
    rollout.write(home)
}

#[tokio::test]
async fn all_transcripts_are_found_and_archived_and_moves_are_distinguished_from_deletions() {
    let home = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = (0..MANY).map(|number| write(home.path(), number)).collect();
    let (daemon, mut client) = Daemon::synced_file(home, "", &paths[0]).await;
    let all = u64::from(MANY);
    client.indexed(all..=all).await;
    assert_eq!(archived(&mut client).await.transcripts, u64::from(MANY));

    let last = paths.len() - 1;
    fs::remove_file(&paths[last - 1]).unwrap();
    let moved = daemon.home.path().join(".codex/archived_sessions");
    fs::create_dir_all(&moved).unwrap();
    let moved = moved.join(paths[last].file_name().unwrap());
    fs::rename(&paths[last], &moved).unwrap();
    client.sync_file(&moved).await;
    client.indexed(all..=all).await;
    assert_eq!(client.hits(&format!("number{}", MANY - 1)).await.len(), 1, "moved");
    assert_eq!(
        client.hits(&format!("number{}", MANY - 2)).await.len(),
        1,
        "only the archive has it"
    );
    assert_eq!(client.hits("number0").await.len(), 1);
    let sources = client.status().await.sources;
    assert_eq!(sources.iter().map(|source| source.files).sum::<u64>(), u64::from(MANY) - 1);
}
