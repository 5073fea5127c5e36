//! A scripted server on loopback: each connection plays the next part of a script.

use std::sync::Mutex;

use longhaul_core::model::WireApi;
use longhaul_store::Store;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;

/// What the server does with one request.
enum Part {
    /// Sends these bytes and closes.
    Send(String),
    /// Sends these bytes, then nothing, until the client closes; tells so.
    Hang(String, tokio::sync::oneshot::Sender<()>),
}

struct Scripted {
    base_url: String,
    seen: Arc<Mutex<Vec<String>>>,
}

use std::sync::Arc;

async fn serve(script: Vec<Part>) -> Scripted {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = Arc::clone(&seen);
    tokio::spawn(async move {
        for part in script {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            let mut buffer = [0; 65_536];
            while !is_whole(&request) {
                let read = socket.read(&mut buffer).await.unwrap();
                request.extend_from_slice(&buffer[..read]);
            }
            log.lock().unwrap().push(String::from_utf8(request).unwrap());
            match part {
                Part::Send(bytes) => {
                    socket.write_all(bytes.as_bytes()).await.unwrap();
                    socket.shutdown().await.unwrap();
                }
                Part::Hang(bytes, closed) => {
                    socket.write_all(bytes.as_bytes()).await.unwrap();
                    while socket.read(&mut buffer).await.is_ok_and(|read| read > 0) {}
                    closed.send(()).unwrap();
                }
            }
        }
    });
    Scripted { base_url, seen }
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head
        .to_ascii_lowercase()
        .split("content-length: ")
        .nth(1)
        .map(|rest| rest.split("\r\n").next().unwrap().parse::<usize>().unwrap());
    length.is_some_and(|length| body.len() >= length)
}

