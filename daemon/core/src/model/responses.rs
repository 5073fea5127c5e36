//! OpenAI's Responses API.

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::answer::{StreamEvent, Usage, count};
use super::{Ask, Endpoint, Fault, FaultKind};

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
    input: &'a [Box<RawValue>],
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<bool>,
    /// Ask the provider not to retain the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Value>,
}

pub(super) fn body(ask: &Ask<'_>) -> Vec<u8> {
    let format = ask.schema.map(|schema| {
        json!({ "format": {
            "type": "json_schema", "name": schema.name, "schema": schema.schema, "strict": true,
        } })
    });
    let answers = ask.endpoint != Endpoint::Compact;
    let body = Body {
        model: ask.model,
        instructions: ask.instructions,
        input: ask.input,
        stream: answers.then_some(true),
        store: answers.then_some(false),
        max_output_tokens: answers.then_some(ask.max_output_tokens),
        reasoning: ask.effort.map(|effort| json!({ "effort": effort })),
        text: format,
    };
    serde_json::to_vec(&body).unwrap_or_default()
}

/// Reads one event; items are taken unchanged from its text `data`.
pub(super) fn event(event: &Value, data: &[u8], show: &mut dyn FnMut(StreamEvent)) {
    #[derive(serde::Deserialize)]
    struct Done {
        item: Box<RawValue>,
    }
    match event["type"].as_str().unwrap_or_default() {
        "response.output_text.delta" => {
            show(StreamEvent::Words(event["delta"].as_str().unwrap_or_default().to_owned()));
        }
        "response.output_item.done" => {
            if let Ok(done) = serde_json::from_slice::<Done>(data) {
                show(StreamEvent::Item(done.item));
            }
        }
        "response.completed" | "response.incomplete" | "response.failed" => {
            end(&event["response"], show);
        }
        "error" => show(StreamEvent::Failed(Fault::of_error(event))),
        _ => {}
    }
}

pub(super) fn whole(body: &Value, show: &mut dyn FnMut(StreamEvent)) {
    for item in body["output"].as_array().into_iter().flatten() {
        if let Ok(item) = serde_json::value::to_raw_value(item) {
            show(StreamEvent::Item(item));
        }
    }
    if body["output"].is_array() || body["status"].is_string() {
        end(body, show);
    } else {
        show(StreamEvent::failed(FaultKind::Unreadable, "the answer has no output"));
    }
}

/// Reads the final status of a response. The compaction endpoint has none: its answer is complete.
fn end(response: &Value, show: &mut dyn FnMut(StreamEvent)) {
    show(StreamEvent::Cost(usage(&response["usage"])));
    match response["status"].as_str() {
        Some("failed") => show(StreamEvent::Failed(Fault::of_error(&response["error"]))),
        Some("incomplete") => {
            let reason = response.pointer("/incomplete_details/reason").and_then(Value::as_str);
            show(StreamEvent::failed(FaultKind::Incomplete, reason.unwrap_or("incomplete")));
        }
        _ if response.get("error").is_some_and(|error| !error.is_null()) => {
            show(StreamEvent::Failed(Fault::of_error(&response["error"])));
        }
        _ => show(StreamEvent::Done),
    }
}

fn usage(usage: &Value) -> Usage {
    Usage {
        input: count(usage, "/input_tokens"),
        cached_input: count(usage, "/input_tokens_details/cached_tokens"),
        output: count(usage, "/output_tokens"),
    }
}

/// Text of the assistant messages among `items`; `None` if there are none.
pub(super) fn text_of(items: &[Box<RawValue>]) -> Option<String> {
    let mut text: Option<String> = None;
    for item in items {
        let Ok(item) = serde_json::from_str::<Value>(item.get()) else { continue };
        if item["type"] != "message" || item["role"] != "assistant" {
            continue;
        }
        let parts = item["content"].as_array().into_iter().flatten();
        for words in parts.filter_map(|part| part["text"].as_str()) {
            text.get_or_insert_default().push_str(words);
        }
    }
    text
}
