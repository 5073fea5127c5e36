//! A receipt counts what the view quotes, and its handles return every item once.

use longhaul_protocol::checkpoint::{ChoiceAction, Choose, ChooseParams};
use longhaul_protocol::compaction::{Entry, Preview, PreviewParams, RunParams};

use crate::support::rollout::Rollout;
use crate::support::{Daemon, of_thread};

const THREAD: &str = "019cadd3-0000-7000-8000-000000000001";

fn has(list: &[Entry], seq: u64) -> bool {
    list.iter().any(|entry| (entry.seq_first..=entry.seq_last).contains(&seq))
}

#[tokio::test]
async fn what_the_view_quotes_is_kept_or_shortened() {
    let home = tempfile::tempdir().unwrap();
    let mut rollout = Rollout::new(THREAD, home.path());
    let pinned = format!("The port is 8080. {}", "It never changes. ".repeat(20));
    rollout.message("user", "Retry twice, then give up.").message("assistant", &pinned);
    let (request, pin) = (1, 2);
    for round in 0..200 {
        rollout.command(&format!("cat notes_{round}.md"), 0, &"quiet line\n".repeat(30));
    }
    let report = format!("All tests of the fetcher pass.\n{}", "Nothing else to say. ".repeat(90));
    rollout.message("assistant", &report);
    let last_report = rollout.seq();
    rollout.message("user", "Now write the changelog.");
    rollout.write(home.path());
    let (_daemon, mut client) = Daemon::synced(home, "", THREAD).await;
    let params = ChooseParams {
        thread_id: THREAD.into(),
        action: ChoiceAction::Pin,
        text: None,
        handle: Some(format!("#{pin}")),
    };
    client.call::<Choose>(params).await.unwrap();
    let run = RunParams { max_tokens: Some(1_000), ..of_thread(THREAD) };
    let made = client.compact(run).await;
    let receipt = &made.receipt;
    assert!(has(&receipt.kept, request), "{}\n{receipt:?}", made.view.0);
    assert!(has(&receipt.kept, pin), "{}\n{receipt:?}", made.view.0);
    assert!(has(&receipt.shortened, last_report), "{}\n{receipt:?}", made.view.0);
    let mut items = 0;
    for entry in [&receipt.kept, &receipt.shortened, &receipt.dropped].into_iter().flatten() {
        let expanded = client.expand(&entry.handle).await;
        assert_eq!(expanded.len() as u64, entry.items, "{entry:?}");
        items += entry.items;
    }
    assert_eq!(items, rollout.seq(), "every line but the first is an item");
    let params = PreviewParams {
        thread_id: THREAD.into(),
        max_tokens: Some(1_000),
        ..PreviewParams::default()
    };
    let preview = client.call::<Preview>(params).await.unwrap();
    assert_eq!(preview.totals, receipt.totals);
    assert!(preview.dropped.iter().all(|item| item.seq != pin && item.seq != request));
}
