//! `thread/forget`: nothing of the thread is left in the state folder.

use std::fs;
use std::path::Path;

use longhaul_protocol::ErrorKind;
use longhaul_protocol::WireError;
use longhaul_protocol::checkpoint::{ChoiceAction, Choose, ChooseParams, View, ViewParams};
use longhaul_protocol::compaction::{Run, RunParams, Strategy};
use longhaul_protocol::message_history::{Append, AppendParams, Lookup, LookupParams};
use longhaul_protocol::thread::{
    ThreadForget, ThreadForgetParams, ThreadForgetResult, ThreadGet, ThreadGetParams,
};
use sqlx::{ConnectOptions as _, Connection as _};

use crate::archive::{OTHER, THREAD, archived, archiving, listed, long, restore, says};
use crate::memory::run_all;
use crate::support::provider::{Answer, Provider};
use crate::support::rollout::Rollout;
use crate::support::{Client, Daemon, eventually, file_with, message, of_thread, until};
use crate::threads::{addition, append, close, open};

/// Only the thread to forget has it.
const WORD: &str = "zirconia";

async fn forget(client: &mut Client, thread_id: &str) -> Result<ThreadForgetResult, WireError> {
    client.call::<ThreadForget>(ThreadForgetParams { thread_id: thread_id.into() }).await
}

async fn view(client: &mut Client, thread_id: &str) -> String {
    let params = ViewParams { thread_id: thread_id.into(), ..Default::default() };
    client.call::<View>(params).await.unwrap().text.0
}

/// Gives the thread something in every place that has text.
async fn use_everywhere(client: &mut Client) {
    client.sync(THREAD).await;
    client.sync(OTHER).await;
    archived(client).await;
    until("both threads can be found", async || {
        !client.hits(WORD).await.is_empty() && !client.hits("compressor").await.is_empty()
    })
    .await;
    client.compact(of_thread(THREAD)).await;
    let compaction = client.start_compaction(of_thread(THREAD)).await;
    client.job_in(&format!("compact/{compaction}"), "done").await;
    let text = Some(format!("Never heat the {WORD}."));
    let pin =
        ChooseParams { thread_id: THREAD.into(), action: ChoiceAction::Pin, text, handle: None };
    client.call::<Choose>(pin).await.unwrap();
    for thread_id in [THREAD, OTHER] {
        let text = format!("a prompt of {thread_id}: {WORD}");
        let thread_id = Some(thread_id.to_owned());
        client
            .call::<Append>(AppendParams { text, thread_id, ..Default::default() })
            .await
            .unwrap();
    }
    run_all(client).await;
}

