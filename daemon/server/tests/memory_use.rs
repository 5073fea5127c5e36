//! Use of memory: counts by kind, and threads that are skipped.

use std::path::Path;

use longhaul_protocol::memory::{Cite, CiteParams, Search, SearchParams};
use serde_json::json;

use crate::archive::{archived, expand, noticed};
use crate::memory::{
    APP, FIRST, OFF, RULE, SECOND, ask, assert_run, daemon_with, list, run_all, run_due, status,
    summary, thread,
};
use crate::support::rollout::Rollout;
use crate::support::{Client, Daemon, file_with, files_under};

#[tokio::test]
async fn a_citation_counts_as_a_use_of_its_file() {
    let (daemon, mut client) = daemon_with(&[(FIRST, APP, RULE)], OFF).await;
    run_all(&mut client).await;
    let answer = format!(
        "Done.\n<memory_citation>\nMEMORY.md:3-4 | tests\nthread {FIRST}\n</memory_citation>"
    );
    let cited = CiteParams { answer: Some(answer), ..Default::default() };
    let cited = ask::<Cite>(&mut client, cited).await;
    assert_eq!((cited.thread_ids, cited.answer.as_deref()), (vec![FIRST.into()], Some("Done.")));
    assert_eq!(uses(&mut client).await, [("memory_md".to_owned(), 1)]);
    daemon.stopped().await;
}

async fn uses(client: &mut Client) -> Vec<(String, u64)> {
    status(client).await.uses.into_iter().map(|of| (of.kind, of.uses)).collect()
}

#[tokio::test]
async fn an_agent_that_reads_the_files_with_a_command_counts_once() {
    let (daemon, mut client) = daemon_with(&[(FIRST, APP, RULE)], OFF).await;
    run_all(&mut client).await;
    let root = status(&mut client).await.path;
    let files = list(&mut client).await.files;
    let account = files.iter().find(|file| file.path.starts_with("rollout_summaries/")).unwrap();
    let account = &account.path;
    let mut reader = Rollout::new(SECOND, Path::new(APP));
    reader.message("user", "Go on with the parser.");
    reader.command(&format!("cat {root}/MEMORY.md | head -50"), 0, "# Memory\n");
    reader.command(&format!("cat {root}/MEMORY.md {root}/{account}"), 0, "# Memory\n");
    reader.message("assistant", "I know what to do.");
    reader.write(daemon.home.path());
    client.sync(SECOND).await;
    for round in 0..2 {
        run_all(&mut client).await;
        let counted = uses(&mut client).await;
        let once = ["memory_md", "rollout_summaries"].map(|kind| (kind.to_owned(), 1));
        assert_eq!(counted, once, "round {round}");
    }
    daemon.stopped().await;
}

/// The number of threads skipped for `reason`.
async fn left_out(client: &mut Client, reason: &str) -> u64 {
    let skipped = status(client).await.skipped;
    skipped.iter().find(|skipped| skipped.reason == reason).map_or(0, |skipped| skipped.threads)
}

#[tokio::test]
async fn an_ephemeral_thread_is_never_read() {
    let mut rollout = Rollout::new(FIRST, Path::new(APP));
    rollout.meta("memory_mode", json!("disabled"));
    rollout.message("user", RULE);
    rollout.command("cargo nextest run", 0, "12 tests passed\n");
    rollout.message("assistant", "They pass.");
    let (daemon, mut client) = Daemon::reading(&rollout, OFF).await;
    let run = run_all(&mut client).await;
    assert_eq!((run.extracted, run.skipped[0].reason.as_str()), (0, "ephemeral"));
    assert_eq!(left_out(&mut client, "ephemeral").await, 1);
    assert_eq!(summary(&mut client).await.text.0, "");
    daemon.stopped().await;
}

#[tokio::test]
async fn threads_that_reached_the_network_can_be_left_out() {
    let home = tempfile::tempdir().unwrap();
    thread(home.path(), FIRST, APP, RULE);
    let mut rollout = Rollout::new(SECOND, Path::new(APP));
    rollout.message("user", "Never touch the lock file, it is generated.");
    rollout.command("curl -s https://example.com/how-to", 0, "Run setup first.\n");
    rollout.command("cargo nextest run -p lexer", 0, "3 tests passed\n");
    rollout.message("assistant", "Done.");
    rollout.write(home.path());
    let strict = format!("{OFF}excludes_outside = true\n");
    let (daemon, mut client) = Daemon::with_client(home, &strict).await;
    for id in [FIRST, SECOND] {
        client.sync(id).await;
    }
    run_all(&mut client).await;
    let text = summary(&mut client).await.text;
    assert!(text.contains(RULE) && !text.contains("lock file"), "{text}");
    assert_eq!(left_out(&mut client, "reached_outside").await, 1);
    let home = daemon.stopped().await;
    assert_eq!(file_with(&home.path().join(".local/state/longhaul/memory.d"), "lock file"), None);

    // After a change of the setting they are included again, without being read again.
    let (daemon, mut client) = Daemon::with_client(home, OFF).await;
    assert_run(&run_due(&mut client).await, 0, true);
    let text = summary(&mut client).await.text;
    assert!(text.contains("lock file"), "{text}");
    daemon.stopped().await;
}

#[tokio::test]
async fn a_line_of_memory_leads_to_its_words_after_the_transcript_is_gone() {
    let (daemon, mut client) = daemon_with(&[(FIRST, APP, RULE)], OFF).await;
    run_all(&mut client).await;
    archived(&mut client).await;
    let query = "nextest says works".to_owned();
    let params = SearchParams { query, cwd: Some(APP.into()), ..Default::default() };
    let hits = ask::<Search>(&mut client, params).await.hits;
    // The mark behind a line: `[person, 2026-03-02, THREAD #3; …]`.
    let cites = |text: &str| {
        let (_, seq) = text.split_once(&format!("{FIRST} #"))?;
        let digits = seq.bytes().take_while(u8::is_ascii_digit).count();
        Some(format!("{FIRST}#{}", &seq[..digits]))
    };
    let lines = hits.iter().flat_map(|hit| hit.text.lines());
    let handle = lines.filter(|line| line.contains(RULE)).find_map(cites);
    let handle = handle.unwrap_or_else(|| panic!("no line names its source: {hits:?}"));
    let (words, from_archive) = expand(&mut client, &handle).await;
    assert!(words[0].contains(RULE) && !from_archive, "{handle}: {words:?}");

    for (path, _) in files_under(&daemon.home.path().join(".codex")) {
        std::fs::remove_file(path).unwrap();
    }
    noticed(&mut client, FIRST).await;
    assert_eq!(expand(&mut client, &handle).await, (words, true));
}
