//! What goes wrong between JSON-RPC libraries and a line-based socket, one test a trap.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use jsonrpsee::RpcModule;
use jsonrpsee::core::RpcResult;
use longhaul_daemon::socket::Bounds;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::support::{Client, Rig, eventually, kind};

/// What the methods of the test table work with.
struct Bench {
    /// Calls of `wait` that run, and the most there ever were.
    running: AtomicUsize,
    running_max: AtomicUsize,
    /// One permit lets one call of `wait` go.
    gate: Semaphore,
}

impl Bench {
    fn new() -> Arc<Self> {
        let (running, running_max) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Arc::new(Self { running, running_max, gate: Semaphore::new(0) })
    }
}

/// Counts a call while it lives, however it ends.
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

/// Each line gets the answer that `expected` is a part of.
async fn check(client: &mut Client, line: &str, id: Value, expected: &str) {
    client.send(format!("{line}\n")).await;
    let answer = client.hear().await.unwrap();
    assert_eq!((&answer["id"], kind(&answer)), (&id, expected), "{line}: {answer}");
}

#[tokio::test]
async fn every_message_with_an_id_is_answered_with_it_whatever_the_id() {
    let (rig, _) = rig();
    let mut client = rig.connect().await;
    let call = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"echo"}}"#);
    check(&mut client, &call("7"), json!(7), "no error").await;
    check(&mut client, &call(r#""é\"""#), json!("é\""), "no error").await;
    check(&mut client, &call("18446744073709551615"), json!(u64::MAX), "no error").await;
    check(&mut client, &call("-7"), json!(-7), "invalid_request").await;
    check(&mut client, &call("1.5"), json!(1.5), "invalid_request").await;
    check(&mut client, &call(r#"{"a":1}"#), Value::Null, "invalid_request").await;
    check(&mut client, &call("[1]"), Value::Null, "invalid_request").await;
    check(&mut client, &call("true"), Value::Null, "invalid_request").await;
    check(&mut client, &call("null"), Value::Null, "invalid_request").await;
    check(&mut client, r#"{"id":8,"method":"echo"}"#, json!(8), "invalid_request").await;
    check(&mut client, r#"{"jsonrpc":"2.0","id":9,"method":"echo""#, json!(9), "parse_error").await;
    check(&mut client, "\u{1}", Value::Null, "parse_error").await;
    check(&mut client, &call("10").replace("echo", "nothing"), json!(10), "method_not_found").await;
    client.send(b"{\"jsonrpc\":\"2.0\",\"id\":11,\"method\":\"\xff\"}\n").await;
    assert_eq!(client.hear().await.unwrap()["id"], 11);
}

#[tokio::test]
async fn notifications_and_empty_lines_are_passed_over() {
    let (rig, _) = rig();
    let mut client = rig.connect().await;
    client.send("\n\r\n{\"jsonrpc\":\"2.0\",\"method\":\"panic_sync\"}\n").await;
    client.send("{\"jsonrpc\":\"2.0\",\"method\":\"nothing\"}\r\n").await;
    assert_eq!(client.call("echo", json!([1])).await["result"], "[1]");
    assert_eq!(rig.panics(), 0);
}

#[tokio::test]
async fn a_pretty_printed_result_is_one_line() {
    let (rig, _) = rig();
    let mut client = rig.connect().await;
    let answer = client.call("pretty", json!([])).await;
    assert_eq!(answer["result"], json!({ "a": ["b\nc", { "d": 1 }] }));
}

#[tokio::test]
async fn a_panic_stays_inside_its_request() {
    let (rig, bench) = rig();
    let mut client = rig.connect().await;
    let waiting = client.ask("wait", json!([])).await;
    for method in ["panic_sync", "panic_async"] {
        let answer = client.call(method, json!([])).await;
        assert_eq!(kind(&answer), "internal");
        assert!(answer["error"]["data"]["request_id"].is_string(), "{answer}");
    }
    assert_eq!(rig.panics(), 2);
    bench.gate.add_permits(1);
    assert_eq!(client.hear().await.unwrap()["id"], waiting, "the neighbour goes on");
}

#[tokio::test]
async fn an_over_long_line_is_answered_with_its_id_and_skipped() {
    let (rig, _) = rig_with(Bounds { frame_bytes_max: 100_000, ..Bounds::default() });
    let mut client = rig.connect().await;
    let long = "x".repeat(300_000);
    let line = format!(r#"{{"jsonrpc":"2.0","id":"long","method":"echo","params":["{long}"]}}"#);
    check(&mut client, &line, json!("long"), "oversized_request").await;
    assert_eq!(client.call("echo", json!([1])).await["result"], "[1]");
}

#[tokio::test]
async fn an_answer_over_the_bound_is_refused_and_the_connection_lives() {
    let (rig, _) = rig_with(Bounds { frame_bytes_max: 10_000, ..Bounds::default() });
    let mut client = rig.connect().await;
    let answer = client.call("big", json!([20_000])).await;
    assert_eq!(kind(&answer), "oversized_response");
    assert_eq!(client.call("big", json!([9_000])).await["result"].as_str().unwrap().len(), 9_000);
}

#[tokio::test]
async fn requests_are_pipelined_and_answered_as_they_are_done() {
    let (rig, bench) = rig();
    let mut client = rig.connect().await;
    let slow = client.ask("wait", json!([])).await;
    let quick = client.ask("echo", json!([])).await;
    assert_eq!(client.hear().await.unwrap()["id"], quick);
    bench.gate.add_permits(1);
    assert_eq!(client.hear().await.unwrap()["id"], slow);
}

#[tokio::test]
async fn no_more_than_the_bound_is_worked_on_and_the_rest_waits() {
    let (rig, bench) = rig_with(Bounds { in_flight_max: 4, ..Bounds::default() });
    let mut client = rig.connect().await;
    for _ in 0..10 {
        client.ask("wait", json!([])).await;
    }
    eventually("four calls run", || bench.running.load(Ordering::SeqCst) == 4).await;
    let mut other = rig.connect().await;
    assert_eq!(other.call("echo", json!([])).await["result"], "[]", "others are served");
    bench.gate.add_permits(10);
    let mut answered: Vec<u64> = Vec::new();
    for _ in 0..10 {
        answered.push(client.hear().await.unwrap()["id"].as_u64().unwrap());
    }
    answered.sort_unstable();
    assert_eq!(answered, (1..=10).collect::<Vec<_>>());
    assert_eq!(bench.running_max.load(Ordering::SeqCst), 4);
}

#[tokio::test]
async fn a_client_that_leaves_takes_its_calls_with_it() {
    let (rig, bench) = rig();
    let mut client = rig.connect().await;
    client.ask("wait", json!([])).await;
    eventually("the call runs", || bench.running.load(Ordering::SeqCst) == 1).await;
    drop(client);
    eventually("the call is dropped", || bench.running.load(Ordering::SeqCst) == 0).await;
    eventually("the connection is closed", || rig.connections() == 0 && rig.in_flight() == 0).await;
}

#[tokio::test]
async fn a_client_that_leaves_while_it_is_not_read_from_is_noticed() {
    let (rig, bench) = rig_with(Bounds { in_flight_max: 1, ..Bounds::default() });
    let mut client = rig.connect().await;
    for _ in 0..3 {
        client.ask("wait", json!([])).await;
    }
    eventually("the first call runs", || bench.running.load(Ordering::SeqCst) == 1).await;
    drop(client);
    eventually("the connection is closed", || rig.connections() == 0).await;
    assert_eq!(bench.running_max.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_client_that_only_stops_sending_is_answered_to_the_end() {
    let (rig, bench) = rig();
    let mut client = rig.connect().await;
    client.ask("wait", json!([])).await;
    client.send(r#"{"jsonrpc":"2.0","id":"last","method":"echo"}"#).await;
    client.stop_sending().await;
    assert_eq!(client.hear().await.unwrap()["id"], "last", "a last line needs no newline");
    bench.gate.add_permits(1);
    assert_eq!(client.hear().await.unwrap()["result"], "waited");
    assert_eq!(client.hear().await, None);
}

#[tokio::test]
async fn a_subscription_that_ends_says_so() {
    let (rig, _) = rig();
    let mut client = rig.connect().await;
    let id = client.ask("sub", json!([])).await;
    let answer = client.hear().await.unwrap();
    assert_eq!(answer["id"], id);
    let subscription = &answer["result"];
    let event = client.hear().await.unwrap();
    assert_eq!(
        (&event["method"], &event["params"]["subscription"]),
        (&json!("tick"), subscription)
    );
    assert_eq!(client.hear().await.unwrap()["params"]["error"], "over");
}

#[tokio::test]
async fn a_batch_is_answered_on_one_line_in_its_order() {
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
    client.say(&batch).await;
    let answers = client.hear().await.unwrap();
    let seen: Vec<_> = answers
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["id"].clone(), kind(one).to_owned()))
        .collect();
    let expected = [
        (json!(1), "no error"),
        (json!(2), "no error"),
        (json!(3), "method_not_found"),
        (json!(4), "internal"),
        (json!(5), "invalid_request"),
        (Value::Null, "invalid_request"),
        (Value::Null, "invalid_request"),
    ];
    assert_eq!(seen, expected.map(|(id, kind)| (id, kind.to_owned())));
}

#[tokio::test]
async fn a_batch_is_no_way_round_the_bounds() {
    let bounds =
        Bounds { in_flight_max: 3, batch_max: 8, frame_bytes_max: 10_000, ..Bounds::default() };
    let (rig, bench) = rig_with(bounds);
    let mut client = rig.connect().await;
    let calls = |count: usize, method: &str, params: Value| -> Value {
        (0..count)
            .map(|id| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .collect()
    };
    for (batch, expected) in
        [(json!([]), "invalid_request"), (calls(9, "echo", json!([])), "limit_exceeded")]
    {
        client.say(&batch).await;
        assert_eq!(kind(&client.hear().await.unwrap()), expected);
    }
    client.send("[1,2\n").await;
    assert_eq!(kind(&client.hear().await.unwrap()), "parse_error");

    client.say(&calls(8, "wait", json!([]))).await;
    bench.gate.add_permits(8);
    assert_eq!(client.hear().await.unwrap().as_array().unwrap().len(), 8);
    assert!(bench.running_max.load(Ordering::SeqCst) <= 3);

    client.say(&calls(4, "big", json!([3_000]))).await;
    let answers = client.hear().await.unwrap();
    let kinds: Vec<_> = answers.as_array().unwrap().iter().map(kind).collect();
    assert_eq!(kinds, ["no error", "no error", "no error", "oversized_response"]);
    assert_eq!(answers[3]["id"], 3);
}

#[tokio::test]
async fn a_drain_finishes_what_runs_and_refuses_what_waits() {
    let (rig, bench) = rig_with(Bounds { in_flight_max: 1, ..Bounds::default() });
    let mut client = rig.connect().await;
    let mut idle = rig.connect().await;
    let first = client.ask("wait", json!([])).await;
    let second = client.ask("wait", json!([])).await;
    eventually("the first call runs", || bench.running.load(Ordering::SeqCst) == 1).await;
    rig.draining.cancel();
    assert_eq!(idle.hear().await, None, "an idle connection is closed at once");
    bench.gate.add_permits(1);
    let answer = client.hear().await.unwrap();
    assert_eq!((&answer["id"], &answer["result"]), (&json!(first), &json!("waited")));
    let refused = client.hear().await.unwrap();
    assert_eq!((&refused["id"], kind(&refused)), (&json!(second), "draining"));
    assert_eq!(client.hear().await, None);
    rig.ended().await;
}

#[tokio::test]
async fn a_drain_does_not_wait_for_ever() {
    let (rig, bench) =
        rig_with(Bounds { drain: std::time::Duration::from_millis(50), ..Bounds::default() });
    let mut client = rig.connect().await;
    client.ask("wait", json!([])).await;
    eventually("the call runs", || bench.running.load(Ordering::SeqCst) == 1).await;
    rig.draining.cancel();
    rig.ended().await;
    assert_eq!(client.hear().await, None);
    assert_eq!(bench.running.load(Ordering::SeqCst), 0);
}
