//! The failures of `failures`, in the words of every other kind of provider: Chat Completions, Anthropic Messages,
//! and a program on its standard output.
//!
//! The name of a failure must not depend on who fails: a person reads the reason, a client branches on it. And
//! whatever happens, the compaction is complete and in time ([`assert_holds`]).

use longhaul_protocol::compaction::{Cost, Strategy};
use serde_json::{Value, json};

use crate::failures::{assert_holds, in_time};
use crate::ladder::{REQUEST, SUMMARY, daemon_with, ladder, on};
use crate::support::provider::{Answer, Provider};
use crate::support::{Client, Daemon, eventually, field, text_at};

/// A form over HTTP: its name in the configuration, and how it says things.
pub struct Form {
    pub kind: &'static str,
    path: &'static str,
    /// The events of an answer of these words.
    pub says: fn(&str) -> Vec<Value>,
    /// Events of an answer without which it is not whole.
    needed: usize,
    /// An error's body: code, words.
    error: fn(&str, &str) -> Value,
    /// The event of an error in a stream.
    late: fn(&str) -> Value,
}

pub const FORMS: [Form; 2] = [
    Form {
        kind: "chat",
        path: "/v1/chat/completions",
        says: chat,
        // What follows the reason to finish is the cost.
        needed: 4,
        error: |code, words| json!({ "error": { "code": 400, "type": code, "message": words } }),
        late: |code| json!({ "error": { "code": code, "message": "no" } }),
    },
    Form {
        kind: "messages",
        path: "/v1/messages",
        says: messages,
        needed: 6,
        error: |code, words| json!({ "type": "error", "error": { "type": code, "message": words } }),
        late: |code| json!({ "type": "error", "error": { "type": code, "message": "no" } }),
    },
];

