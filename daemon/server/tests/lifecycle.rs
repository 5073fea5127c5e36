//! A whole daemon: handshake, status, start, stop, and a second daemon.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;

use longhaul_protocol::daemon::{ClientInfo, Initialize, InitializeParams, NoParams, Shutdown};
use longhaul_protocol::event::{EventKind, Subscribe, SubscribeParams};
use longhaul_protocol::{ErrorKind, METHODS, PROTOCOL_REVISION, RevisionRange, thread};
use rustix::process::Signal;
use serde_json::json;
use tempfile::TempDir;

use crate::support::rollout::Rollout;
use crate::support::{Client, Daemon, Process, command, field};

fn hello(protocol: Option<RevisionRange>, capabilities: Option<Vec<String>>) -> InitializeParams {
    let client = ClientInfo { name: "test".into(), version: "1".into() };
    InitializeParams { client, protocol, capabilities, folder: None }
}

fn revisions(min: u32, max: u32) -> InitializeParams {
    hello(Some(RevisionRange { min, max }), None)
}

#[tokio::test]
async fn the_handshake_agrees_on_a_revision_or_names_the_older_side() {
    let (_daemon, mut client) = Daemon::start_with_client().await;
    let result = client.call::<Initialize>(revisions(1, 9)).await.unwrap();
    assert_eq!(result.protocol, PROTOCOL_REVISION);
    assert_eq!(result.server.pid, std::process::id());
    assert_eq!(result.server.version, env!("CARGO_PKG_VERSION"));
    let methods: Vec<&str> = METHODS.iter().map(|method| method.name).collect();
    assert_eq!(result.methods, methods);
    assert_eq!(result.limits.connections_max, 512);

    let error = client.call::<Initialize>(revisions(7, 9)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::VersionUnsupported);
    let detail = error.data.unwrap().detail.unwrap();
    assert_eq!(field(&detail, "disagreement"), "daemon_too_old");
    let error = client.call::<Initialize>(revisions(9, 7)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidParams);
    let mut long = hello(None, None);
    long.client.name = "x".repeat(200);
    let error = client.call::<Initialize>(long).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
}

#[tokio::test]
async fn a_connection_may_call_the_methods_it_requested_and_request_more_later() {
    let (_daemon, mut client) = Daemon::start_with_client().await;
    let wanted = vec!["event".to_owned(), "telepathy".to_owned()];
    let result = client.call::<Initialize>(hello(None, Some(wanted))).await.unwrap();
    assert_eq!(result.capabilities, ["event"]);
    assert_eq!(result.methods, ["initialize", "event/subscribe", "event/unsubscribe"]);
    let refused = client.request("daemon/status", json!({})).await;
    assert_eq!(refused.kind(), Some(ErrorKind::CapabilityMissing));
    client.call::<Initialize>(hello(None, None)).await.unwrap();
    client.status().await;
}

#[tokio::test]
async fn every_method_exists_and_rejects_unknown_params() {
    let (_daemon, mut client) = Daemon::start_with_client().await;
    for info in METHODS {
        let answer = client.request(info.name, json!({ "no_such_field": 1 })).await;
        assert_eq!(answer.kind(), Some(ErrorKind::InvalidParams), "{}: {answer:?}", info.name);
    }
    let answer = client.request("daemon/status", json!({ "no_such_field": 1 })).await;
    let detail = answer.error().data.as_ref().unwrap().detail.as_ref().unwrap();
    assert_eq!(field(detail, "place"), "params.no_such_field");
}

#[tokio::test]
async fn status_reports_the_daemon_and_its_start() {
    let (daemon, mut client) = Daemon::start_with_client().await;
    daemon.clock.advance_ms(2_500);
    let status = client.status().await;
    assert_eq!((status.started_at, status.uptime_ms), (1_763_700_000_000, 2_500));
    assert_eq!(status.socket, daemon.socket.display().to_string());
    assert_eq!(status.state_dir, daemon.deps.config.now().state_dir.display().to_string());
    assert_eq!((status.pid, status.protocol), (std::process::id(), PROTOCOL_REVISION));
    assert_eq!(status.version, env!("CARGO_PKG_VERSION"));
    assert_eq!((status.connections, status.requests, status.panics), (1, 1, 0));
    assert_eq!(status.warnings, []);
}

