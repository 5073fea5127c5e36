//! Continuing a thread in a new transcript.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use longhaul_protocol::compaction::Strategy;
use longhaul_protocol::daemon::CompactionsStatus;
use longhaul_protocol::thread::{
    AgentCost, AgentUse, Bill, BillParams, BlockedCause, Continue, ContinueParams, CostSource,
    ThreadList, ThreadListParams,
};
use longhaul_protocol::{ErrorKind, Retry};
use rustix::fs::{FlockOperation, flock};
use serde_json::Value;

use crate::support::rollout::Rollout;
use crate::support::{Client, Daemon, field, text_at, text_of};

const THREAD: &str = "019cadd3-0000-7000-8000-000000000011";
const LAST_REQUEST: &str = "Now also time out after 3 s.";

struct Session {
    daemon: Daemon,
    client: Client,
    original: PathBuf,
    before: Vec<u8>,
}

async fn session() -> Session {
    let home = tempfile::tempdir().unwrap();
    let mut rollout = Rollout::new(THREAD, Path::new("/w"));
    rollout.message("user", "Make the fetcher retry.");
    for round in 0..40 {
        rollout.command(&format!("cargo test fetch_{round}"), 0, "running tests\n");
    }
    rollout.patch("*** Begin Patch\n*** Update File: src/fetch.rs\n@@\n-a\n+b\n*** End Patch");
    rollout.message("user", LAST_REQUEST);
    let original = rollout.write(home.path());
    let before = fs::read(&original).unwrap();
    let (daemon, client) = Daemon::synced(home, "", THREAD).await;
    Session { daemon, client, original, before }
}

fn params(thread_id: &str) -> ContinueParams {
    ContinueParams { thread_id: thread_id.into(), max_tokens: Some(800), ..Default::default() }
}

#[tokio::test]
async fn the_new_transcript_holds_the_view_and_the_request_and_the_old_one_is_unchanged() {
    let Session { daemon, mut client, original, before } = session().await;
    let continued = client.call::<Continue>(params(THREAD)).await.unwrap();
    let (path, id) = (PathBuf::from(&continued.path), continued.thread_id.as_str());
    let name = path.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("rollout-") && name.ends_with(&format!("-{id}.jsonl")), "{name}");
    assert!(path.starts_with(daemon.home.path().join(".codex/sessions")));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(continued.command, ["codex", "resume", id]);
    let thread = client.thread(id).await;
    assert_eq!((thread.continues.as_deref(), thread.lines), (Some(THREAD), 2), "{thread:?}");
    assert!(thread.unresumed && !client.thread(THREAD).await.unresumed, "{thread:?}");
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = lines.iter().map(|line| text_at(line, "type")).collect();
    assert_eq!(kinds, ["session_meta", "compacted"]);
    let history = field(&lines[1], "payload.replacement_history").as_array().unwrap();
    assert!(text_of(&history[0]).contains("[SESSION_CHECKPOINT v1]"));
    assert_eq!(text_of(history.last().unwrap()), LAST_REQUEST);
    assert_eq!(fs::read(&original).unwrap(), before, "it is only read");
}

#[tokio::test]
async fn the_checkpoint_survives_eight_continuations() {
    let Session { daemon: _daemon, mut client, .. } = session().await;
    let mut thread_id = THREAD.to_owned();
    for generation in 0..8 {
        let continued = client.call::<Continue>(params(&thread_id)).await.unwrap();
        let view = &continued.compaction.view;
        for known in ["src/fetch.rs (edited", LAST_REQUEST, "Make the fetcher retry."] {
            assert!(view.contains(known), "{known} in generation {generation}:\n{view}");
        }
        thread_id = continued.thread_id;
    }
    assert_eq!(client.history(&thread_id).await.len(), 2, "the view and the request");
}

