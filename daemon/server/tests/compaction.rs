//! Compacting threads and given items, expanding dropped items, and undo.

use std::fs;
use std::path::Path;

use longhaul_protocol::compaction::{AgentStep, Phase, RunParams, RunResult, RungOutcome, Trigger};
use longhaul_protocol::thread::{Bill, BillParams};
use longhaul_protocol::{ErrorKind, compaction, history};
use serde_json::json;

use crate::archive::{archived, not_put_back};
use crate::support::rollout::Rollout;
use crate::support::{Client, Daemon, found, message, of_items, of_thread, soon, text_at, texts};

const THREAD: &str = "019cadd3-0000-7000-8000-000000000001";
const REQUEST: &str = "Make the fetcher retry.\nKeep its API.";

/// A long session and a daemon that has read it.
async fn session(rounds: u32) -> (Daemon, Client, u64) {
    session_under("", rounds).await
}

async fn session_under(config: &str, rounds: u32) -> (Daemon, Client, u64) {
    let home = tempfile::tempdir().unwrap();
    let mut rollout = Rollout::new(THREAD, home.path());
    rollout.message("user", REQUEST);
    for round in 0..rounds {
        let command = format!("cargo test fetch_{round}");
        rollout.command(&command, i32::from(round % 2 == 0), "running tests\n");
        rollout.message("assistant", &format!("Round {round} is through."));
    }
    rollout
        .patch("*** Begin Patch\n*** Update File: src/fetch.rs\n@@\n+fn retry() {}\n*** End Patch");
    rollout.write(home.path());
    let (daemon, client) = Daemon::synced(home, config, THREAD).await;
    (daemon, client, rollout.seq())
}

fn entries(result: &RunResult) -> impl Iterator<Item = &compaction::Entry> {
    let receipt = &result.receipt;
    [&receipt.kept, &receipt.shortened, &receipt.dropped].into_iter().flatten()
}

async fn expand_error(client: &mut Client, handle: &str) -> longhaul_protocol::WireError {
    let params = history::ExpandParams { handle: handle.to_owned(), ..Default::default() };
    client.call::<history::Expand>(params).await.unwrap_err()
}

#[tokio::test]
async fn a_thread_becomes_a_view_and_its_last_request() {
    let (_daemon, mut client, _) = session(100).await;
    let params = RunParams { max_tokens: Some(600), ..of_thread(THREAD) };
    let RunResult { view, history, tokens, ladder, .. } = client.compact(params).await;
    assert!(view.len() <= 2_400, "{}", view.len());
    assert!(view.contains("src/fetch.rs (edited"), "{view}");
    assert!(view.trim_end().ends_with(REQUEST), "{view}");
    let texts = texts(&history);
    assert!(texts[0].contains("[SESSION_CHECKPOINT v1]"), "{texts:?}");
    assert_eq!(texts[1..], [REQUEST]);
    assert!(tokens.after * 2 < tokens.before, "{tokens:?}");
    assert_eq!((ladder.len(), ladder[0].outcome), (1, RungOutcome::Used));
}

#[tokio::test]
async fn the_receipt_accounts_for_every_item_and_each_handle_expands_to_its_items() {
    let (_daemon, mut client, last_seq) = session(300).await;
    let result = client.compact(of_thread(THREAD)).await;
    let mut seen = 0;
    for entry in entries(&result) {
        let items = client.expand(&entry.handle).await;
        assert_eq!(items.len() as u64, entry.items, "{entry:?}");
        assert!(entry.seq_first <= entry.seq_last && entry.seq_last <= last_seq, "{entry:?}");
        seen += entry.items;
    }
    assert_eq!(seen, last_seq, "every line but the first is an item");
    let receipt = &result.receipt;
    for (list, total) in [
        (&receipt.kept, receipt.totals.kept),
        (&receipt.shortened, receipt.totals.shortened),
        (&receipt.dropped, receipt.totals.dropped),
    ] {
        let sum = |of: fn(&compaction::Entry) -> u64| list.iter().map(of).sum::<u64>();
        let summed = (sum(|entry| entry.items), sum(|entry| entry.tokens));
        assert_eq!((total.items, total.tokens), summed);
    }
}

#[tokio::test]
async fn the_initial_context_precedes_the_request_only_in_mid_turn() {
    let (_daemon, mut client, _) = session(20).await;
    for (phase, expected) in [
        (Phase::MidTurn, &["user", "developer", "user"][..]),
        (Phase::PreTurn, &["user", "user"]),
        (Phase::Standalone, &["user", "user"]),
    ] {
        let result = client
            .compact(RunParams {
                phase: Some(phase),
                initial_context: Some(vec![message("developer", "rules")]),
                ..of_thread(THREAD)
            })
            .await;
        let roles: Vec<&str> = result.history.iter().map(|item| text_at(item, "role")).collect();
        assert_eq!(roles, expected);
        assert_eq!(client.compaction(&result.compaction_id).await.summary.phase, phase);
    }
}