#[tokio::test]
async fn nothing_of_a_forgotten_thread_is_left() {
    let home = tempfile::tempdir().unwrap();
    let path = long(THREAD, WORD, 12).write(home.path());
    long(OTHER, "compressor", 12).write(home.path());
    let state = home.path().join(".local/state/longhaul");
    let (daemon, mut client) = Daemon::with_client(home, "").await;
    use_everywhere(&mut client).await;
    let aside = state.join("longhaul.db.corrupt-17");
    fs::write(&aside, WORD).unwrap();

    let refused = forget(&mut client, THREAD).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::IllegalTransition);
    assert!(refused.message.contains(path.to_str().unwrap()), "{refused:?}");
    assert_eq!(client.thread(THREAD).await.thread_id, THREAD, "nothing was changed");

    // The agent archives it meanwhile.
    let moved = path.parent().unwrap().join("../../../../archived_sessions");
    fs::create_dir_all(&moved).unwrap();
    let moved = moved.canonicalize().unwrap().join(path.file_name().unwrap());
    fs::rename(&path, &moved).unwrap();
    let refused = forget(&mut client, THREAD).await.unwrap_err();
    assert!(refused.message.contains(moved.to_str().unwrap()), "{refused:?}");

    fs::remove_file(&moved).unwrap();
    let forgotten = forget(&mut client, &THREAD[..34]).await;
    assert_eq!(forgotten.as_ref().map_err(WireError::kind), Err(ErrorKind::Ambiguous));
    let forgotten = forget(&mut client, THREAD).await.unwrap();
    assert_eq!((forgotten.compactions, forgotten.prompts), (2, 1), "{forgotten:?}");
    assert!(forgotten.archived_bytes > 10_000 && !aside.exists(), "{forgotten:?}");
    let again = forget(&mut client, THREAD).await.unwrap();
    assert_eq!((again.compactions, again.prompts, again.archived_bytes), (0, 0, 0));

    let get = ThreadGetParams { thread_id: THREAD.into() };
    let gone = client.call::<ThreadGet>(get).await.unwrap_err();
    assert_eq!(gone.kind(), ErrorKind::ThreadNotFound);
    assert_eq!(listed(&mut client).await, [OTHER]);
    assert_eq!(
        (client.hits(WORD).await.len(), !client.hits("compressor").await.is_empty()),
        (0, true)
    );
    assert_eq!(client.compactions().await.len(), 0);
    let prompts = client.call::<Lookup>(LookupParams::default()).await.unwrap().messages;
    let prompts: Vec<u64> = prompts.iter().map(|prompt| prompt.offset).collect();
    assert_eq!(prompts, [1], "the other prompt keeps its number");

    let home = daemon.stopped().await;
    assert!(!says(home.path(), THREAD) && !says(home.path(), &format!("{WORD} 1 ")));
    // The other thread's prompt has the word.
    let prompts = state.join("message_history.jsonl");
    assert!(!fs::read_to_string(&prompts).unwrap().contains(THREAD));
    fs::remove_file(prompts).unwrap();
    // An index may store a word without the letters that it shares with the one before. Deleted items are still in its bytes.
    assert_eq!(file_with(&state, &WORD[1..]), None);
    assert!(file_with(&state, "ompressor").is_some());
}

/// The fork's own fold began with the thread's.
#[tokio::test]
async fn nothing_of_a_forgotten_thread_is_left_in_threads_that_continue_it() {
    const HEIR: &str = "019e0000-0000-7000-8000-00000000f00d";
    let home = tempfile::tempdir().unwrap();
    let base = long(THREAD, WORD, 12);
    let mut fork = Rollout::forked(OTHER, &base, 20);
    fork.message("user", "Go another way.");
    let mut heir = Rollout::forked(HEIR, &fork, 2);
    heir.message("user", "Turn left.");
    let path = base.write(home.path());
    let _fork = fork.write(home.path());
    let gone = heir.write(home.path());
    let state = home.path().join(".local/state/longhaul");
    let (daemon, mut client) = Daemon::with_client(home, "").await;
    for thread in [THREAD, OTHER, HEIR] {
        client.sync(thread).await;
        assert!(view(&mut client, thread).await.contains(WORD), "{thread}");
    }
    archived(&mut client).await;
    fs::remove_file(&path).unwrap();
    fs::remove_file(&gone).unwrap();
    forget(&mut client, THREAD).await.unwrap();
    for (thread, own) in [(OTHER, "Go another way."), (HEIR, "Turn left.")] {
        let view = view(&mut client, thread).await;
        assert!(view.contains(own) && !view.contains(WORD), "{thread}: {view}");
    }
    let _home = daemon.stopped().await;
    assert_eq!(file_with(&state, &WORD[1..]), None);
}

#[tokio::test]
async fn a_recorded_thread_is_forgotten_with_its_transcript() {
    let home = tempfile::tempdir().unwrap();
    let state = home.path().join(".local/state/longhaul");
    let (_daemon, mut client) = Daemon::with_client(home, "").await;
    let thread = open(&mut client, "k").await;
    let text = format!("Cut the {WORD}.");
    append(&mut client, &thread, vec![addition("1", message("user", &text))]).await.unwrap();
    close(&mut client, &thread).await;
    archived(&mut client).await;
    let forgotten = forget(&mut client, &thread.thread_id).await.unwrap();
    assert_eq!(forgotten.thread_id, thread.thread_id);
    assert!(!Path::new(&thread.path).exists());
    assert_eq!(file_with(&state, WORD), None);
    let anew = open(&mut client, "k").await;
    assert!(anew.created && anew.thread_id == thread.thread_id, "{anew:?}");
    append(&mut client, &anew, vec![addition("1", message("user", "Begin again."))]).await.unwrap();
}