#[tokio::test]
async fn the_first_list_after_a_start_is_complete() {
    let home = home();
    for thread in 10..60 {
        let id = format!("019cadd3-0000-7000-8000-0000000000{thread}");
        let mut rollout = Rollout::new(&id, Path::new("/w"));
        rollout.message("user", "Make the fetcher retry.");
        rollout.write(home.path());
    }
    let daemon = Daemon::over(home, "").await;
    assert_eq!(daemon.connect().await.threads().await.len(), 50);
}

#[tokio::test]
async fn a_threads_counts_match_its_transcript() {
    const ID: &str = "019cadd3-0000-7000-8000-0000000000d3";
    let home = home();
    let mut rollout = Rollout::with_rounds(ID, Path::new("/w"), "Make the fetcher retry.", 2);
    let path = rollout.line("kind_of_tomorrow", &json!({})).write(home.path());
    let text = std::fs::read_to_string(&path).unwrap() + "{ not json\nnor this\n";
    std::fs::write(&path, &text).unwrap();
    let (_daemon, mut client) = Daemon::with_client(home, "").await;
    let synced = client.sync(ID).await;
    let params = thread::ThreadGetParams { thread_id: ID.into() };
    let thread::ThreadGetResult { thread, files, checkpoint_seq } =
        client.call::<thread::ThreadGet>(params).await.unwrap();
    assert_eq!((thread.items, thread.lines, thread.bytes), (7, 11, text.len() as u64));
    assert_eq!((thread.malformed, thread.unknown, thread.oversized), (2, 1, 0));
    assert_eq!((thread.compactions, thread.archived), (0, false));
    assert!(thread.tokens > 50 && thread.created_at < thread.updated_at, "{thread:?}");
    assert_eq!((thread.source.as_str(), thread.kind), ("codex", thread::ThreadKind::Interactive));
    assert_eq!(thread.cwd.as_deref(), Some("/w"));
    assert_eq!(thread.originator.as_deref(), Some("codex_cli_rs"));
    assert_eq!(thread.cli_version.as_deref(), Some("0.130.0"));
    assert_eq!(thread.git_branch.as_deref(), Some("main"));
    assert_eq!((checkpoint_seq, synced.offset), (synced.seq, thread.bytes));
    let [file] = &files[..] else { panic!("one file: {files:?}") };
    assert_eq!((&file.path, file.current), (&thread.path, true));
    assert_eq!((file.bytes, file.offset), (thread.bytes, thread.bytes));
}

#[tokio::test]
async fn a_thread_has_the_newest_name_it_was_given_or_its_first_request() {
    let home = home();
    let (named, other) =
        ("019cadd3-0000-7000-8000-0000000000d1", "019cadd3-0000-7000-8000-0000000000d2");
    for id in [named, other] {
        let mut rollout = Rollout::new(id, home.path());
        rollout.message("user", "Fix the parser.").write(home.path());
    }
    let entry = |id: &str, name: &str| format!("{}\n", json!({ "id": id, "thread_name": name }));
    let text = [entry(named, "first"), entry("gone", "lost"), entry(named, "second")].concat();
    std::fs::write(home.path().join(".codex/session_index.jsonl"), text).unwrap();
    let (_daemon, mut client) = Daemon::synced(home, "", named).await;
    client.sync(other).await;
    let mut titles: Vec<_> =
        client.threads().await.into_iter().map(|thread| (thread.thread_id, thread.title)).collect();
    titles.sort();
    let title = |id: &str, title: &str| (id.to_owned(), Some(title.to_owned()));
    assert_eq!(titles, [title(named, "second"), title(other, "Fix the parser.")]);
    assert_eq!(client.thread(named).await.title.as_deref(), Some("second"));
}

#[tokio::test]
async fn a_shutdown_answers_closes_subscriptions_and_leaves_no_socket() {
    let (daemon, mut subscriber) = Daemon::start_with_client().await;
    subscriber.call::<Subscribe>(SubscribeParams::default()).await.unwrap();
    daemon.deps.events.publish(EventKind::ThreadUpdated, json!({}));
    let mut client = daemon.connect().await;
    let answer = client.call::<Shutdown>(NoParams {}).await.unwrap();
    assert_eq!(answer.pid, std::process::id());
    assert_eq!(client.receive().await, None);
    for expected in [EventKind::ThreadUpdated, EventKind::Closing] {
        assert_eq!(subscriber.event().await.kind, expected);
    }
    assert_eq!(subscriber.receive().await, None);
    let socket = daemon.socket.clone();
    daemon.ended().await.unwrap();
    assert!(!socket.exists());
}