#[tokio::test]
async fn given_items_can_be_expanded_and_restored_after_a_restart() {
    let (daemon, mut client) = Daemon::start_with_client().await;
    let items = [
        message("user", "Rename the parser."),
        message("assistant", &"Done with it. ".repeat(400)),
        message("user", "Now test it."),
    ];
    let params = RunParams { max_tokens: Some(300), ..of_items(items.clone()) };
    let result = client.compact(params).await;
    assert_eq!(result.receipt.kept.len(), 2, "the request, and the one that the view quotes");
    let answer = entries(&result).find(|entry| entry.kind == "assistant_message").unwrap();
    let (_daemon, mut client) = Daemon::with_client(daemon.stopped().await, "").await;
    let expanded = client.expand(&answer.handle).await;
    assert_eq!(expanded, [items[1].clone()]);
    let undone = client.undo(&result.compaction_id).await;
    assert_eq!(undone.compaction_id, result.compaction_id);
    assert_eq!((undone.history.into_bytes(), undone.complete), (items.to_vec(), true));
    let again = client.undo(&result.compaction_id).await;
    assert_eq!(again.undone_at, undone.undone_at);
    let listed = client.compactions().await;
    assert_eq!(listed[0].compaction_id, result.compaction_id);
    assert_eq!(listed[0].undone_at, Some(undone.undone_at));
}

#[tokio::test]
async fn undo_restores_the_visible_history_without_rolled_back_items() {
    let home = tempfile::tempdir().unwrap();
    let mut rollout = Rollout::new(THREAD, home.path());
    rollout.message("user", "old request").message("assistant", "old answer");
    rollout.compacted(&[message("user", "summary")]);
    rollout.message("user", "a mistake").message("assistant", "answered");
    rollout.rolled_back(1);
    rollout.message("user", "the new request");
    rollout.write(home.path());
    let (_daemon, mut client) = Daemon::with_client(home, "").await;
    let result = client.compact(of_thread(THREAD)).await;
    let undone = client.undo(&result.compaction_id).await;
    assert_eq!(texts(&undone.history), ["summary", "the new request"]);
}

#[tokio::test]
async fn a_rewritten_transcript_is_an_error_and_not_other_items() {
    // The archive may have read the items before the rewrite.
    let (_daemon, mut client, _) = session_under("[archive]\nenabled = false\n", 10).await;
    let result = client.compact(of_thread(THREAD)).await;
    let path = client.thread(THREAD).await.path;
    let content = fs::read_to_string(&path).unwrap().replace("fetch_", "other_");
    fs::write(path, content).unwrap();
    let error = expand_error(&mut client, &result.receipt.dropped[3].handle).await;
    assert_eq!(error.kind(), ErrorKind::SourceChanged);
}

#[tokio::test]
async fn bad_requests_are_rejected_by_kind() {
    use ErrorKind::{
        CompactionNotFound, HandleNotFound, InvalidParams, PathOutside, ThreadNotFound,
    };
    let (_daemon, mut client, _) = session(2).await;
    for (method, params, expected) in [
        ("compaction/run", json!({}), InvalidParams),
        ("compaction/run", json!({ "thread_id": THREAD, "items": [] }), InvalidParams),
        ("compaction/run", json!({ "items": [] }), InvalidParams),
        ("compaction/run", json!({ "thread_id": "nobody" }), ThreadNotFound),
        ("compaction/run", json!({ "thread_id": THREAD, "max_token": 5 }), InvalidParams),
        ("compaction/get", json!({ "compaction_id": "cmp_none" }), CompactionNotFound),
        ("compaction/undo", json!({ "compaction_id": "cmp_none" }), CompactionNotFound),
        ("compaction/list", json!({ "cursor": "x" }), InvalidParams),
        ("history/expand", json!({ "handle": "x" }), InvalidParams),
        ("history/expand", json!({ "handle": format!("{THREAD}#99999") }), HandleNotFound),
        ("history/expand", json!({ "handle": "cmp_none#0" }), HandleNotFound),
        ("history/expand", json!({ "handle": "nobody#1" }), ThreadNotFound),
        ("thread/sync", json!({ "path": "/etc/passwd" }), PathOutside),
        ("thread/sync", json!({ "path": "relative" }), InvalidParams),
        ("thread/list", json!({ "source": "elsewhere" }), InvalidParams),
    ] {
        let answer = client.request(method, params.clone()).await;
        assert_eq!(answer.kind(), Some(expected), "{method} {params}: {answer:?}");
    }
}