fn status(line: &str, headers: &str, body: &str) -> Part {
    Part::Send(format!(
        "HTTP/1.1 {line}\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    ))
}

fn events(events: &[serde_json::Value]) -> String {
    let mut text =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
            .to_owned();
    for event in events {
        text.push_str(&format!("data: {event}\n\n"));
    }
    text
}

fn hello() -> String {
    events(&[
        json!({"type":"response.output_text.delta","delta":"hello"}),
        json!({"type":"response.completed","response":{"usage":{"input_tokens":7,"output_tokens":3}}}),
    ])
}

struct Rig {
    models: Models,
    store: Store,
    _folder: tempfile::TempDir,
}

async fn rig(kind: Kind, base_url: &str, budget: Budget) -> Rig {
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = Store::open(&folder.path().join("t.db"), 0).await.unwrap();
    let provider = Provider {
        kind,
        base_url: base_url.to_owned(),
        key: KeySource::Command(vec!["echo".into(), "the-key".into()]),
        headers: vec![("x-team".into(), "blue".into())],
        idle_timeout: IDLE_TIMEOUT,
        remote: RemoteSetting::Configured(Remote::No),
    };
    let providers = BTreeMap::from([("p".to_owned(), provider)]);
    let settings = ModelSettings { providers, ..ModelSettings::default() };
    let models = Models::new(settings, budget, store.models.clone(), Clock::system());
    Rig { models, store, _folder: folder }
}

async fn ask(rig: &Rig, deadline: Duration) -> Result<PaidAnswer, FailedCall> {
    let item =
        json!({"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]});
    let input: [Box<RawValue>; 1] = [serde_json::value::to_raw_value(&item).unwrap()];
    let ask = Ask {
        model: "m",
        instructions: "i",
        input: &input,
        schema: None,
        effort: None,
        max_output_tokens: 50,
        without_images: false,
        endpoint: longhaul_core::model::Endpoint::Answer,
    };
    let call = Call {
        provider: "p",
        ask,
        purpose: Purpose::Compaction,
        erasures: rig.models.erasures(),
        job: Spending::default(),
        deadline,
    };
    rig.models.ask(call, &|_| {}).await
}

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_failure_that_passes_is_tried_again_and_both_are_counted() {
    let busy = status("503 Busy", "retry-after: 0\r\n", r#"{"error":{"message":"busy"}}"#);
    let server = serve(vec![busy, Part::Send(hello())]).await;
    let rig = rig(Kind::Http(WireApi::Responses), &server.base_url, Budget::default()).await;
    let answered = ask(&rig, MINUTE).await.unwrap();
    assert_eq!(answered.answer.text, "hello");
    assert_eq!(
        answered.spent,
        Spending { requests: 2, tokens: 10, output_tokens: 3 },
        "a 503 costs no tokens"
    );
    let rows = rig.store.models.usage_since(0).await.unwrap();
    assert_eq!((rows[0].requests, rows[0].failures, rows[0].input, rows[0].output), (2, 1, 7, 3));
    let request = server.seen.lock().unwrap()[1].clone();
    assert!(request.starts_with("POST /v1/responses "), "{request}");
    assert!(
        request.contains("authorization: Bearer the-key\r\n") && request.contains("x-team: blue")
    );
}

#[tokio::test]
async fn the_same_request_is_not_paid_twice() {
    let server = serve(vec![Part::Send(hello())]).await;
    let rig = rig(Kind::Http(WireApi::Responses), &server.base_url, Budget::default()).await;
    ask(&rig, MINUTE).await.unwrap();
    let again = ask(&rig, MINUTE).await.unwrap();
    assert_eq!((again.answer.text.as_str(), again.spent), ("hello", Spending::default()));
}

#[tokio::test]
async fn what_does_not_pass_is_not_tried_again() {
    let body = r#"{"error":{"code":"context_length_exceeded","message":"too long"}}"#;
    let server = serve(vec![status("400 Bad Request", "", body)]).await;
    let rig = rig(Kind::Http(WireApi::Responses), &server.base_url, Budget::default()).await;
    let failed = ask(&rig, MINUTE).await.unwrap_err();
    assert_eq!(failed.fault.kind, FaultKind::ContextOverflow);
    assert_eq!(failed.spent, Spending { requests: 1, ..Spending::default() });
}

#[tokio::test]
async fn a_provider_that_hangs_is_left_at_the_deadline_and_its_connection_closed() {
    let (closed, was_closed) = tokio::sync::oneshot::channel();
    let server = serve(vec![Part::Hang(events(&[json!({"type":"x"})]), closed)]).await;
    let rig = rig(Kind::Http(WireApi::Responses), &server.base_url, Budget::default()).await;
    let failed = ask(&rig, Duration::from_millis(300)).await.unwrap_err();
    assert_eq!(failed.fault.kind, FaultKind::Timeout);
    tokio::time::timeout(MINUTE, was_closed).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_spent_budget_sends_nothing() {
    let server = serve(vec![Part::Send(hello())]).await;
    let budget = Budget { requests_per_day: Some(1), ..Budget::default() };
    let rig = rig(Kind::Http(WireApi::Chat), &server.base_url, budget).await;
    let spent = longhaul_store::UsageRow {
        day: longhaul_core::model::budget::day_of(rig.models.clock.now_ms()),
        requests: 1,
        ..Default::default()
    };
    rig.store.models.usage_add(&spent).await.unwrap();
    let failed = ask(&rig, MINUTE).await.unwrap_err();
    assert_eq!(failed.fault.kind, FaultKind::BudgetSpent);
    assert!(server.seen.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_missing_key_and_an_absent_server_are_told_apart() {
    let rig = rig(Kind::Http(WireApi::Messages), "http://127.0.0.1:1/v1", Budget::default()).await;
    let short = Duration::from_secs(2);
    let failed = ask(&rig, short).await.unwrap_err();
    assert_eq!(failed.fault.kind, FaultKind::Unreachable);
    assert_eq!(rig.models.ledger.today().await.unwrap().requests, 0, "nobody was asked");
    let mut settings = ModelSettings::clone(&rig.models.settings());
    if let Some(provider) = settings.providers.get_mut("p") {
        provider.key = KeySource::Environment("LONGHAUL_TEST_NO_SUCH_KEY".into());
    }
    rig.models.configure(settings, Budget::default());
    let failed = ask(&rig, short).await.unwrap_err();
    assert_eq!(failed.fault.kind, FaultKind::Unauthorized);
    assert!(failed.fault.detail.contains("LONGHAUL_TEST_NO_SUCH_KEY"));
}

#[tokio::test]
async fn a_program_answers_on_its_standard_output() {
    let argv = |script: &str| ["sh", "-c", script].map(str::to_owned).to_vec();
    let good = rig(Kind::Command(argv("grep -o '\"text\":\"hi\"'")), "", Budget::default()).await;
    let answered = ask(&good, MINUTE).await.unwrap();
    assert_eq!(answered.answer.text, "\"text\":\"hi\"\n");
    let bad = rig(Kind::Command(argv("echo no money >&2; exit 3")), "", Budget::default()).await;
    let failed = ask(&bad, MINUTE).await.unwrap_err();
    assert_eq!(failed.fault.kind, FaultKind::Refused);
    assert!(failed.fault.detail.contains("no money"), "{}", failed.fault.detail);
}

#[tokio::test]
async fn a_program_may_write_much_to_its_standard_error() {
    let script = "set -e; yes progress | head -n 100000 >&2; echo done";
    let argv = ["sh", "-c", script].map(str::to_owned).to_vec();
    let rig = rig(Kind::Command(argv), "", Budget::default()).await;
    assert_eq!(ask(&rig, MINUTE).await.unwrap().answer.text, "done\n");
}
