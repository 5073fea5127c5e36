//! Compactions: answered where the daemon knows all that the agent knows, passed on as they came everywhere else.

use std::io;

use flate2::read::GzDecoder;
use longhaul_client::scripted::{Reply, Script, field, text_at};
use longhaul_protocol::version::Disagreement;
use longhaul_protocol::{ErrorKind, WireError};
use longhaul_protocol::{compaction, daemon, history, thread};
use serde_json::{Value, json};

use crate::desk::Desk;
use crate::provider::{Message, Provider, answer, gzipped, post};

pub(crate) const THREAD: &str = "01a1fb89-d149-7880-b4c7-a406f611a53c";
const VIEW: &str = "[SESSION_CHECKPOINT v1]\n[TASK]\n- Rename \"parse\".\n";
const BRIEFING: &str = "The conversation so far was compacted.\n\n[SESSION_CHECKPOINT v1]\n[TASK]\n- Rename \"parse\".\n";
/// What the model answers.
pub(crate) const MODEL: &str = "data: by the model\n\n";
const MARKER: &str = "longhaul-view-";

pub(crate) fn output(id: &str) -> Value {
    json!({ "type": "function_call_output", "call_id": id, "output": "ok" })
}

fn trigger() -> Value {
    json!({ "type": "compaction_trigger" })
}

fn summary_prompt(text: &str) -> Value {
    let content = [json!({ "type": "input_text", "text": text })];
    json!({ "type": "message", "role": "user", "content": content })
}

/// A daemon that has read the thread up to the output of `call_9`.
pub(crate) fn daemon() -> Script {
    let made = json!({
        "compaction_id": "cmp_1", "strategy_used": "checkpoint", "ladder": [],
        "history": [{ "role": "user", "content": [{ "type": "input_text", "text": BRIEFING }] }],
        "view": VIEW, "tokens": { "before": 9000, "after": 20 }, "warnings": [],
        "receipt": {
            "kept": [], "shortened": [], "dropped": [], "redacted": 0,
            "totals": {
                "kept": { "items": 0, "tokens": 0 }, "shortened": { "items": 0, "tokens": 0 },
                "dropped": { "items": 0, "tokens": 0 },
            },
        },
    });
    let newest =
        json!({ "seq": 9, "kind": "tool_output", "tokens": 1, "handle": "h9", "excerpt": "ok" });
    Script::from_examples()
        .unwrap()
        .result::<thread::Sync>(json!({ "thread_id": THREAD, "offset": 9, "seq": 9 }))
        .result::<thread::Items>(json!({ "items": [newest], "next_seq": 10, "more": false }))
        .result::<history::Expand>(
            json!({ "items": [output("call_9")], "path": "/r.jsonl", "byte_range": [0, 9] }),
        )
        .result::<compaction::Run>(made)
}

pub(crate) fn request(desk: &Desk, input: &Value) -> Vec<u8> {
    let body = json!({ "model": "gpt-5.5", "input": input, "stream": true, "store": false });
    let headers = [
        ("thread-id", THREAD),
        ("authorization", "Bearer k"),
        ("content-type", "application/json"),
    ];
    post(&desk.path("/responses"), &headers, body.to_string().as_bytes())
}

/// The events of an answer.
fn events(message: &Message) -> Vec<Value> {
    assert_eq!(message.start, "HTTP/1.1 200 OK");
    assert_eq!(message.header("content-type"), Some("text/event-stream"));
    let events = message.text().split_terminator("\n\n").map(|event| {
        let (name, data) = event.split_once("\ndata: ").unwrap();
        let data: Value = serde_json::from_str(data).unwrap();
        assert_eq!(name, format!("event: {}", text_at(&data, "type")));
        data
    });
    events.collect()
}

/// A provider whose model answers, and a gateway before it with this daemon, if any.
pub(crate) fn rig(script: Option<Script>) -> (Provider, Desk) {
    let provider = Provider::saying(answer("200 OK", "content-type: text/event-stream\r\n", MODEL));
    let desk = match script {
        Some(script) => Desk::with_daemon(&provider.url(), script),
        None => Desk::new(&provider.url()),
    };
    (provider, desk)
}

#[test]
fn the_plain_prompt_is_answered_by_the_views_words() {
    let (provider, desk) = rig(Some(daemon()));
    for prompt in ["You are performing a CONTEXT CHECKPOINT COMPACTION. Write.", "Sum it up."] {
        let input = json!([output("call_9"), summary_prompt(prompt)]);
        let events = events(&desk.send(&request(&desk, &input)));
        assert_eq!(events.len(), 2, "{events:?}");
        assert_eq!(text_at(&events[0], "item.role"), "assistant");
        assert_eq!(text_at(&events[0], "item.content.0.text"), BRIEFING);
        assert_eq!(text_at(&events[1], "type"), "response.completed");
        assert_eq!(field(&events[1], "response.output.0"), field(&events[0], "item"));
    }
    assert!(provider.received().is_empty());
    let status = desk.status();
    assert_eq!((status.answered, status.left, status.passed), (2, 0, 0));
}

