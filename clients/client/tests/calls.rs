use std::pin::pin;
use std::time::Duration;

use longhaul_client::scripted::{Reply, Script};
use longhaul_client::{Client, ClientError, ConnectOptions};
use longhaul_protocol::{ErrorKind, Retry, RevisionRange, WireError};
use longhaul_protocol::{compaction, context, daemon, memory, thread};
use serde_json::json;

use crate::Daemon;

fn examples() -> Script {
    Script::from_examples().unwrap()
}

#[tokio::test]
async fn the_handshake_says_who_answers_and_what_may_be_called() {
    let daemon = Daemon::start(examples());
    let client = daemon.connect().await.unwrap();
    let session = client.session().unwrap();
    assert_eq!((session.protocol, session.server.name.as_str()), (1, "longhauld"));
    let (method, _) = daemon.server.requests().remove(0);
    assert_eq!(method, "initialize");
    let hello = daemon.server.calls::<daemon::Initialize>().unwrap().remove(0);
    assert_eq!((hello.client.name.as_str(), hello.client.version.as_str()), ("test", "0"));
    assert_eq!(hello.protocol, Some(RevisionRange { min: 1, max: 1 }));
}

#[tokio::test]
async fn nobody_there_names_the_socket_and_how_to_start_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v1.sock");
    let connect = || Client::connect(ConnectOptions::new("test", "0").socket(&path));
    let missing = connect().await.unwrap_err();
    assert!(matches!(&missing, ClientError::NotRunning { path: tried, .. } if *tried == path));
    assert_eq!(missing.retry(), Retry::Reconnect);
    assert!(missing.hint().unwrap().contains("longhaul up"));

    // A socket that a killed daemon left behind.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(matches!(connect().await.unwrap_err(), ClientError::NotRunning { .. }));
}

#[tokio::test]
async fn who_is_turned_away_hears_why() {
    use std::io::Write as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v1.sock");
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let daemon = std::thread::spawn(move || {
        let busy = WireError::new(ErrorKind::ServerBusy, "512 connections are open");
        let line = json!({ "jsonrpc": "2.0", "id": null, "error": busy });
        for _ in 0..20 {
            let (mut stream, _) = listener.accept().unwrap();
            // Closed with the handshake unread, before it was sent or after.
            stream.write_all(format!("{line}\n").as_bytes()).unwrap();
        }
    });
    for _ in 0..20 {
        let options = ConnectOptions::new("test", "0").socket(&path);
        let refused = Client::connect(options).await.unwrap_err();
        let ClientError::Refused(error) = &refused else { panic!("{refused}") };
        assert_eq!((error.kind(), refused.retry()), (ErrorKind::ServerBusy, Retry::Backoff));
    }
    daemon.join().unwrap();
}

#[tokio::test]
async fn two_ends_without_a_common_revision_say_which_one_is_behind() {
    let refuse = |older: &'static str| {
        examples().on::<daemon::Initialize>(move |_| {
            let error =
                WireError::new(ErrorKind::VersionUnsupported, "revisions 2 to 3 are spoken");
            Reply::Error(error.with_detail(json!({ "disagreement": older })))
        })
    };
    let newer = Daemon::start(refuse("client_too_old"));
    assert!(matches!(newer.connect().await.unwrap_err(), ClientError::TooOld(_)));
    let older = Daemon::start(refuse("daemon_too_old"));
    assert!(matches!(older.connect().await.unwrap_err(), ClientError::TooNew(_)));
}

#[tokio::test]
async fn a_refusal_carries_the_kind_the_retry_class_and_the_hint_of_the_daemon() {
    let daemon = Daemon::start(examples().on::<thread::ThreadGet>(|_| {
        Reply::Error(WireError::new(ErrorKind::StoreBusy, "busy").with_hint("wait a little"))
    }));
    let client = daemon.connect().await.unwrap();
    let params = thread::ThreadGetParams { thread_id: "t".into() };
    let error = client.call::<thread::ThreadGet>(params).await.unwrap_err();
    assert_eq!((error.retry(), error.hint().as_deref()), (Retry::Backoff, Some("wait a little")));
}

