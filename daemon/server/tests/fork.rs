//! Compacting a thread that continues another transcript by reference: the receipt covers both.

use std::fs;
use std::path::Path;

use longhaul_protocol::ErrorKind;
use longhaul_protocol::history::{Expand, ExpandParams};
use serde_json::Value;

use crate::support::rollout::Rollout;
use crate::support::{Client, Daemon, field, found, of_thread, text_of};

const BASE: &str = "019cadd3-0000-7000-8000-000000000001";
const FORK: &str = "019cadd3-0000-7000-8000-000000000002";

/// Lines of the base that the fork continues; the cut is inside a page of the index.
const CUT: usize = 151;

struct Forked {
    _daemon: Daemon,
    client: Client,
    /// Lines of the lineage as the files hold them, by seq.
    lines: Vec<String>,
}

async fn forked(own: &[&str]) -> Forked {
    let home = tempfile::tempdir().unwrap();
    let base = Rollout::with_rounds(BASE, Path::new("/w"), "Make the fetcher retry.", 100);
    let mut fork = Rollout::forked(FORK, &base, CUT);
    for text in own {
        fork.message("user", text).message("assistant", "I go another way.");
    }
    let paths = [base.write(home.path()), fork.write(home.path())];
    let [base, fork] = paths.map(|path| fs::read_to_string(path).unwrap());
    let lines = base.lines().take(CUT).chain(fork.lines()).map(str::to_owned).collect();
    let (daemon, mut client) = Daemon::with_client(home, "").await;
    for thread in [BASE, FORK] {
        client.sync(thread).await;
    }
    Forked { _daemon: daemon, client, lines }
}

fn payload(line: &str) -> Value {
    field(&serde_json::from_str(line).unwrap(), "payload").clone()
}

#[tokio::test]
async fn a_forks_receipt_accounts_for_its_base() {
    for own in [&["Go another way."][..], &[]] {
        let Forked { _daemon, mut client, lines } = forked(own).await;
        let result = client.compact(of_thread(FORK)).await;
        let receipt = &result.receipt;
        let entries = [&receipt.kept, &receipt.shortened, &receipt.dropped];
        let (mut items, mut tokens) = (0, 0);
        for entry in entries.into_iter().flatten() {
            let expanded = client.expand(&entry.handle).await;
            assert_eq!(expanded.len() as u64, entry.items, "{entry:?}");
            items += entry.items;
            tokens += entry.tokens;
        }
        // All lines except the meta line of each file.
        assert_eq!(items, lines.len() as u64 - 2, "{own:?}");
        assert_eq!(tokens, result.tokens.before, "{own:?}");
        let request = own.last().copied().unwrap_or("Make the fetcher retry.");
        assert_eq!(text_of(result.history.last().unwrap()), request);
        assert_eq!(result.warnings, [], "the request's line was read, also in the base");
    }
}

#[tokio::test]
async fn a_handle_in_the_base_or_across_the_cut_gives_the_exact_items() {
    let Forked { _daemon, mut client, lines } = forked(&["Go another way."]).await;
    let one = client.expand(&format!("{FORK}#7")).await;
    assert_eq!(one, [payload(&lines[7])]);
    let across = client.expand(&format!("{FORK}#{}-{}", CUT - 2, CUT + 2)).await;
    let expected = [CUT - 2, CUT - 1, CUT + 1, CUT + 2].map(|seq| payload(&lines[seq]));
    assert_eq!(across, expected);
    // The base's line after the cut is not the fork's.
    let params = ExpandParams { handle: format!("{FORK}#160"), ..Default::default() };
    let error = client.call::<Expand>(params).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::HandleNotFound);
}

#[tokio::test]
async fn undoing_a_forks_compaction_restores_the_whole_history() {
    let Forked { _daemon, mut client, lines } = forked(&["Go another way."]).await;
    let run = client.compact(of_thread(FORK)).await;
    let expected: Vec<Value> = lines
        .iter()
        .enumerate()
        .filter(|(seq, _)| ![0, CUT].contains(seq))
        .map(|(_, line)| payload(line))
        .collect();
    assert_eq!(client.undo(&run.compaction_id).await.history.into_bytes(), expected);
}

#[tokio::test]
async fn a_fork_with_a_missing_base_gives_a_warning_after_ingestion() {
    let mut base = Rollout::new(BASE, Path::new("/w"));
    base.message("user", "Make the fetcher retry.");
    let (_daemon, mut client) = Daemon::reading(&Rollout::forked(FORK, &base, 1), "").await;
    let warning = found("the warning", async || client.status().await.warnings.pop()).await;
    assert_eq!(warning.kind, "base_missing");
    let expected = format!("thread {FORK} continues {BASE}, whose transcript is not there");
    assert_eq!(warning.message, expected);
}