#[tokio::test]
async fn the_bill_of_a_continuation_names_its_first_compaction() {
    let Session { daemon: _daemon, mut client, .. } = session().await;
    let continued = client.call::<Continue>(params(THREAD)).await.unwrap();
    // Its last line is recent, so the provider's cache is warm.
    let resume = continued.resume.unwrap();
    assert!(!resume.is_cold && resume.briefing_tokens < resume.history_tokens, "{resume:?}");
    let id = continued.compaction.compaction_id;
    for (thread_id, is_taken) in [(THREAD, false), (continued.thread_id.as_str(), true)] {
        let bill = client.call::<Bill>(BillParams { thread_id: thread_id.into() }).await.unwrap();
        let [cost] = bill.compactions.as_slice() else { panic!("{bill:?}") };
        assert_eq!((&cost.summary.compaction_id, cost.summary.cost.requests), (&id, 0));
        assert_eq!(cost.in_force_seq.is_some(), is_taken, "{thread_id}: {cost:?}");
        assert_eq!(cost.after.is_some(), is_taken, "{thread_id}");
        let expected = if is_taken { AgentUse::View } else { AgentUse::NotAtAll };
        assert_eq!(cost.agent_use, expected, "{thread_id}");
        // An undo is of the thread that was compacted, not of the one that continues it.
        assert_eq!(bill.undo_next.is_some(), !is_taken, "{thread_id}");
        // The agent recorded nothing, and nothing is invented.
        assert_eq!(bill.agent, AgentCost::default());
    }
    let status = client.status().await.compactions;
    assert_eq!((status.compactions, status.requests, status.tokens), (1, 0, 0));
    assert!(status.history_tokens > 0 && status.since.is_some(), "{status:?}");
    assert_eq!((status.agent_compactions, status.agent_tokens), (0, None), "none is recorded");
}

#[tokio::test]
async fn the_bill_survives_a_restart_and_includes_the_agents_own_compactions() {
    let Session { daemon, mut client, .. } = session().await;
    client.call::<Continue>(params(THREAD)).await.unwrap();
    let before = client.status().await.compactions;
    assert_eq!(before.compactions, 1);
    drop(client);
    let home = daemon.stopped().await;
    let path = session_compacted_by_its_agent(home.path(), "c1");
    let (_daemon, mut client) = Daemon::synced_file(home, "", &path).await;
    let after = client.status().await.compactions;
    let expected = CompactionsStatus {
        agent_compactions: 1,
        agent_tokens: Some(155_000),
        agent_duration_ms: Some(96_000),
        ..before
    };
    assert_eq!(after, expected);
}

#[tokio::test]
async fn a_thread_without_a_record_is_billed_by_other_threads_of_its_model() {
    let home = tempfile::tempdir().unwrap();
    let paths = ["c1", "c2"].map(|id| session_compacted_by_its_agent(home.path(), id));
    let of_model = |id: &str, model: &str| {
        let path = home.path().join(format!(".claude/projects/-w/{id}.jsonl"));
        fs::write(&path, turn(id, model)).unwrap();
        path.canonicalize().unwrap()
    };
    let plain = of_model("c3", "claude-x");
    let other = of_model("c4", "claude-y");
    let (_daemon, mut client) = Daemon::with_client(home, "").await;
    for path in paths.iter().chain([&plain, &other]) {
        client.sync_file(path).await;
    }
    let unknown = AgentCost::default();
    let known = |source, compactions| AgentCost {
        source,
        compactions,
        input_tokens: Some(155_000),
        output_tokens: None,
        duration_ms: Some(96_000),
    };
    for (id, expected) in
        [("c1", known(CostSource::Thread, 1)), ("c3", known(CostSource::Model, 2)), ("c4", unknown)]
    {
        let bill = client.call::<Bill>(BillParams { thread_id: id.into() }).await.unwrap();
        assert_eq!(bill.agent, expected, "{id}");
    }
}

/// A turn of a session of Claude Code.
fn turn(id: &str, model: &str) -> String {
    let line = |uuid: &str, more: Value| {
        let mut line = serde_json::json!({ "sessionId": id, "cwd": "/w", "version": "2.1.0",
            "isSidechain": false, "uuid": format!("{id}-{uuid}"),
            "timestamp": "2026-01-02T03:04:05.000Z" });
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        format!("{line}\n")
    };
    let asked = serde_json::json!({ "type": "user",
        "message": { "role": "user", "content": "Rename x to y in a.rs" } });
    let answered = serde_json::json!({ "type": "assistant", "parentUuid": format!("{id}-u0"),
        "message": { "model": model, "content": [{ "type": "text", "text": "Renamed." }] } });
    line("u0", asked) + &line("u1", answered)
}

