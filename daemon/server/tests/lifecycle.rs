//! A whole daemon: handshake, status, start, stop, and the one that comes second.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;

use longhaul_protocol::{METHODS, event::EventKind};
use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::rollout::Rollout;
use crate::support::{Client, Daemon, Process, command, kind};

fn hello(protocol: &Value, capabilities: &Value) -> Value {
    json!({ "client": { "name": "test", "version": "1" }, "protocol": protocol, "capabilities": capabilities })
}

#[tokio::test]
async fn the_handshake_agrees_on_a_revision_or_says_who_is_too_old() {
    let daemon = Daemon::start().await;
    let mut client = daemon.connect().await;
    let answer =
        client.call("initialize", hello(&json!({ "min": 1, "max": 9 }), &json!(null))).await;
    let result = &answer["result"];
    assert_eq!(result["protocol"], 1);
    assert_eq!(result["server"]["pid"], std::process::id());
    assert_eq!(result["methods"].as_array().unwrap().len(), METHODS.len());
    assert_eq!(result["limits"]["connections_max"], 512);

    let answer =
        client.call("initialize", hello(&json!({ "min": 7, "max": 9 }), &json!(null))).await;
    assert_eq!(kind(&answer), "version_unsupported");
    assert_eq!(answer["error"]["data"]["detail"]["disagreement"], "daemon_too_old");
    let answer =
        client.call("initialize", hello(&json!({ "min": 9, "max": 7 }), &json!(null))).await;
    assert_eq!(kind(&answer), "invalid_params");
    let long = json!({ "client": { "name": "x".repeat(200), "version": "1" } });
    assert_eq!(kind(&client.call("initialize", long).await), "limit_exceeded");
}

#[tokio::test]
async fn a_connection_may_call_what_it_asked_for_and_ask_again() {
    let daemon = Daemon::start().await;
    let mut client = daemon.connect().await;
    let answer =
        client.call("initialize", hello(&json!(null), &json!(["event", "telepathy"]))).await;
    assert_eq!(answer["result"]["capabilities"], json!(["event"]));
    assert_eq!(
        answer["result"]["methods"],
        json!(["initialize", "event/subscribe", "event/unsubscribe"])
    );
    assert_eq!(kind(&client.call("daemon/status", json!({})).await), "capability_missing");
    client.call("initialize", hello(&json!(null), &json!(null))).await;
    assert_eq!(kind(&client.call("daemon/status", json!({})).await), "no error");
}

#[tokio::test]
async fn every_method_of_the_protocol_is_known_and_refuses_unknown_params() {
    let daemon = Daemon::start().await;
    let mut client = daemon.connect().await;
    for info in METHODS {
        let answer = client.call(info.name, json!({ "no_such_field": 1 })).await;
        let expected = ["invalid_params", "disabled"];
        assert!(expected.contains(&kind(&answer)), "{}: {answer}", info.name);
    }
    let answer = client.call("daemon/status", json!({ "no_such_field": 1 })).await;
    assert_eq!(answer["error"]["data"]["detail"]["place"], "params.no_such_field");
}

#[tokio::test]
async fn status_says_what_runs_and_since_when() {
    let daemon = Daemon::start().await;
    let mut client = daemon.connect().await;
    daemon.clock.advance_ms(2_500);
    let status = client.call("daemon/status", json!({})).await["result"].take();
    assert_eq!(
        (&status["started_at"], &status["uptime_ms"]),
        (&json!(1_763_700_000_000_i64), &json!(2_500))
    );
    assert_eq!(status["socket"], daemon.socket.display().to_string());
    assert_eq!((&status["connections"], &status["requests"]), (&json!(1), &json!(1)));
}

#[tokio::test]
async fn the_first_list_after_a_start_holds_what_was_there() {
    let home = home();
    for thread in 10..60 {
        let id = format!("019cadd3-0000-7000-8000-0000000000{thread}");
        let mut rollout = Rollout::new(&id, Path::new("/w"));
        rollout.message("user", "Make the fetcher retry.");
        rollout.write(home.path());
    }
    let daemon = Daemon::over(home, "").await;
    let listed = daemon.connect().await.call("thread/list", json!({ "limit": 100 })).await;
    assert_eq!(listed["result"]["threads"].as_array().unwrap().len(), 50);
}