#[test]
fn the_trigger_is_answered_by_an_item_whose_view_goes_upstream_later() {
    let (provider, mut desk) = rig(Some(daemon()));
    let events = events(&desk.send(&request(&desk, &json!([output("call_9"), trigger()]))));
    assert_eq!(events.len(), 2, "{events:?}");
    let item = field(&events[0], "item");
    assert_eq!(text_at(item, "type"), "compaction");
    assert!(text_at(item, "encrypted_content").starts_with(MARKER), "{item}");
    assert!(provider.received().is_empty());
    // Nothing is kept here: another process, another thread, another packing find the view in the item itself.
    desk.restart();
    let view = json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": BRIEFING }] });
    let body = |first: &Value| {
        json!({ "input": [first, summary_prompt("go on")], "stream": true }).to_string()
    };
    let zstd = zstd::stream::encode_all(body(item).as_bytes(), 3).unwrap();
    let gzip = gzipped(body(item).as_bytes());
    let plain = body(item).into_bytes();
    for (path, packing, sent) in [
        ("/responses", "identity", &plain),
        ("/responses", "zstd", &zstd),
        ("/responses", "gzip", &gzip),
        ("/responses/compact", "identity", &plain),
    ] {
        desk.send(&post(&desk.path(path), &[("content-encoding", packing)], sent));
        let received = provider.received().pop().unwrap();
        assert_eq!(received.header("content-encoding"), Some(packing));
        let plain = match packing {
            "zstd" => zstd::stream::decode_all(received.body.as_slice()).unwrap(),
            "gzip" => io::read_to_string(GzDecoder::new(received.body.as_slice())).unwrap().into(),
            _ => received.body,
        };
        let text = String::from_utf8(plain).unwrap();
        assert!(!text.contains(MARKER), "{text}");
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(field(&value, "input"), &json!([view, summary_prompt("go on")]));
    }
}

#[test]
fn a_compaction_that_is_left_to_the_provider_carries_no_marker_of_an_earlier_one() {
    let (provider, mut desk) = rig(Some(daemon()));
    let first = events(&desk.send(&request(&desk, &json!([output("call_9"), trigger()]))));
    desk = Desk::new(&provider.url());
    let input = json!([field(&first[0], "item"), output("call_9"), trigger()]);
    assert_eq!(desk.send(&request(&desk, &input)).text(), MODEL);
    let received = provider.received().pop().unwrap();
    assert!(
        !received.text().contains(MARKER) && received.text().contains("Rename"),
        "{received:?}"
    );
    assert!(received.text().ends_with(
        r#"{"type":"compaction_trigger"}],"model":"gpt-5.5","store":false,"stream":true}"#
    ));
}

fn refused(kind: ErrorKind) -> Reply {
    Reply::Error(WireError::new(kind, "no"))
}

/// Sends a compaction through a gateway with this daemon, and checks that it went upstream as it came.
fn is_left(script: Option<Script>, newest: &str, why: &str) {
    let (provider, desk) = rig(script);
    for last in [trigger(), summary_prompt("You are performing a CONTEXT CHECKPOINT COMPACTION.")] {
        let sent = request(&desk, &json!([output(newest), last]));
        assert_eq!(desk.send(&sent).text(), MODEL, "{why}");
        let received = provider.received().pop().unwrap();
        assert!(sent.ends_with(&received.body), "{why}: the bytes as they came");
    }
    let status = desk.status();
    let reason = status.last.unwrap().reason.unwrap();
    assert!(reason.contains(why), "{reason}");
    assert_eq!((status.answered, status.left, status.passed), (0, 2, 2));
}

#[test]
fn a_compaction_that_the_daemon_has_no_view_for_goes_upstream_as_it_came() {
    let silent = daemon().on::<compaction::Run>(|_| Reply::Lines(Vec::new()));
    let unknown = daemon().on::<thread::Sync>(|_| refused(ErrorKind::ThreadNotFound));
    let refusing = daemon().on::<compaction::Run>(|_| refused(ErrorKind::SourceChanged));
    let newer = daemon().on::<daemon::Initialize>(|_| {
        let error = WireError::new(ErrorKind::VersionUnsupported, "revisions 2 to 3");
        Reply::Error(error.with_detail(json!({ "disagreement": Disagreement::ClientTooOld })))
    });
    is_left(None, "call_9", "no daemon answers");
    // It is waited for a second and no longer.
    is_left(Some(silent), "call_9", "1000 ms");
    // It has not read the newest item.
    is_left(Some(daemon()), "call_10", "1000 ms");
    is_left(Some(unknown), "call_9", "1000 ms");
    is_left(Some(refusing), "call_9", "no");
    is_left(Some(newer), "call_9", "this client is too old for the running daemon");
}

#[test]
fn other_requests_are_none_even_where_they_speak_of_compactions() {
    let (provider, desk) = rig(Some(daemon()));
    let quoted = "what does \"You are performing a CONTEXT CHECKPOINT COMPACTION\" mean?";
    let inputs = [
        json!([output("call_9"), summary_prompt(quoted)]),
        json!([trigger(), output("call_9")]),
        json!([trigger()]),
        json!([]),
    ];
    for input in inputs {
        let sent = request(&desk, &input);
        desk.send(&sent);
        assert!(sent.ends_with(&provider.received().pop().unwrap().body), "{input}");
    }
    assert_eq!(desk.status().last, None);
}