#[tokio::test]
async fn a_session_of_the_first_command_line_is_compacted_expanded_and_archived() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".codex/sessions");
    fs::create_dir_all(&folder).unwrap();
    let session = json!({ "timestamp": "2025-04-20T08:00:00Z", "id": THREAD, "instructions": "" });
    let items = [message("user", "Write a parser."), message("user", "Now test it.")];
    let document = json!({ "session": session, "items": items });
    let path = folder.join(format!("rollout-2025-04-20-{THREAD}.json"));
    fs::write(&path, serde_json::to_string_pretty(&document).unwrap()).unwrap();
    let (daemon, mut client) = Daemon::synced(home, "", THREAD).await;
    assert_eq!(client.thread(THREAD).await.items, 2);
    let result = client.compact(of_thread(THREAD)).await;
    let first = entries(&result).min_by_key(|entry| entry.seq_first).unwrap();
    let expanded = client.expand(&first.handle).await;
    assert_eq!(expanded, [items[0].clone()]);
    archived(&mut client).await;
    let path = path.canonicalize().unwrap();
    fs::remove_file(&path).unwrap();
    not_put_back(&daemon, (THREAD, &path), "Write a parser.").await;
}

#[tokio::test]
async fn old_compactions_are_pruned_with_their_histories_and_the_hint_says_so() {
    const NINETY_DAYS_MS: i64 = 90 * 86_400_000;
    const KEPT_PER_THREAD: usize = 3;
    let home = tempfile::tempdir().unwrap();
    let mut rollout = Rollout::new(THREAD, home.path());
    rollout.message("user", "Make the fetcher retry.").message("assistant", "It does.");
    rollout.write(home.path());
    let config = format!("[compaction]\nkeep_per_thread = {KEPT_PER_THREAD}\n");
    let (daemon, mut client) = Daemon::synced(home, &config, THREAD).await;
    let given = client.compact(of_items([message("user", "Go."), message("user", "Go.")])).await;
    let preimages = daemon.deps.config.now().state_dir.join("preimages");
    let history = preimages.join(format!("{}.jsonl", given.compaction_id));
    assert!(history.exists());
    daemon.clock.advance_ms(NINETY_DAYS_MS + 1);
    // After enough compactions, pruning starts in the background.
    let pruned = async {
        let mut made = Vec::new();
        while history.exists() || made.len() <= KEPT_PER_THREAD {
            made.push(client.compact(of_thread(THREAD)).await.compaction_id);
        }
        made
    };
    let mut made = soon("a pass", pruned).await;
    // Pruning deletes a history's file before other rows, and may run before there are others.
    let listed = found("fewer compactions", async || {
        made.push(client.compact(of_thread(THREAD)).await.compaction_id);
        Some(client.compactions().await).filter(|listed| listed.len() < made.len())
    })
    .await;
    assert_eq!(Some(&listed[0].compaction_id), made.last(), "the newest are kept");

    let undo = compaction::UndoParams { compaction_id: given.compaction_id.clone() };
    let undo = client.call::<compaction::Undo>(undo).await.unwrap_err();
    assert_eq!(undo.kind(), ErrorKind::CompactionNotFound);
    let handle = &entries(&given).next().unwrap().handle;
    let expand = expand_error(&mut client, handle).await;
    assert_eq!(expand.kind(), ErrorKind::HandleNotFound);
    for error in [undo, expand] {
        let hint = error.data.unwrap().hint.unwrap();
        assert!(hint.contains("compaction.keep_days"), "{hint}");
    }
}

/// Overwrites the pages of a database that contain `needle`; returns their number.
fn damage(database: &Path, needle: &[u8]) -> usize {
    let mut bytes = fs::read(database).unwrap();
    let holds = |page: &&mut [u8]| page.windows(needle.len()).any(|window| window == needle);
    let damaged = bytes.chunks_mut(4_096).skip(1).filter(holds).map(|page| page.fill(0xa5)).count();
    fs::write(database, &bytes).unwrap();
    damaged
}

