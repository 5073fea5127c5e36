//! Compactions installed in a recorded thread: completely or not at all, and undone.

use std::fs;

use longhaul_protocol::ErrorKind;
use longhaul_protocol::compaction::{self, RunParams, RunResult, Strategy, Trigger, UndoParams};
use longhaul_protocol::event::EventKind;
use longhaul_protocol::thread::OpenResult;
use serde_json::{Value, json};

use crate::support::provider::{Answer, Provider};
use crate::support::rollout::Rollout;
use crate::support::{
    Client, Daemon, Process, eventually, message, of_items, of_thread, pause, soon, text_at,
    text_of,
};
use crate::threads::{addition, append, open};

const FIRST: &str = "Make the fetcher in src/fetch.rs retry three times.";

fn installed(thread: &OpenResult) -> RunParams {
    RunParams { install: Some(true), max_tokens: Some(800), ..of_thread(&thread.thread_id) }
}

/// A thread with a request, and work on it that fills the window.
async fn thread(client: &mut Client, rounds: usize) -> OpenResult {
    let thread = open(client, "k").await;
    append(client, &thread, vec![addition("u", message("user", FIRST))]).await.unwrap();
    for round in 0..rounds {
        let call = json!({ "type": "function_call", "name": "shell", "call_id": format!("c{round}"),
            "arguments": format!(r#"{{"command":["bash","-lc","cat src/part{round}.rs"]}}"#) });
        let output = json!({ "type": "function_call_output", "call_id": format!("c{round}"),
            "output": format!("fn part_{round}() {{}}\n").repeat(60) });
        let items =
            vec![addition(&format!("c{round}"), call), addition(&format!("o{round}"), output)];
        append(client, &thread, items).await.unwrap();
    }
    thread
}

async fn say(client: &mut Client, thread: &OpenResult, words: &str) {
    append(client, thread, vec![addition(words, message("user", words))]).await.unwrap();
}

async fn undo(client: &mut Client, run: &RunResult) -> Result<compaction::UndoResult, ErrorKind> {
    let params = UndoParams { compaction_id: run.compaction_id.clone() };
    client.call::<compaction::Undo>(params).await.map_err(|error| error.kind())
}

fn lines(thread: &OpenResult) -> Vec<Value> {
    let text = fs::read_to_string(&thread.path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn installing_replaces_the_history_and_undo_restores_it() {
    let (_daemon, mut client) = Daemon::start_with_client().await;
    let thread = thread(&mut client, 30).await;
    let before = client.history(&thread.thread_id).await;
    let first = client.compact(installed(&thread)).await;
    let seq = first.installed_seq.unwrap();
    assert_eq!(client.history(&thread.thread_id).await, first.history[..]);
    assert_eq!(client.compaction(&first.compaction_id).await.run, first);
    assert!(client.usage(&thread.thread_id).await.tokens.used < 2_000);

    say(&mut client, &thread, "Now document it.").await;
    let second = client.compact(installed(&thread)).await;
    assert!(text_of(second.history.last().unwrap()).contains("Now document it."));
    say(&mut client, &thread, "And a test, please.").await;

    assert_eq!(undo(&mut client, &first).await.unwrap_err(), ErrorKind::IllegalTransition);
    let undone = undo(&mut client, &second).await.unwrap();
    assert!(undone.restored_seq > second.installed_seq);
    let history = client.history(&thread.thread_id).await;
    assert_eq!(history[..first.history.len()], first.history[..]);
    let texts: Vec<&str> = history[first.history.len()..].iter().map(text_of).collect();
    assert_eq!(
        texts,
        ["Now document it.", "And a test, please."],
        "what came since stays behind it"
    );

    let undone = undo(&mut client, &first).await.unwrap();
    assert_eq!(undo(&mut client, &first).await.unwrap(), undone, "twice is once");
    let history = client.history(&thread.thread_id).await;
    assert_eq!(history[..before.len()], before);
    assert_eq!(history.len(), before.len() + 2);
    assert!(client.usage(&thread.thread_id).await.tokens.used > 5_000);
    let held = lines(&thread);
    assert_eq!(text_at(&held[usize::try_from(seq).unwrap()], "type"), "compacted");
    assert_eq!(
        held.len(),
        68,
        "64 lines of the thread, 2 that replace its history, 2 that put it back"
    );
}

#[tokio::test]
async fn a_replaced_history_is_one_event() {
    let daemon = Daemon::start().await;
    let (mut client, mut listener) = (daemon.connect().await, daemon.connect().await);
    listener.subscribe(&[EventKind::ContextCompacted]).await;
    let thread = thread(&mut client, 30).await;
    client.compact(installed(&thread)).await;
    client.sync(&thread.thread_id).await;
    let history = client.history(&thread.thread_id).await;
    let answered = client.compact(of_items(history)).await;
    let first = soon("the event of the thread", listener.event()).await;
    assert_eq!(text_at(&first.data, "thread_id"), thread.thread_id);
    let second = soon("the event of the other compaction", listener.event()).await;
    assert_eq!(text_at(&second.data, "compaction_id"), answered.compaction_id);
}

#[tokio::test]
async fn installing_is_rejected_for_threads_of_other_programs() {
    const OTHER: &str = "019e0000-0000-7000-8000-000000000001";
    let home = tempfile::tempdir().unwrap();
    let rollout = Rollout::with_rounds(OTHER, home.path(), FIRST, 40);
    let path = rollout.write(home.path());
    let untouched = fs::read(&path).unwrap();
    let (_daemon, mut client) = Daemon::synced(home, "", OTHER).await;
    let thread = thread(&mut client, 3).await;
    let given = RunParams { install: Some(true), ..of_items([message("user", "x")]) };
    let past = RunParams { as_of: Some(1), ..installed(&thread) };
    let foreign = RunParams { install: Some(true), ..of_thread(OTHER) };
    for (params, kind) in [
        (foreign, ErrorKind::ThreadReadOnly),
        (given, ErrorKind::InvalidParams),
        (past, ErrorKind::InvalidParams),
    ] {
        let refused = client.call::<compaction::Run>(params.clone()).await.unwrap_err();
        assert_eq!(refused.kind(), kind, "{params:?}");
        let refused = client.call::<compaction::Start>(params).await.unwrap_err();
        assert_eq!(refused.kind(), kind);
    }
    assert_eq!(client.compactions().await, []);
    assert_eq!(fs::read(&path).unwrap(), untouched);
}

#[tokio::test]
async fn items_appended_while_a_model_writes_follow_the_replacement() {
    let summary = "The fetcher in src/fetch.rs retries three times. Next: document it.";
    let held = || Answer::Held(Box::new(Answer::says(summary)));
    let provider = Provider::start(vec![held()]).await;
    let (_daemon, mut client) =
        Daemon::with_client(tempfile::tempdir().unwrap(), &provider.config("")).await;
    let thread = thread(&mut client, 30).await;
    let id = client.start_compaction(installed(&thread)).await;
    eventually("the model receives a request", || provider.requests().len() == 1).await;
    say(&mut client, &thread, "Wait, four times.").await;
    provider.release();
    client.job_in(&format!("compact/{id}"), "done").await;
    let run = client.compaction(&id).await.run;
    assert!(run.installed_seq.is_some(), "{run:?}");
    let history = client.history(&thread.thread_id).await;
    assert_eq!(history[..history.len() - 1], run.history[..]);
    assert_eq!(text_of(history.last().unwrap()), "Wait, four times.");
}

#[tokio::test]
async fn a_kill_leaves_the_old_history_or_the_new_one() {
    let home = tempfile::tempdir().unwrap();
    let (mut process, mut client) = Process::with_client(home.path()).await;
    let thread = thread(&mut client, 30).await;
    let auto = RunParams { trigger: Some(Trigger::Auto), ..installed(&thread) };
    for round in 0..6_u64 {
        let before = client.history(&thread.thread_id).await;
        client.begin::<compaction::Run>(auto.clone()).await;
        for _ in 0..round * 40 {
            pause().await;
        }
        process.killed().await;
        (process, client) = Process::with_client(home.path()).await;
        let after = client.history(&thread.thread_id).await;
        if after != before {
            let made = client.compactions().await;
            let run = client.compaction(&made[0].compaction_id).await.run;
            assert_eq!(after, run.history[..], "round {round}: neither the old nor the new");
            undo(&mut client, &run).await.unwrap();
            assert_eq!(client.history(&thread.thread_id).await, before);
        }
    }
    // As after a kill between the record and the line.
    let whole = fs::read(&thread.path).unwrap();
    client.compact(auto.clone()).await;
    process.killed().await;
    fs::write(&thread.path, &whole).unwrap();
    (process, client) = Process::with_client(home.path()).await;
    let again = client.compact(auto.clone()).await;
    assert_eq!(client.history(&thread.thread_id).await, again.history[..]);
    let refused = client.call::<compaction::Run>(auto).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::NotWorthwhile, "nothing has grown since");
    process.stopped().await;
}

#[tokio::test]
async fn a_started_compaction_ends_even_if_its_client_disconnects_or_it_is_cancelled() {
    let provider = Provider::start(vec![Answer::Hang]).await;
    let home = tempfile::tempdir().unwrap();
    let (daemon, mut client) = Daemon::with_client(home, &provider.config("")).await;
    let thread = thread(&mut client, 30).await;
    let mut listener = daemon.connect().await;
    listener
        .subscribe(&[
            EventKind::CompactionStarted,
            EventKind::CompactionFailed,
            EventKind::CompactionCompleted,
        ])
        .await;
    let mut ended = async |expected: EventKind| {
        let started = soon("its start", listener.event()).await;
        assert_eq!(started.kind, EventKind::CompactionStarted);
        let end = soon("its end", listener.event()).await;
        assert_eq!(end.kind, expected);
        assert_eq!(text_at(&end.data, "compaction_id"), text_at(&started.data, "compaction_id"));
        end.data
    };
    let mut leaving = daemon.connect().await;
    leaving.begin::<compaction::Run>(installed(&thread)).await;
    eventually("the model receives a request", || provider.hanging() == 1).await;
    drop(leaving);
    assert_eq!(text_at(&ended(EventKind::CompactionFailed).await, "reason"), "cancelled");

    let id = client.start_compaction(installed(&thread)).await;
    eventually("the model receives another request", || provider.hanging() == 1).await;
    let cancel = compaction::CancelParams { compaction_id: id };
    assert!(client.call::<compaction::Cancel>(cancel).await.unwrap().cancelled);
    assert_eq!(text_at(&ended(EventKind::CompactionFailed).await, "reason"), "cancelled");

    let asked_of_nobody = RunParams { strategy: Some(Strategy::Checkpoint), ..installed(&thread) };
    client.compact(asked_of_nobody).await;
    ended(EventKind::CompactionCompleted).await;
}