#[tokio::test]
async fn what_belongs_to_no_call_does_not_end_the_others() {
    let daemon = Daemon::start(examples().on::<daemon::Status>(|_| {
        let null_id = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}"#;
        let notification = r#"{"jsonrpc":"2.0","method":"weather","params":{"sunny":true}}"#;
        let without_id = r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"m"}}"#;
        Reply::Lines([null_id, notification, without_id].map(str::to_owned).to_vec())
    }));
    let client = Client::connect(daemon.options().request_timeout_ms(200)).await.unwrap();
    let eight_bytes =
        context::EstimateParams { text: Some("12345678".into()), ..Default::default() };
    let (lost, found) = tokio::join!(
        client.call::<daemon::Status>(daemon::NoParams {}),
        client.call::<context::Estimate>(eight_bytes),
    );
    let late = lost.unwrap_err();
    assert!(matches!(late, ClientError::Timeout { method: "daemon/status", after_ms: 200 }));
    assert_eq!(late.to_string(), "the daemon did not answer within 200 ms");
    assert_eq!(found.unwrap().tokens, 2);
}

#[tokio::test]
async fn a_call_waits_as_long_as_the_daemon_may_work() {
    let silent = || Reply::Lines(vec![r#"{"jsonrpc":"2.0","method":"weather"}"#.to_owned()]);
    let daemon = Daemon::start(
        examples().on::<compaction::Run>(move |_| silent()).on::<memory::Run>(move |_| silent()),
    );
    let client = daemon.connect().await.unwrap();
    tokio::time::pause();
    for (deadline_ms, limit_ms) in [(None, 135_000), (Some(600_000), 615_000)] {
        let params = compaction::RunParams { deadline_ms, ..Default::default() };
        let late = client.call::<compaction::Run>(params).await.unwrap_err();
        assert!(matches!(late, ClientError::Timeout { after_ms, .. } if after_ms == limit_ms));
    }
    let a_day = Duration::from_secs(24 * 3600);
    let mut run = pin!(client.call::<memory::Run>(memory::RunParams::default()));
    assert!(tokio::time::timeout(a_day, &mut run).await.is_err());
    daemon.server.close_all();
    assert!(matches!(run.await.unwrap_err(), ClientError::Broken(_)));
}

#[tokio::test]
async fn a_connection_that_ends_breaks_its_calls_and_says_so() {
    let daemon = Daemon::start(examples().on::<daemon::Status>(|_| Reply::Close));
    let client = daemon.connect().await.unwrap();
    let error = client.call::<daemon::Status>(daemon::NoParams {}).await.unwrap_err();
    assert!(matches!(error, ClientError::Broken(_)), "{error:?}");
    assert_eq!(error.retry(), Retry::Reconnect);
    client.closed().await;
}

#[tokio::test]
async fn an_answer_of_the_wrong_shape_names_the_method() {
    let daemon = Daemon::start(examples().result::<thread::ThreadList>(json!({ "threads": 7 })));
    let client = daemon.connect().await.unwrap();
    let error =
        client.call::<thread::ThreadList>(thread::ThreadListParams::default()).await.unwrap_err();
    assert!(matches!(error, ClientError::Unreadable { method: "thread/list", .. }), "{error:?}");
}

#[tokio::test]
async fn a_request_over_the_bound_is_refused_here_and_the_connection_lives() {
    let daemon = Daemon::start(examples());
    let client = daemon.connect().await.unwrap();
    let items = vec![json!({ "text": "x".repeat(17 * 1024 * 1024) })];
    let params = compaction::RunParams { items: Some(items), ..Default::default() };
    let error = client.call::<compaction::Run>(params).await.unwrap_err();
    assert!(matches!(error, ClientError::TooLarge { .. }), "{error:?}");
    client.call::<daemon::Status>(daemon::NoParams {}).await.unwrap();
}
