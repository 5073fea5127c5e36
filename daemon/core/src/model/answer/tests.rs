use serde_json::json;

use super::super::turns::tests::raw;
use super::super::{Ask, Endpoint, Schema};
use super::*;

const ASK: Ask<'_> = Ask {
    model: "m",
    instructions: "be brief",
    input: &[],
    schema: None,
    effort: None,
    max_output_tokens: 100,
    without_images: false,
    endpoint: Endpoint::Answer,
};

fn stream(events: &[Value]) -> Vec<u8> {
    let mut out = Vec::new();
    for event in events {
        out.extend(format!("event: x\ndata: {event}\n\n").into_bytes());
    }
    out
}

fn read(wire: WireApi, bytes: &[u8]) -> Result<Answer, Fault> {
    let mut reader = AnswerReader::new(wire);
    for piece in bytes.chunks(7) {
        if reader.push(piece) {
            break;
        }
    }
    reader.finish()
}

fn responses_events() -> Vec<Value> {
    vec![
        json!({"type":"response.created","response":{"id":"r"}}),
        json!({"type":"response.output_text.delta","delta":"he"}),
        json!({"type":"response.output_item.done","item":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hello"}]}}),
        json!({"type":"response.completed","response":{"id":"r","usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":4},"output_tokens":2}}}),
    ]
}