/// Chat Completions, as llama.cpp streams it.
fn chat(words: &str) -> Vec<Value> {
    let (first, second) = words.split_at(words.len() / 2);
    let delta = |delta: Value, reason: Value| {
        json!({ "object": "chat.completion.chunk",
            "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] })
    };
    vec![
        delta(json!({ "role": "assistant", "content": null }), Value::Null),
        delta(json!({ "content": first }), Value::Null),
        delta(json!({ "content": second }), Value::Null),
        delta(json!({}), json!("stop")),
        json!({ "choices": [], "usage": { "prompt_tokens": 100, "completion_tokens": 10 } }),
    ]
}

fn messages(words: &str) -> Vec<Value> {
    let delta = json!({ "type": "text_delta", "text": words });
    let usage = json!({ "input_tokens": 100, "output_tokens": 1 });
    vec![
        json!({ "type": "message_start", "message": { "role": "assistant", "usage": usage } }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" },
            "usage": { "output_tokens": 10 } }),
        json!({ "type": "message_stop" }),
    ]
}

/// Compacts by a summary; the model's rung must be left for `reason`.
async fn fails(client: &mut Client, reason: &str, what: &str) {
    let result = client.compact(in_time(on(Strategy::Summary))).await;
    let expected = format!("summary failed {reason}");
    assert_eq!(ladder(&result), [expected.as_str(), "checkpoint used"], "{what}");
    assert_holds(client, &result, what).await;
}

async fn rig(form: &Form) -> (Provider, Daemon, Client) {
    let provider = Provider::start(vec![Answer::Hang]).await;
    let (daemon, client) = daemon_with(&provider.config_as(form.kind, "")).await;
    (provider, daemon, client)
}

fn status(line: &'static str, body: Value) -> Answer {
    Answer::Status(line, body)
}

fn raw(events: &[Value], less: usize) -> Answer {
    let text: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
    Answer::Raw(format!("{head}{}", &text[..text.len() - less]))
}

#[tokio::test]
async fn a_whole_answer_of_each_form_is_taken_and_its_cost_noted() {
    for form in &FORMS {
        let (provider, _daemon, mut client) = rig(form).await;
        provider.answers(vec![Answer::Events((form.says)(SUMMARY))]);
        let result = client.compact(on(Strategy::Hybrid)).await;
        assert_eq!(ladder(&result), ["hybrid used"], "{}", form.kind);
        assert!(result.view.contains(SUMMARY), "{}", form.kind);
        assert_eq!(result.cost, Cost { requests: 1, tokens: 110 }, "{}", form.kind);
        let (path, body) = provider.requests()[0].clone();
        assert_eq!(path, form.path);
        let messages = field(&body, "messages").as_array().unwrap();
        assert!(text_at(&messages[0], "content").starts_with(REQUEST), "{messages:?}");
        let last = messages.last().unwrap();
        assert_eq!(text_at(last, "role"), "user");
        assert!(text_at(last, "content").contains("Stop working on the task"), "{last}");
    }
}

#[tokio::test]
async fn a_failure_has_the_same_name_in_each_form() {
    for form in &FORMS {
        let (provider, _daemon, mut client) = rig(form).await;
        let error = form.error;
        let later =
            "HTTP/1.1 429 Too Many Requests\r\nretry-after: 60\r\ncontent-length: 0\r\n\r\n";
        for (answer, reason) in [
            (status("401 Unauthorized", error("authentication_error", "no")), "unauthorized"),
            (status("403 Forbidden", error("permission_error", "no")), "unauthorized"),
            (status("429 Too Many Requests", error("rate_limit_error", "no")), "rate_limited"),
            (Answer::Raw(later.to_owned()), "rate_limited"),
            (status("404 Not Found", error("not_found_error", "model: m")), "not_found"),
            (status("500 Oops", error("api_error", "no")), "unavailable"),
            (status("529 Overloaded", error("overloaded_error", "no")), "unavailable"),
            (
                status("400 Bad", error("invalid_request_error", "prompt is too long: 9 > 5")),
                "context_overflow",
            ),
            (status("400 Bad", error("exceed_context_size_error", "9 tokens")), "context_overflow"),
            (status("400 Bad", error("invalid_request_error", "bad field")), "refused"),
            (raw(&[json!({ "cut": "here" })], 5), "stream_cut"),
            (Answer::Raw("no HTTP at all".to_owned()), "stream_cut"),
            (status("200 OK", json!([])), "unreadable"),
            (status("200 OK", json!({ "error": { "message": "boom" } })), "unavailable"),
            (Answer::Events(vec![(form.late)("overloaded_error")]), "unavailable"),
            (Answer::Events(vec![(form.late)("rate_limit_error")]), "rate_limited"),
        ] {
            let what = format!("{}: {answer:?}", form.kind);
            let asked = provider.requests().len();
            provider.answers(vec![answer]);
            fails(&mut client, reason, &what).await;
            assert!(provider.requests().len() > asked, "{what}: it was asked");
        }
        let no_json = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: {\"ty\n\n";
        provider.answers(vec![Answer::Raw(no_json.to_owned())]);
        fails(&mut client, "unreadable", "truncated JSON").await;
    }
}

#[tokio::test]
async fn an_answer_that_reached_its_bound_is_not_taken() {
    for form in &FORMS {
        let mut events = (form.says)(SUMMARY);
        for event in &mut events {
            let text = event.to_string();
            let cut =
                text.replace("\"end_turn\"", "\"max_tokens\"").replace("\"stop\"", "\"length\"");
            *event = serde_json::from_str(&cut).unwrap();
        }
        let (provider, _daemon, mut client) = rig(form).await;
        provider.answers(vec![Answer::Events(events)]);
        fails(&mut client, "incomplete", form.kind).await;
    }
}

#[tokio::test]
async fn a_stream_of_each_form_may_be_cut_or_hang_after_any_event() {
    for form in &FORMS {
        let events = (form.says)(SUMMARY);
        let (provider, _daemon, mut client) = rig(form).await;
        for whole in 0..form.needed {
            provider.answers(vec![Answer::Events(events[..whole].to_vec())]);
            fails(&mut client, "stream_cut", &format!("{} after {whole}", form.kind)).await;
        }
        provider.answers(vec![raw(&events[..form.needed], 12)]);
        fails(&mut client, "stream_cut", &format!("{} inside the last", form.kind)).await;
        for stalled in [Answer::Hang, Answer::Stall(events[..2].to_vec())] {
            provider.answers(vec![stalled]);
            fails(&mut client, "timeout", form.kind).await;
        }
        eventually("the connections are closed", || provider.hanging() == 0).await;
        provider.answers(vec![Answer::Events(events[..form.needed].to_vec())]);
        let result = client.compact(on(Strategy::Summary)).await;
        assert_eq!(ladder(&result), ["summary used"], "{}: the whole one is taken", form.kind);
    }
}

#[tokio::test]
async fn an_answer_of_each_form_that_is_no_summary_is_refused() {
    let long = "src/fetch.rs retry ".repeat(2_000);
    for form in &FORMS {
        let (provider, _daemon, mut client) = rig(form).await;
        for (words, reason) in [
            ("", "blank_summary"),
            (" \n ", "blank_summary"),
            ("I'm sorry, but I can't help with that request.", "refused_summary"),
            (&long, "inflated_summary"),
        ] {
            provider.answers(vec![Answer::Events((form.says)(words))]);
            fails(&mut client, reason, form.kind).await;
        }
    }
}

#[tokio::test]
async fn a_missing_key_and_a_silent_address_fail_alike_in_each_form() {
    for form in &FORMS {
        let provider = Provider::start(vec![Answer::Gone]).await;
        let more = "key_env = \"LONGHAUL_NO_SUCH_KEY\"";
        let (_daemon, mut client) = daemon_with(&provider.config_as(form.kind, more)).await;
        fails(&mut client, "unauthorized", form.kind).await;
        assert!(provider.requests().is_empty(), "{}", form.kind);
        let port = {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            listener.local_addr().unwrap().port()
        };
        let config = provider
            .config_as(form.kind, "")
            .replace(&provider.base_url, &format!("http://127.0.0.1:{port}/v1"));
        let (_daemon, mut client) = daemon_with(&config).await;
        fails(&mut client, "unreachable", form.kind).await;
    }
}

/// Configuration of a program that runs `script`.
fn program(script: &str) -> String {
    let script = Value::from(script);
    format!(
        "[model]\nprovider = \"p\"\nname = \"m\"\n\
         [providers.p]\nkind = \"command\"\ncommand = [\"sh\", \"-c\", {script}]\n"
    )
}

#[tokio::test]
async fn a_program_may_fail_in_any_way() {
    let long = "yes 'src/fetch.rs retry' | head -c 40000";
    for (script, reason) in [
        ("cat > /dev/null; exit 3", "refused"),
        ("echo 'src/fetch.rs was made to retry; half of a'; kill -9 $$", "refused"),
        ("exec sleep 60", "timeout"),
        ("echo 'src/fetch.rs was made'; exec sleep 60", "timeout"),
        ("cat > /dev/null", "blank_summary"),
        ("echo 'Es tut mir leid, dabei kann ich nicht helfen.'", "refused_summary"),
        (long, "inflated_summary"),
        ("printf 'src/fetch.rs \\377\\376 was made to retry.'", "unreadable"),
        ("yes retry | head -c 5000000", "answer_too_large"),
    ] {
        let (_daemon, mut client) = daemon_with(&program(script)).await;
        fails(&mut client, reason, script).await;
    }
    let nowhere = program("x").replace("\"sh\"", "\"/no/such/program\"");
    let (_daemon, mut client) = daemon_with(&nowhere).await;
    fails(&mut client, "not_found", "a program that is not there").await;
}

#[tokio::test]
async fn a_programs_words_are_a_summary_and_it_is_given_the_history() {
    let script = "grep -q 'Stop working on the task' || exit 3; \
                  echo 'The fetcher in src/fetch.rs was made to retry; cargo test passes.'";
    let (_daemon, mut client) = daemon_with(&program(script)).await;
    let result = client.compact(on(Strategy::Hybrid)).await;
    assert_eq!(ladder(&result), ["hybrid used"]);
    assert!(result.view.contains("was made to retry; cargo test passes."));
}