#[tokio::test]
async fn damage_found_by_a_request_is_repaired_and_the_thread_served_again() {
    let (daemon, mut client, _) = session(300).await;
    let made = client.compact(of_thread(THREAD)).await;
    // Close and open it again, so that the rows are in the file and in no cache.
    let daemon = Daemon::over(daemon.stopped().await, "").await;
    let database = daemon.deps.config.now().state_dir.join("longhaul.db");
    // Only the index of items contains the id of a call from the middle of the session: a round has three lines, and two
    // lines precede the first.
    let (round, handle) = (99, format!("{THREAD}#{}", 2 + 3 * 99));
    assert!(damage(&database, format!("call_{}", round + 1).as_bytes()) > 0);
    let mut client = daemon.connect().await;
    let error = expand_error(&mut client, &handle).await;
    assert_eq!(error.kind(), ErrorKind::StoreCorrupt);
    let params = history::ExpandParams { handle, ..Default::default() };
    let page =
        found("the thread", async || client.call::<history::Expand>(params.clone()).await.ok());
    assert!(!page.await.items.is_empty());
    let store = client.status().await.store;
    assert!(store.rebuilt_from.unwrap().contains("longhaul.db.corrupt-"));
    let salvaged = store.salvaged.unwrap();
    assert_eq!((salvaged.compactions, salvaged.jobs, salvaged.complete), (1, 1, true));
    assert_eq!((salvaged.updates, salvaged.model_usage), (0, 0));
    assert_eq!(client.compaction(&made.compaction_id).await.run.view, made.view);
}

/// A hook announces the agent's compaction, and the agent's engine gets the answer: together they are one line in every
/// list, in the bill and in the log of decisions.
#[tokio::test]
async fn the_steps_of_one_compaction_by_an_agent_are_one_record() {
    let (_daemon, mut client, _) = session(100).await;
    let step = |step, trigger| RunParams {
        agent_step: Some(step),
        trigger: Some(trigger),
        ..of_thread(THREAD)
    };
    let announced = client.compact(step(AgentStep::Announced, Trigger::Auto)).await;
    let answer = RunParams { max_tokens: Some(600), ..step(AgentStep::Answered, Trigger::Auto) };
    let answered = client.compact(answer.clone()).await;
    assert_eq!(answered.compaction_id, announced.compaction_id);
    assert_ne!(answered.view, announced.view, "the answer's own");
    let made = client.compactions().await;
    assert_eq!(made.len(), 1, "{made:?}");
    assert_eq!(made[0].trigger, Trigger::Auto, "not refused as a second one without growth");
    assert_eq!(client.compaction(&answered.compaction_id).await.run.view, answered.view);
    let bill = client.call::<Bill>(BillParams { thread_id: THREAD.into() }).await.unwrap();
    assert_eq!(bill.compactions.len(), 1);
    let status = client.status().await.compactions;
    assert_eq!(status.compactions, 1, "{status:?}");

    // A late announcement adds nothing; a repeated answer is a compaction that can be undone.
    for trigger in [Trigger::Auto, Trigger::Manual] {
        let late = client.call::<compaction::Run>(step(AgentStep::Announced, trigger)).await;
        assert_eq!(late.unwrap_err().kind(), ErrorKind::NotWorthwhile, "{trigger:?}");
    }
    let again = client.compact(step(AgentStep::Answered, Trigger::Manual)).await;
    assert_ne!(again.compaction_id, answered.compaction_id);
    // A person's compaction has its own record, and an undone one is not overwritten.
    let own = client.compact(of_thread(THREAD)).await;
    client.undo(&own.compaction_id).await;
    assert_eq!(client.compactions().await.len(), 3);
}

/// A hook that no longer waits leaves its announcement running while the agent asks for the answer.
#[tokio::test]
async fn steps_that_run_at_the_same_time_are_one_record() {
    let (daemon, mut client, _) = session(100).await;
    let mut hook = daemon.connect().await;
    let step = |step| RunParams {
        agent_step: Some(step),
        trigger: Some(Trigger::Auto),
        ..of_thread(THREAD)
    };
    let (announced, answered) = tokio::join!(
        hook.call::<compaction::Run>(step(AgentStep::Announced)),
        client.compact(step(AgentStep::Answered)),
    );
    if let Err(error) = announced {
        assert_eq!(error.kind(), ErrorKind::NotWorthwhile);
    }
    let made = client.compactions().await;
    assert_eq!(made.len(), 1, "{made:?}");
    assert_eq!(made[0].compaction_id, answered.compaction_id);
}

#[tokio::test]
async fn an_agent_that_worked_in_between_starts_a_new_compaction() {
    let home = tempfile::tempdir().unwrap();
    let mut rollout = Rollout::new(THREAD, home.path());
    rollout.message("user", REQUEST);
    for round in 0..40 {
        rollout.command(&format!("cargo test fetch_{round}"), 0, &"running tests\n".repeat(40));
    }
    let path = rollout.write(home.path());
    let (_daemon, mut client) = Daemon::synced(home, "", THREAD).await;
    let step = |step| RunParams { agent_step: Some(step), ..of_thread(THREAD) };
    let announced = client.compact(step(AgentStep::Announced)).await;
    rollout.message("assistant", "It was left to the provider, which failed. Going on.");
    rollout.append(&path);
    client.sync(THREAD).await;
    let answered = client.compact(step(AgentStep::Answered)).await;
    assert_ne!(answered.compaction_id, announced.compaction_id);
}