#[tokio::test]
async fn events_are_resumed_by_seq_on_a_new_connection() {
    let (daemon, mut client) = Daemon::start_with_client().await;
    let since = client.call::<Subscribe>(SubscribeParams::default()).await.unwrap().seq;
    drop(client);
    let missed = daemon.deps.events.publish(EventKind::StoreRebuilt, json!({ "moved_to": "x" }));
    let mut client = daemon.connect().await;
    let params = SubscribeParams { since_seq: Some(since), ..Default::default() };
    client.call::<Subscribe>(params).await.unwrap();
    let event = client.event().await;
    assert_eq!((event.seq, event.kind), (missed, EventKind::StoreRebuilt));
    assert_eq!(field(&event.data, "moved_to"), "x");
}

fn home() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn refused(output: &Output, code: i32, expected: &str) {
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{text}");
    assert!(text.contains(expected), "{text}");
}

#[tokio::test]
async fn a_second_daemon_is_refused_with_the_pid_of_the_first() {
    let home = home();
    let first = Process::start(home.path()).await;
    let pid = format!("process {}", first.id());
    let second = command(home.path()).output().unwrap();
    refused(&second, 75, &pid);
    refused(&second, 75, "hint: ");
    let elsewhere = home.path().join("elsewhere");
    let mut same_socket = command(home.path());
    same_socket.arg("--state-dir").arg(elsewhere).arg("--socket").arg(&first.socket);
    refused(&same_socket.output().unwrap(), 75, &pid);
    Client::connect(&first.socket).await.status().await;
    first.stopped().await;
}

#[tokio::test]
async fn a_daemon_that_was_killed_is_replaced_by_the_next() {
    let home = home();
    let first = Process::start(home.path()).await;
    let socket = first.socket.clone();
    first.killed().await;
    assert!(socket.exists(), "the killed daemon could not remove it");
    let second = Process::start(home.path()).await;
    Client::connect(&socket).await.status().await;
    second.signal(Signal::INT);
    assert_eq!(second.exit_code().await, Some(0));
    assert!(!socket.exists());
}

#[test]
fn a_failed_start_reports_the_reason_and_the_remedy() {
    let home = home();
    let run = |args: &[&str]| command(home.path()).args(args).output().unwrap();
    refused(&run(&["--no-such-flag"]), 64, "--no-such-flag");
    refused(&run(&["--log", "a=b=c"]), 78, "hint: ");
    refused(&run(&["--config", "/nowhere.toml"]), 78, "/nowhere.toml");
    refused(&run(&["--socket", &format!("/{}", "x".repeat(200))]), 78, "at most");
    let config = home.path().join("config.toml");
    std::fs::write(&config, "sockt = \"x\"").unwrap();
    refused(&run(&["--config", config.to_str().unwrap()]), 78, "did you mean `socket`?");
    let open = home.path().join("open");
    std::fs::create_dir(&open).unwrap();
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o755)).unwrap();
    refused(&run(&["--state-dir", open.to_str().unwrap()]), 78, "chmod 700");
    assert!(run(&["--version"]).status.success());
}

#[tokio::test]
async fn a_newer_database_is_reported_before_the_socket_exists() {
    let home = Daemon::start().await.stopped().await;
    let state = home.path().join(".local/state/longhaul");
    let database = std::fs::File::options().write(true).open(state.join("longhaul.db")).unwrap();
    // The field `user_version` of the file's header.
    std::os::unix::fs::FileExt::write_all_at(&database, &99_u32.to_be_bytes(), 60).unwrap();
    let socket = std::fs::symlink_metadata(state.join("run/v1.sock.lock")).unwrap();
    for args in [&[][..], &["--check-config"]] {
        for _ in 0..3 {
            let output = command(home.path()).args(args).output().unwrap();
            refused(&output, 78, "has schema 99");
            refused(&output, 78, "update longhauld");
        }
    }
    let after = std::fs::symlink_metadata(state.join("run/v1.sock.lock")).unwrap();
    assert_eq!(after.modified().unwrap(), socket.modified().unwrap(), "it was not begun");
}

#[test]
fn check_config_prints_every_value_with_its_origin_and_starts_nothing() {
    let home = home();
    let output = command(home.path()).args(["--check-config", "--log", "warn"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    assert!(text.contains("log = warn  # flag --log\n"), "{text}");
    assert!(text.contains("server.drain_ms = 5000  # default\n"), "{text}");
    assert!(!home.path().join(".local").exists());
}