fn chat_events() -> Vec<Value> {
    vec![
        json!({"choices":[{"delta":{"role":"assistant","content":"hel"}}]}),
        json!({"choices":[{"delta":{"content":"lo"},"finish_reason":null}]}),
        json!({"choices":[{"delta":{},"finish_reason":"stop"}]}),
        json!({"choices":[],"usage":{"prompt_tokens":9,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens":2}}),
    ]
}

fn messages_events() -> Vec<Value> {
    vec![
        json!({"type":"message_start","message":{"usage":{"input_tokens":5,"cache_read_input_tokens":4,"output_tokens":1}}}),
        json!({"type":"content_block_delta","delta":{"type":"text_delta","text":"hello"}}),
        json!({"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}),
        json!({"type":"message_stop"}),
    ]
}

fn all() -> [(WireApi, Vec<Value>); 3] {
    [
        (WireApi::Responses, responses_events()),
        (WireApi::Chat, chat_events()),
        (WireApi::Messages, messages_events()),
    ]
}

#[test]
fn each_form_gives_words_and_cost() {
    for (wire, events) in all() {
        let answer = read(wire, &stream(&events)).unwrap();
        assert_eq!(answer.text, "hello", "{wire:?}");
        assert_eq!(answer.usage, Usage { input: 9, cached_input: 4, output: 2 }, "{wire:?}");
    }
}

#[test]
fn a_stream_cut_after_any_event_is_detected() {
    for (wire, events) in all() {
        // In the Chat form the answer is whole with its reason to finish; the cost may be missing.
        let needed = events.iter().position(|event| match wire {
            WireApi::Chat => event["choices"][0]["finish_reason"].is_string(),
            _ => event["type"] == "response.completed" || event["type"] == "message_stop",
        });
        for kept in 0..events.len() {
            let result = read(wire, &stream(&events[..kept]));
            let kind = result.map(|_| ()).map_err(|fault| fault.kind);
            let whole = needed.is_some_and(|needed| kept > needed);
            let expected = if whole { Ok(()) } else { Err(FaultKind::StreamCut) };
            assert_eq!(kind, expected, "{wire:?} after {kept} events");
        }
    }
}

#[test]
fn text_is_available_while_it_streams_in() {
    let texts = [
        ["", "he", "he", "he"],
        ["hel", "hello", "hello", "hello"],
        ["", "hello", "hello", "hello"],
    ];
    for ((wire, events), expected) in all().into_iter().zip(texts) {
        let mut reader = AnswerReader::new(wire);
        for (event, expected) in events.iter().zip(expected) {
            reader.push(&stream(std::slice::from_ref(event)));
            assert_eq!(reader.words(), expected, "{wire:?} {event}");
        }
    }
}

#[test]
fn failures_inside_a_stream_are_named() {
    let check = |wire, event: Value, kind| {
        assert_eq!(
            read(wire, &stream(std::slice::from_ref(&event))).unwrap_err().kind,
            kind,
            "{event}"
        );
    };
    check(
        WireApi::Responses,
        json!({"type":"response.failed","response":{"status":"failed","error":{"code":"context_length_exceeded","message":"too long"}}}),
        FaultKind::ContextOverflow,
    );
    check(
        WireApi::Responses,
        json!({"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}),
        FaultKind::Incomplete,
    );
    check(
        WireApi::Responses,
        json!({"type":"error","code":"rate_limit_exceeded","message":"slow down"}),
        FaultKind::RateLimited,
    );
    check(WireApi::Chat, json!({"error":{"message":"boom"}}), FaultKind::Unavailable);
    check(
        WireApi::Chat,
        json!({"choices":[{"delta":{"content":"x"},"finish_reason":"length"}]}),
        FaultKind::Incomplete,
    );
    check(
        WireApi::Messages,
        json!({"type":"error","error":{"type":"overloaded_error","message":"busy"}}),
        FaultKind::Unavailable,
    );
    let ended = |reason: &str| json!({"type":"message_delta","delta":{"stop_reason":reason}});
    check(WireApi::Messages, ended("max_tokens"), FaultKind::Incomplete);
    check(WireApi::Messages, ended("refusal"), FaultKind::Refused);
    check(WireApi::Messages, ended("model_context_window_exceeded"), FaultKind::ContextOverflow);
    let failed = json!({"type":"response.failed","response":{"status":"failed","error":null}});
    check(WireApi::Responses, failed, FaultKind::Unavailable);
    let error = json!({"code":"rate_limit_exceeded","message":"slow down"});
    let completed = json!({"type":"response.completed","response":{"error":error}});
    check(WireApi::Responses, completed, FaultKind::RateLimited);
    assert_eq!(read(WireApi::Chat, b"data: {\"choi\n\n").unwrap_err().kind, FaultKind::Unreadable);
    assert_eq!(read(WireApi::Chat, b"").unwrap_err().kind, FaultKind::StreamCut);
}

#[test]
fn an_answer_in_one_piece_reads_the_same() {
    let bodies = [
        (
            WireApi::Responses,
            json!({"status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hello"}]}],"usage":{"input_tokens":9,"output_tokens":2}}),
        ),
        (
            WireApi::Chat,
            json!({"choices":[{"message":{"content":"hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2}}),
        ),
        (
            WireApi::Messages,
            json!({"content":[{"type":"text","text":"hello"}],"stop_reason":"end_turn","usage":{"input_tokens":9,"output_tokens":2}}),
        ),
    ];
    for (wire, body) in bodies {
        let answer = AnswerReader::whole(wire, body.to_string().as_bytes()).unwrap();
        let usage = (answer.usage.input, answer.usage.output);
        assert_eq!((answer.text.as_str(), usage), ("hello", (9, 2)), "{wire:?}");
        let fault = AnswerReader::whole(wire, b"[]").unwrap_err();
        assert!(matches!(fault.kind, FaultKind::Unreadable | FaultKind::StreamCut), "{wire:?}");
    }
}

#[test]
fn an_answer_in_one_piece_may_be_structured_or_a_failure() {
    let whole = |wire, body: Value| {
        AnswerReader::whole(wire, body.to_string().as_bytes()).map_err(|fault| fault.kind)
    };
    let block = json!({"type":"tool_use","name":"out","input":{"should_compact":true}});
    let usage = json!({"input_tokens":5,"cache_read_input_tokens":4,"cache_creation_input_tokens":3,"output_tokens":2});
    let body = json!({"content":[block],"stop_reason":"tool_use","usage":usage});
    let answer = whole(WireApi::Messages, body).unwrap();
    assert_eq!(answer.text, r#"{"should_compact":true}"#);
    assert_eq!(answer.usage, Usage { input: 12, cached_input: 4, output: 2 });
    for (reason, kind) in [
        ("max_tokens", FaultKind::Incomplete),
        ("refusal", FaultKind::Refused),
        ("model_context_window_exceeded", FaultKind::ContextOverflow),
    ] {
        let body = json!({"content":[{"type":"text","text":"I"}],"stop_reason":reason});
        assert_eq!(whole(WireApi::Messages, body).unwrap_err(), kind, "{reason}");
    }
    let message = json!({"type":"message","role":"assistant","content":[{"text":"hello"}]});
    let request = json!({"type":"message","role":"user","content":[{"text":"go"}]});
    let completed =
        |error: Value| json!({"output":[request,message],"status":"completed","error":error});
    assert_eq!(whole(WireApi::Responses, completed(Value::Null)).unwrap().text, "hello");
    let error = completed(json!({"code":"invalid_api_key","message":"no"}));
    assert_eq!(whole(WireApi::Responses, error).unwrap_err(), FaultKind::Unauthorized);
}

#[test]
fn a_stream_that_says_it_is_done_is_an_answer_if_it_has_text() {
    let words = json!({"choices":[{"delta":{"content":"hello"}}]});
    let done = |events: &[Value]| {
        read(WireApi::Chat, &[&stream(events)[..], b"data: [DONE]\n\n"].concat())
    };
    assert_eq!(done(&[words]).unwrap().text, "hello");
    assert_eq!(done(&[]).unwrap_err().kind, FaultKind::StreamCut);
}

#[test]
fn the_last_event_counts_if_it_is_whole() {
    let words = stream(&chat_events()[..2]);
    for (last, expected) in [
        ("data: [DONE]", None),
        ("data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}", None),
        ("data: {\"choices\":[{\"del", Some(FaultKind::StreamCut)),
    ] {
        let answer = read(WireApi::Chat, &[&words[..], last.as_bytes()].concat());
        assert_eq!(answer.err().map(|fault| fault.kind), expected, "{last}");
    }
}

#[test]
fn bytes_after_the_end_are_ignored() {
    for (wire, events) in all() {
        let mut bytes = stream(&events);
        bytes.extend(b"data: [DONE]\n\n");
        let mut reader = AnswerReader::new(wire);
        assert!(reader.push(&bytes), "{wire:?}");
        let words = reader.words().to_owned();
        assert!(reader.push(&bytes), "{wire:?}");
        assert_eq!(reader.words(), words, "{wire:?}");
    }
    let mut reader = AnswerReader::new(WireApi::Messages);
    let error = json!({"type":"error","error":{"type":"overloaded_error","message":"busy"}});
    assert!(reader.push(&stream(&[error])));
    reader.push(&stream(&messages_events()));
    assert_eq!(reader.words(), "");
    assert_eq!(reader.finish().unwrap_err().kind, FaultKind::Unavailable);
}

#[test]
fn an_answer_may_be_as_large_as_its_limit() {
    for (more, expected) in [(0, None), (1, Some(FaultKind::AnswerTooLarge))] {
        let words = "x".repeat(ANSWER_BYTES_MAX + more);
        let body = json!({"choices":[{"message":{"content":words},"finish_reason":"stop"}]});
        let answer = AnswerReader::whole(WireApi::Chat, body.to_string().as_bytes());
        assert_eq!(answer.err().map(|fault| fault.kind), expected);
    }
    let item = json!({"type":"compaction","encrypted_content":"x".repeat(ANSWER_BYTES_MAX)});
    let answer =
        AnswerReader::whole(WireApi::Responses, json!({"output":[item]}).to_string().as_bytes());
    assert_eq!(answer.unwrap_err().kind, FaultKind::AnswerTooLarge);
}

#[test]
fn credentials_in_an_answer_are_redacted_and_nothing_else_is_changed() {
    let secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD";
    let message = |words: &str| json!({"type":"message","role":"assistant","content":[{"type":"output_text","text":words}]});
    let payload = format!("gAAAA{}", "a1B2-c3D4_".repeat(60));
    let sealed = json!({"type":"compaction","encrypted_content":payload});
    let spoken = json!({"type":"reasoning","summary":[secret],"encrypted_content":payload});
    let items = raw(&[message(&format!("use {secret}")), message("use a key"), sealed, spoken]);
    let usage = Usage { input: 9, cached_input: 4, output: 2 };
    let answer = Answer { text: format!("use {secret}"), items: items.clone(), usage }.redacted();
    assert!(
        answer.text.starts_with("use ") && !answer.text.contains("abcdefghij"),
        "{}",
        answer.text
    );
    assert!(
        answer.items[0].get().contains("use ") && !answer.items[0].get().contains("abcdefghij")
    );
    assert_eq!((answer.items[1].get(), answer.items[2].get()), (items[1].get(), items[2].get()));
    let spoken = answer.items[3].get();
    assert!(spoken.contains(&payload) && !spoken.contains("abcdefghij"), "{spoken}");
    assert_eq!((answer.items.len(), answer.usage), (4, usage));
}

#[test]
fn requests_have_the_form_of_their_provider() {
    let items = raw(&[
        json!({"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]}),
        json!({"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]}),
    ]);
    let schema = Schema { name: "out".into(), schema: json!({"type":"object"}) };
    let ask = Ask { input: &items, schema: Some(&schema), effort: Some("low"), ..ASK };
    let body = |wire: WireApi| serde_json::from_slice::<Value>(&wire.body(&ask)).unwrap();
    let responses = body(WireApi::Responses);
    assert_eq!(responses["input"][0]["content"][0]["text"], "go");
    assert_eq!(responses["store"], false);
    assert_eq!(responses["text"]["format"]["name"], "out");
    assert_eq!(responses["reasoning"]["effort"], "low");
    let chat = body(WireApi::Chat);
    assert_eq!(chat["messages"][0], json!({"role":"system","content":"be brief"}));
    assert_eq!(chat["messages"][1], json!({"role":"user","content":"go"}));
    assert_eq!(chat["messages"][2], json!({"role":"assistant","content":"done"}));
    assert_eq!(chat["response_format"]["json_schema"]["strict"], true);
    let messages = body(WireApi::Messages);
    assert_eq!(messages["system"], "be brief");
    assert_eq!(messages["messages"][0], json!({"role":"user","content":"go"}));
    assert_eq!(messages["messages"][1], json!({"role":"assistant","content":"done"}));
    assert_eq!(messages["tool_choice"]["name"], "out");
}

#[test]
fn items_pass_through_byte_for_byte() {
    let odd = r#"{ "type":"message",  "role":"user","content":[{"text":"\u0041 1.0e5","type":"input_text"}], "z":1.50 }"#;
    let items = vec![RawValue::from_string(odd.to_owned()).unwrap()];
    let sent = WireApi::Responses.body(&Ask { input: &items, ..ASK });
    assert!(String::from_utf8(sent).unwrap().contains(odd));
    let event = format!(
        "data: {{\"type\":\"response.output_item.done\",\"item\":{odd}}}\n\ndata: {{\"type\":\"response.completed\",\"response\":{{}}}}\n\n"
    );
    let answer = read(WireApi::Responses, event.as_bytes()).unwrap();
    assert_eq!(answer.items[0].get(), odd);
}

#[test]
fn a_compaction_is_one_request_and_one_answer() {
    let sent = WireApi::Responses.body(&Ask { endpoint: Endpoint::Compact, ..ASK });
    assert_eq!(
        serde_json::from_slice::<Value>(&sent).unwrap(),
        json!({"model":"m","instructions":"be brief","input":[]})
    );
    assert_eq!(WireApi::Responses.path(Endpoint::Compact), "responses/compact");
    let body = json!({"output":[{"type":"compaction","encrypted_content":"abc"}]}).to_string();
    let answer = AnswerReader::whole(WireApi::Responses, body.as_bytes()).unwrap();
    assert_eq!(answer.items.len(), 1);
}
