//! Differences between JSON-RPC libraries and a line-based socket, a test for each.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use jsonrpsee::RpcModule;
use jsonrpsee::core::RpcResult;
use longhaul_daemon::socket::Bounds;
use longhaul_protocol::ErrorKind;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::support::{Client, Response, Rig, eventually, field};

/// The state of the test table's methods.
struct Bench {
    /// Running calls of `wait`, and their maximum.
    running: AtomicUsize,
    running_max: AtomicUsize,
    /// Each permit releases one call of `wait`.
    gate: Semaphore,
}

impl Bench {
    fn new() -> Arc<Self> {
        let (running, running_max) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Arc::new(Self { running, running_max, gate: Semaphore::new(0) })
    }
}

/// Counts a call for its lifetime, however it ends.
struct Running(Arc<Bench>);

impl Running {
    fn new(bench: Arc<Bench>) -> Self {
        let now = bench.running.fetch_add(1, Ordering::SeqCst) + 1;
        bench.running_max.fetch_max(now, Ordering::SeqCst);
        Self(bench)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

fn table(bench: &Arc<Bench>) -> RpcModule<Arc<Bench>> {
    let mut module = RpcModule::from_arc(Arc::new(bench.clone()));
    module.register_method("echo", |params, _, _| params.as_str().map(str::to_owned)).unwrap();
    module
        .register_method::<RpcResult<Box<RawValue>>, _>("pretty", |_, _, _| {
            let text = serde_json::to_string_pretty(&json!({ "a": ["b\nc", { "d": 1 }] })).unwrap();
            Ok(RawValue::from_string(text).unwrap())
        })
        .unwrap();
    module
        .register_method("big", |params, _, _| "x".repeat(params.one::<usize>().unwrap_or(0)))
        .unwrap();
    module.register_method::<(), _>("panic_sync", |_, _, _| panic!("sync")).unwrap();
    module
        .register_async_method::<(), _, _>("panic_async", |_, _, _| async { panic!("async") })
        .unwrap();
    module
        .register_async_method("wait", |_, bench, _| async move {
            let running = Running::new(Arc::clone(&bench));
            running.0.gate.acquire().await.unwrap().forget();
            "waited"
        })
        .unwrap();
    module
        .register_subscription("sub", "tick", "unsub", |_, pending, _, _| async move {
            let sink = pending.accept().await?;
            sink.send(RawValue::from_string("1".to_owned())?).await?;
            Err("over".into())
        })
        .unwrap();
    module
}

fn rig() -> (Rig, Arc<Bench>) {
    rig_with(Bounds::default())
}

fn rig_with(bounds: Bounds) -> (Rig, Arc<Bench>) {
    let bench = Bench::new();
    (Rig::start(table(&bench), bounds), bench)
}

/// Asserts that the line is answered with this id and this kind of error.
async fn check(client: &mut Client, line: &str, id: Value, expected: Option<ErrorKind>) {
    client.send(format!("{line}\n")).await;
    let answer = client.response().await;
    assert_eq!((&answer.id, answer.kind()), (&id, expected), "{line}: {answer:?}");
}

async fn batch_answers(client: &mut Client) -> Vec<Response> {
    let message = client.receive().await.unwrap();
    message.as_array().unwrap().iter().map(Response::from_wire).collect()
}

#[tokio::test]
async fn every_message_is_answered_with_its_id_of_any_type() {
    let (rig, _) = rig();
    let mut client = rig.connect().await;
    let call = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"echo"}}"#);
    check(&mut client, &call("7"), json!(7), None).await;
    check(&mut client, &call(r#""é\"""#), json!("é\""), None).await;
    check(&mut client, &call("18446744073709551615"), json!(u64::MAX), None).await;
    check(&mut client, &call("-7"), json!(-7), Some(ErrorKind::InvalidRequest)).await;
    check(&mut client, &call("1.5"), json!(1.5), Some(ErrorKind::InvalidRequest)).await;
    check(&mut client, &call(r#"{"a":1}"#), Value::Null, Some(ErrorKind::InvalidRequest)).await;
    check(&mut client, &call("[1]"), Value::Null, Some(ErrorKind::InvalidRequest)).await;
    check(&mut client, &call("true"), Value::Null, Some(ErrorKind::InvalidRequest)).await;
    check(&mut client, &call("null"), Value::Null, Some(ErrorKind::InvalidRequest)).await;
    check(&mut client, r#"{"id":8,"method":"echo"}"#, json!(8), Some(ErrorKind::InvalidRequest))
        .await;
    check(
        &mut client,
        r#"{"jsonrpc":"2.0","id":9,"method":"echo""#,
        json!(9),
        Some(ErrorKind::ParseError),
    )
    .await;
    check(&mut client, "\u{1}", Value::Null, Some(ErrorKind::ParseError)).await;
    check(
        &mut client,
        &call("10").replace("echo", "nothing"),
        json!(10),
        Some(ErrorKind::MethodNotFound),
    )
    .await;
    client.send(b"{\"jsonrpc\":\"2.0\",\"id\":11,\"method\":\"\xff\"}\n").await;
    assert_eq!(client.response().await.id, 11);
}

#[tokio::test]
async fn notifications_and_empty_lines_are_ignored() {
    let (rig, _) = rig();
    let mut client = rig.connect().await;
    client.send("\n\r\n{\"jsonrpc\":\"2.0\",\"method\":\"panic_sync\"}\n").await;
    client.send("{\"jsonrpc\":\"2.0\",\"method\":\"nothing\"}\r\n").await;
    assert_eq!(client.request("echo", json!([1])).await.result(), "[1]");
    assert_eq!(rig.panics(), 0);
}

#[tokio::test]
async fn a_pretty_printed_result_is_one_line() {
    let (rig, _) = rig();
    let mut client = rig.connect().await;
    let answer = client.request("pretty", json!([])).await;
    assert_eq!(*answer.result(), json!({ "a": ["b\nc", { "d": 1 }] }));
}

#[tokio::test]
async fn a_panic_stays_inside_its_request() {
    let (rig, bench) = rig();
    let mut client = rig.connect().await;
    let waiting = client.send_request("wait", json!([])).await;
    for method in ["panic_sync", "panic_async"] {
        let answer = client.request(method, json!([])).await;
        assert_eq!(answer.kind(), Some(ErrorKind::Internal));
        assert!(answer.error().data.as_ref().unwrap().request_id.is_some(), "{answer:?}");
    }
    assert_eq!(rig.panics(), 2);
    bench.gate.add_permits(1);
    assert_eq!(client.response().await.id, waiting, "the other call completes");
}

#[tokio::test]
async fn an_overlong_line_is_answered_with_its_id_and_skipped() {
    let (rig, _) = rig_with(Bounds { frame_bytes_max: 100_000, ..Bounds::default() });
    let mut client = rig.connect().await;
    let long = "x".repeat(300_000);
    let line = format!(r#"{{"jsonrpc":"2.0","id":"long","method":"echo","params":["{long}"]}}"#);
    check(&mut client, &line, json!("long"), Some(ErrorKind::OversizedRequest)).await;
    assert_eq!(client.request("echo", json!([1])).await.result(), "[1]");
}

#[tokio::test]
async fn an_answer_over_the_bound_is_an_error_and_the_connection_stays_open() {
    let (rig, _) = rig_with(Bounds { frame_bytes_max: 10_000, ..Bounds::default() });
    let mut client = rig.connect().await;
    let answer = client.request("big", json!([20_000])).await;
    assert_eq!(answer.kind(), Some(ErrorKind::OversizedResponse));
    let answer = client.request("big", json!([9_000])).await;
    assert_eq!(answer.result().as_str().unwrap().len(), 9_000);
}

#[tokio::test]
async fn requests_are_pipelined_and_answered_in_order_of_completion() {
    let (rig, bench) = rig();
    let mut client = rig.connect().await;
    let slow = client.send_request("wait", json!([])).await;
    let quick = client.send_request("echo", json!([])).await;
    assert_eq!(client.response().await.id, quick);
    bench.gate.add_permits(1);
    assert_eq!(client.response().await.id, slow);
}

#[tokio::test]
async fn at_most_the_bound_is_processed_at_once_and_the_rest_waits() {
    let (rig, bench) = rig_with(Bounds { in_flight_max: 4, ..Bounds::default() });
    let mut client = rig.connect().await;
    for _ in 0..10 {
        client.send_request("wait", json!([])).await;
    }
    eventually("four calls run", || bench.running.load(Ordering::SeqCst) == 4).await;
    let mut other = rig.connect().await;
    assert_eq!(other.request("echo", json!([])).await.result(), "[]", "others are served");
    bench.gate.add_permits(10);
    let mut answered: Vec<u64> = Vec::new();
    for _ in 0..10 {
        answered.push(client.response().await.id.as_u64().unwrap());
    }
    answered.sort_unstable();
    assert_eq!(answered, (1..=10).collect::<Vec<_>>());
    assert_eq!(bench.running_max.load(Ordering::SeqCst), 4);
}

#[tokio::test]
async fn the_calls_of_a_client_that_disconnects_are_dropped() {
    let (rig, bench) = rig();
    let mut client = rig.connect().await;
    client.send_request("wait", json!([])).await;
    eventually("the call runs", || bench.running.load(Ordering::SeqCst) == 1).await;
    drop(client);
    eventually("the call is dropped", || bench.running.load(Ordering::SeqCst) == 0).await;
    eventually("the connection is closed", || rig.connections() == 0 && rig.in_flight() == 0).await;
}

#[tokio::test]
async fn a_client_that_disconnects_while_it_is_not_read_from_is_noticed() {
    let (rig, bench) = rig_with(Bounds { in_flight_max: 1, ..Bounds::default() });
    let mut client = rig.connect().await;
    for _ in 0..3 {
        client.send_request("wait", json!([])).await;
    }
    eventually("the first call runs", || bench.running.load(Ordering::SeqCst) == 1).await;
    drop(client);
    eventually("the connection is closed", || rig.connections() == 0).await;
    assert_eq!(bench.running_max.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_half_closed_client_gets_all_its_answers() {
    let (rig, bench) = rig();
    let mut client = rig.connect().await;
    client.send_request("wait", json!([])).await;
    client.send(r#"{"jsonrpc":"2.0","id":"last","method":"echo"}"#).await;
    client.stop_sending().await;
    assert_eq!(client.response().await.id, "last", "a last line needs no newline");
    bench.gate.add_permits(1);
    assert_eq!(client.response().await.result(), "waited");
    assert_eq!(client.receive().await, None);
}

#[tokio::test]
async fn an_ending_subscription_reports_its_end() {
    let (rig, _) = rig();
    let mut client = rig.connect().await;
    let id = client.send_request("sub", json!([])).await;
    let answer = client.response().await;
    assert_eq!(answer.id, id);
    let event = client.receive().await.unwrap();
    assert_eq!(field(&event, "method"), "tick");
    assert_eq!(field(&event, "params.subscription"), answer.result());
    assert_eq!(field(&client.receive().await.unwrap(), "params.error"), "over");
}

#[tokio::test]
async fn a_batch_is_answered_on_one_line_in_order() {
    let (rig, bench) = rig();
    let mut client = rig.connect().await;
    bench.gate.add_permits(1);
    let call = |id: Value, method: &str| json!({ "jsonrpc": "2.0", "id": id, "method": method });
    let batch = json!([
        call(json!(1), "wait"),
        call(json!(2), "echo"),
        { "jsonrpc": "2.0", "method": "echo" },
        call(json!(3), "nothing"),
        call(json!(4), "panic_async"),
        call(json!(5), "sub"),
        7,
        [1],
    ]);
    client.send_message(&batch).await;
    let answers = batch_answers(&mut client).await;
    let seen: Vec<_> = answers.into_iter().map(|answer| (answer.kind(), answer.id)).collect();
    let expected = [
        (None, json!(1)),
        (None, json!(2)),
        (Some(ErrorKind::MethodNotFound), json!(3)),
        (Some(ErrorKind::Internal), json!(4)),
        (Some(ErrorKind::InvalidRequest), json!(5)),
        (Some(ErrorKind::InvalidRequest), Value::Null),
        (Some(ErrorKind::InvalidRequest), Value::Null),
    ];
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn a_batch_does_not_evade_the_bounds() {
    let bounds =
        Bounds { in_flight_max: 3, batch_max: 8, frame_bytes_max: 10_000, ..Bounds::default() };
    let (rig, bench) = rig_with(bounds);
    let mut client = rig.connect().await;
    let calls = |count: usize, method: &str, params: Value| -> Value {
        (0..count)
            .map(|id| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .collect()
    };
    for (batch, expected) in [
        (json!([]), Some(ErrorKind::InvalidRequest)),
        (calls(9, "echo", json!([])), Some(ErrorKind::LimitExceeded)),
    ] {
        client.send_message(&batch).await;
        assert_eq!(client.response().await.kind(), expected);
    }
    client.send("[1,2\n").await;
    assert_eq!(client.response().await.kind(), Some(ErrorKind::ParseError));

    client.send_message(&calls(8, "wait", json!([]))).await;
    bench.gate.add_permits(8);
    assert_eq!(batch_answers(&mut client).await.len(), 8);
    assert!(bench.running_max.load(Ordering::SeqCst) <= 3);

    client.send_message(&calls(4, "big", json!([3_000]))).await;
    let answers = batch_answers(&mut client).await;
    let kinds: Vec<_> = answers.iter().map(Response::kind).collect();
    assert_eq!(kinds, [None, None, None, Some(ErrorKind::OversizedResponse)]);
    assert_eq!(answers[3].id, 3);
}

#[tokio::test]
async fn a_drain_finishes_running_requests_and_rejects_waiting_ones() {
    let (rig, bench) = rig_with(Bounds { in_flight_max: 1, ..Bounds::default() });
    let mut client = rig.connect().await;
    let mut idle = rig.connect().await;
    let first = client.send_request("wait", json!([])).await;
    let second = client.send_request("wait", json!([])).await;
    eventually("the first call runs", || bench.running.load(Ordering::SeqCst) == 1).await;
    rig.draining.cancel();
    assert_eq!(idle.receive().await, None, "an idle connection is closed at once");
    bench.gate.add_permits(1);
    let answer = client.response().await;
    assert_eq!((&answer.id, answer.result()), (&json!(first), &json!("waited")));
    let refused = client.response().await;
    assert_eq!((&refused.id, refused.kind()), (&json!(second), Some(ErrorKind::Draining)));
    assert_eq!(client.receive().await, None);
    rig.ended().await;
}

#[tokio::test]
async fn a_drain_has_a_time_limit() {
    let (rig, bench) =
        rig_with(Bounds { drain: std::time::Duration::from_millis(50), ..Bounds::default() });
    let mut client = rig.connect().await;
    client.send_request("wait", json!([])).await;
    eventually("the call runs", || bench.running.load(Ordering::SeqCst) == 1).await;
    rig.draining.cancel();
    rig.ended().await;
    assert_eq!(client.receive().await, None);
    assert_eq!(bench.running.load(Ordering::SeqCst), 0);
}

/// Sends a line and reads the answer as fast as it comes, which takes large pieces.
fn round_trip(stream: &mut std::os::unix::net::UnixStream, line: &str) -> std::time::Duration {
    use std::io::{Read as _, Write as _};
    let began = tokio::time::Instant::now();
    stream.write_all(line.as_bytes()).unwrap();
    let mut piece = vec![0; 1 << 20];
    loop {
        let count = stream.read(&mut piece).unwrap();
        if count == 0 || piece[count - 1] == b'\n' {
            return began.elapsed();
        }
    }
}

/// The socket looks for a hangup every half second, which is when a line that it left unread was found.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_after_a_large_answer_does_not_wait_for_the_next_look() {
    let (rig, _) = rig();
    let socket = rig.socket.clone();
    let trips = tokio::task::spawn_blocking(move || {
        let mut stream = std::os::unix::net::UnixStream::connect(socket).unwrap();
        let call = |method: &str, params: &str| {
            format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{method}\",\"params\":[{params}]}}\n"
            )
        };
        let (big, echo) = (call("big", "4000000"), call("echo", "\"a\""));
        let trip = |_| {
            round_trip(&mut stream, &big);
            round_trip(&mut stream, &echo)
        };
        (0..40).map(trip).collect::<Vec<_>>()
    });
    let late = trips.await.unwrap().into_iter().filter(|took| took.as_millis() >= 450).count();
    // A busy machine may be late by itself.
    assert!(late <= 2, "{late} of 40");
}