/// A session of Claude Code that the agent itself compacted, with a record of the cost.
pub(crate) fn session_compacted_by_its_agent(home: &Path, id: &str) -> PathBuf {
    let folder = home.join(".claude/projects/-w");
    fs::create_dir_all(&folder).unwrap();
    let boundary = serde_json::json!({ "type": "system", "subtype": "compact_boundary",
        "sessionId": id, "cwd": "/w", "version": "2.1.0", "uuid": format!("{id}-u2"),
        "timestamp": "2026-01-02T03:06:05.000Z",
        "compactMetadata": { "trigger": "auto", "preTokens": 155_000, "durationMs": 96_000 } });
    let summary = serde_json::json!({ "type": "user", "sessionId": id, "cwd": "/w",
        "version": "2.1.0", "isCompactSummary": true, "uuid": format!("{id}-u3"),
        "parentUuid": format!("{id}-u2"), "timestamp": "2026-01-02T03:06:05.000Z",
        "message": { "role": "user", "content": "This session is being continued" } });
    let path = folder.join(format!("{id}.jsonl"));
    fs::write(&path, turn(id, "claude-x") + &format!("{boundary}\n{summary}\n")).unwrap();
    path.canonicalize().unwrap()
}

#[tokio::test]
async fn a_thread_whose_agent_is_working_is_left_alone() {
    let Session { daemon, mut client, .. } = session().await;
    let locks = daemon.home.path().join(".codex/thread-writer-locks");
    fs::create_dir_all(&locks).unwrap();
    let lock = fs::File::create(locks.join(format!("{THREAD}.lock"))).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    let error = client.call::<Continue>(params(THREAD)).await.unwrap_err();
    assert_eq!((error.kind(), error.retry()), (ErrorKind::ThreadBusy, Retry::Backoff));
    assert_eq!(error.data.unwrap().detail, Some(serde_json::json!({ "agents": ["claude"] })));
    let elsewhere = ContinueParams { to: Some("claude".to_owned()), ..params(THREAD) };
    client.call::<Continue>(elsewhere).await.unwrap();
    drop(lock);
    client.call::<Continue>(params(THREAD)).await.unwrap();
}

/// At a hand-over, the checkpoint is compared with the disk file by file.
#[tokio::test]
async fn the_working_tree_is_checked_at_a_hand_over() {
    let home = tempfile::tempdir().unwrap();
    let project = home.path().join("project");
    fs::create_dir(&project).unwrap();
    let mut rollout = Rollout::new(THREAD, &project);
    rollout.message("user", "Write two files.");
    for name in ["kept.rs", "changed.rs", "gone.rs"] {
        let patch = format!("*** Begin Patch\n*** Add File: {name}\n+fn a() {{}}\n*** End Patch");
        rollout.patch(&patch);
        fs::write(project.join(name), "fn a() {}\n").unwrap();
    }
    rollout.write(home.path());
    let (_daemon, mut client) = Daemon::synced(home, "", THREAD).await;
    fs::write(project.join("changed.rs"), "fn b() {}\n").unwrap();
    fs::remove_file(project.join("gone.rs")).unwrap();
    let to = Some("claude".to_owned());
    let continued = client.call::<Continue>(ContinueParams { to, ..params(THREAD) }).await.unwrap();
    let checked = continued.checked.unwrap();
    assert_eq!((checked.unchanged, checked.unverified), (1, 0), "{checked:?}");
    assert_eq!(
        (checked.changed, checked.gone),
        (vec!["changed.rs".into()], vec!["gone.rs".into()])
    );
    let earlier = ContinueParams { as_of: Some(3), ..params(THREAD) };
    assert_eq!(client.call::<Continue>(earlier).await.unwrap().checked, None);
}

#[tokio::test]
async fn an_encrypted_compaction_starts_no_thread() {
    let Session { daemon: _daemon, mut client, .. } = session().await;
    let remote = ContinueParams { strategy: Some(Strategy::Remote), ..params(THREAD) };
    let error = client.call::<Continue>(remote).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidParams);
    assert_eq!(client.threads().await.len(), 1);
}