#[tokio::test]
async fn an_unknown_thread_cannot_be_forgotten() {
    let (_daemon, mut client) = Daemon::start_with_client().await;
    listed(&mut client).await;
    for unknown in ["nobody", OTHER] {
        let refused = forget(&mut client, unknown).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ThreadNotFound, "{unknown}");
    }
}

#[tokio::test]
async fn a_thread_restored_during_the_call_is_not_reported_as_forgotten() {
    let home = tempfile::tempdir().unwrap();
    let path = long(THREAD, WORD, 300).write(home.path());
    let (daemon, mut client) = archiving(home, THREAD).await;
    fs::remove_file(&path).unwrap();
    let mut other = daemon.connect().await;
    let (restored, forgotten) =
        tokio::join!(restore(&mut other, None), forget(&mut client, THREAD));
    match forgotten {
        Ok(_) => assert!(restored.is_err() && !path.exists(), "{restored:?}"),
        Err(error) => assert_eq!(error.kind(), ErrorKind::IllegalTransition, "{restored:?}"),
    }
}

#[tokio::test]
async fn a_compaction_that_ends_after_its_thread_was_forgotten_is_not_recorded() {
    // The second one is asked again, with less, after its thread was forgotten.
    let summary = || Answer::says(&format!("The {WORD} is repaired."));
    let held = |answer| Answer::Held(Box::new(answer));
    for answers in [vec![held(summary())], vec![held(Answer::overflow()), summary()]] {
        is_not_recorded(answers).await;
    }
}

async fn is_not_recorded(answers: Vec<Answer>) {
    let questions = answers.len();
    let provider = Provider::start(answers).await;
    let home = tempfile::tempdir().unwrap();
    let path = long(THREAD, WORD, 60).write(home.path());
    let state = home.path().join(".local/state/longhaul");
    let (daemon, mut client) = Daemon::synced(home, &provider.config(""), THREAD).await;
    archived(&mut client).await;
    let mut other = daemon.connect().await;
    let params = RunParams { strategy: Some(Strategy::Summary), ..of_thread(THREAD) };
    let running = tokio::spawn(async move { other.call::<Run>(params).await });
    eventually("the model is asked", || !provider.requests().is_empty()).await;
    fs::remove_file(&path).unwrap();
    forget(&mut client, THREAD).await.unwrap();
    provider.release();
    let refused = running.await.unwrap().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ThreadNotFound, "{refused:?}");
    assert!(provider.requests().len() >= questions);
    assert_eq!(client.compactions().await.len(), 0);
    let _home = daemon.stopped().await;
    assert_eq!(file_with(&state, &WORD[1..]), None);
}

/// A prefix names the thread no longer by then.
#[tokio::test]
async fn a_call_that_a_reader_of_the_database_stops_says_how_to_go_on() {
    let home = tempfile::tempdir().unwrap();
    let path = long(THREAD, WORD, 12).write(home.path());
    let state = home.path().join(".local/state/longhaul");
    let (_daemon, mut client) = archiving(home, THREAD).await;
    fs::remove_file(&path).unwrap();
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(state.join("longhaul.db"));
    let mut reader = options.connect().await.unwrap();
    let mut reading = reader.begin().await.unwrap();
    sqlx::query("SELECT * FROM thread").fetch_all(&mut *reading).await.unwrap();

    let left = forget(&mut client, &THREAD[..20]).await.unwrap_err();
    assert_eq!(left.kind(), ErrorKind::StoreBusy, "{left:?}");
    let hint = left.data.and_then(|data| data.hint).unwrap_or_default();
    assert_eq!(hint, format!("run again: longhaul thread forget {THREAD}"));
    reading.rollback().await.unwrap();
    reader.close().await.unwrap();
    forget(&mut client, THREAD).await.unwrap();
    assert_eq!(file_with(&state, &WORD[1..]), None);
}