#[tokio::test]
async fn a_thread_goes_by_the_name_it_was_given_last_and_a_name_without_one_by_none() {
    let home = tempfile::tempdir().unwrap();
    let (named, other) =
        ("019cadd3-0000-7000-8000-0000000000d1", "019cadd3-0000-7000-8000-0000000000d2");
    for id in [named, other] {
        let mut rollout = Rollout::new(id, home.path());
        rollout.message("user", "Fix the parser.").write(home.path());
    }
    let entry = |id: &str, name: &str| format!("{}\n", json!({ "id": id, "thread_name": name }));
    let text = [entry(named, "first"), entry("gone", "lost"), entry(named, "second")].concat();
    std::fs::write(home.path().join(".codex/session_index.jsonl"), text).unwrap();
    let daemon = Daemon::over(home, "").await;
    let mut client = daemon.connect().await;
    client.call("thread/sync", json!({ "thread_id": named })).await;
    client.call("thread/sync", json!({ "thread_id": other })).await;
    let list = client.call("thread/list", json!({})).await["result"]["threads"].take();
    let mut titles: Vec<_> = list.as_array().unwrap().iter().map(|t| t["title"].clone()).collect();
    titles.sort_by_key(Value::to_string);
    assert_eq!(titles, ["Fix the parser.", "second"]);
    let got = client.call("thread/get", json!({ "thread_id": named })).await;
    assert_eq!(got["result"]["thread"]["title"], "second", "{got}");
}

#[tokio::test]
async fn a_shutdown_answers_closes_subscriptions_and_leaves_no_socket() {
    let daemon = Daemon::start().await;
    let mut subscriber = daemon.connect().await;
    subscriber.call("event/subscribe", json!({})).await;
    daemon.deps.events.publish(EventKind::ThreadUpdated, json!({}));
    let mut client = daemon.connect().await;
    let answer = client.call("daemon/shutdown", json!({})).await;
    assert_eq!(answer["result"]["pid"], std::process::id());
    assert_eq!(client.hear().await, None);
    for expected in ["thread_updated", "closing"] {
        assert_eq!(subscriber.hear().await.unwrap()["params"]["result"]["kind"], expected);
    }
    assert_eq!(subscriber.hear().await, None);
    let socket = daemon.socket.clone();
    daemon.ended().await.unwrap();
    assert!(!socket.exists());
}

#[tokio::test]
async fn events_are_resumed_by_seq_on_a_new_connection() {
    let daemon = Daemon::start().await;
    let mut client = daemon.connect().await;
    let since = client.call("event/subscribe", json!({})).await["result"]["seq"].clone();
    drop(client);
    let missed = daemon.deps.events.publish(EventKind::StoreRebuilt, json!({ "moved_to": "x" }));
    let mut client = daemon.connect().await;
    client.call("event/subscribe", json!({ "since_seq": since })).await;
    let event = client.hear().await.unwrap()["params"]["result"].take();
    assert_eq!((&event["seq"], &event["kind"]), (&json!(missed), &json!("store_rebuilt")));
}

fn home() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn refused(output: &Output, code: i32, said: &str) {
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{text}");
    assert!(text.contains(said), "{text}");
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
    Client::connect(&first.socket).await.call("daemon/status", json!({})).await;
    first.signal(Signal::TERM);
    assert_eq!(first.exit_code().await, Some(0));
}

#[tokio::test]
async fn a_daemon_that_was_killed_is_replaced_by_the_next() {
    let home = home();
    let first = Process::start(home.path()).await;
    let socket = first.socket.clone();
    first.signal(Signal::KILL);
    assert_eq!(first.exit_code().await, None);
    assert!(socket.exists(), "nobody was there to remove it");
    let second = Process::start(home.path()).await;
    Client::connect(&socket).await.call("daemon/status", json!({})).await;
    second.signal(Signal::INT);
    assert_eq!(second.exit_code().await, Some(0));
    assert!(!socket.exists());
}

#[test]
fn what_cannot_start_says_why_and_what_to_do() {
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