#[tokio::test]
async fn eight_concurrent_continuations_succeed_and_foreign_hidden_files_stay() {
    let Session { daemon, .. } = session().await;
    let day = daemon.home.path().join(".codex/sessions/2025/11/21");
    fs::create_dir_all(&day).unwrap();
    let foreign = day.join(".rollout-of-another-program.jsonl.new");
    for _ in 0..4 {
        fs::write(&foreign, "precious").unwrap();
        let continued = (0..8).map(|_| async {
            let mut client = daemon.connect().await;
            client.call::<Continue>(params(THREAD)).await.unwrap().path
        });
        let paths = futures_util::future::join_all(continued).await;
        assert!(paths.iter().all(|path| Path::new(path).parent() == Some(&day)), "{paths:?}");
        assert!(paths.iter().all(|path| Path::new(path).exists()), "{paths:?}");
        assert_eq!(fs::read_to_string(&foreign).unwrap(), "precious");
    }
}

#[tokio::test]
async fn a_thread_continues_in_another_agent_and_back() {
    let Session { daemon, mut client, .. } = session().await;
    let to_claude = ContinueParams { to: Some("claude".into()), ..params(THREAD) };
    let continued = client.call::<Continue>(to_claude).await.unwrap();
    let id = continued.thread_id.as_str();
    let path = daemon.home.path().join(format!(".claude/projects/-w/{id}.jsonl"));
    assert_eq!(Path::new(&continued.path), path);
    assert_eq!(continued.command, ["claude", "--resume", id]);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let thread = client.thread(id).await;
    assert_eq!(
        (thread.source.as_str(), thread.continues.as_deref(), thread.cwd.as_deref()),
        ("claude", Some(THREAD), Some("/w"))
    );
    let history = client.history(id).await;
    assert!(text_of(&history[0]).contains("[SESSION_CHECKPOINT v1]"));
    assert_eq!(text_of(history.last().unwrap()), LAST_REQUEST);

    // Without a target agent it continues in its own, and Codex recognizes the thread it came from.
    let again = client.call::<Continue>(params(id)).await.unwrap();
    assert_eq!(again.command[0], "claude");
    let to_codex = ContinueParams { to: Some("codex".into()), ..params(&again.thread_id) };
    let back = client.call::<Continue>(to_codex).await.unwrap();
    assert_eq!(back.command[..2], ["codex", "resume"]);
    let view = &back.compaction.view;
    for known in ["src/fetch.rs (edited", "Make the fetcher retry."] {
        assert!(view.contains(known), "{known}:\n{view}");
    }
    assert_eq!(view.matches(LAST_REQUEST).count(), 1, "{view}");
}

#[tokio::test]
async fn the_error_for_an_unsupported_agent_lists_the_supported_ones() {
    let Session { daemon: _daemon, mut client, .. } = session().await;
    for agent in ["gemini", "emacs"] {
        let params = ContinueParams { to: Some(agent.into()), ..params(THREAD) };
        let error = client.call::<Continue>(params).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidParams);
        assert!(error.message.ends_with("one of: codex, claude"), "{error:?}");
    }
    assert_eq!(client.threads().await.len(), 1);
}

#[tokio::test]
async fn a_blocked_thread_is_listed_until_another_continues_it() {
    let mut rollout = Rollout::new(THREAD, Path::new("/w"));
    for request in ["Make the fetcher retry.", LAST_REQUEST] {
        rollout.message("user", request);
        let message = "Codex ran out of room in the model's context window. Start a new thread.";
        let failed = serde_json::json!({ "type": "task_complete", "error":
            { "message": message, "codex_error_info": "context_window_exceeded" } });
        rollout.line("event_msg", &failed);
    }
    let (_daemon, mut client) = Daemon::reading(&rollout, "").await;
    let blocked = || ThreadListParams { blocked: Some(true), ..Default::default() };
    let threads = client.call::<ThreadList>(blocked()).await.unwrap().threads;
    let [thread] = threads.as_slice() else { panic!("{threads:?}") };
    let found = thread.blocked.map(|blocked| (blocked.cause, blocked.failures));
    assert_eq!(found, Some((BlockedCause::ContextFull, 2)));
    let continued = client.call::<Continue>(params(THREAD)).await.unwrap();
    assert!(continued.compaction.view.contains(LAST_REQUEST), "{}", continued.compaction.view);
    assert!(client.thread(&continued.thread_id).await.blocked.is_none());
    assert_eq!(client.call::<ThreadList>(blocked()).await.unwrap().threads, []);
}
