//! Anthropic's Messages API.

use serde_json::{Value, json};

use super::answer::{StreamEvent, Usage, count};
use super::{Ask, Fault, FaultKind, turns};

pub(super) fn body(ask: &Ask<'_>) -> Vec<u8> {
    let mut body = json!({
        "model": ask.model,
        "messages": turns::of(ask.input),
        "stream": true,
        "max_tokens": ask.max_output_tokens,
    });
    if !ask.instructions.is_empty() {
        body["system"] = json!(ask.instructions);
    }
    // A forced tool call is the structured output that every version of the API supports.
    if let Some(schema) = ask.schema {
        body["tools"] = json!([{ "name": schema.name, "input_schema": schema.schema }]);
        body["tool_choice"] = json!({ "type": "tool", "name": schema.name });
    }
    body.to_string().into_bytes()
}

pub(super) fn event(event: &Value, show: &mut dyn FnMut(StreamEvent)) {
    match event["type"].as_str().unwrap_or_default() {
        "message_start" => show(StreamEvent::Cost(usage(&event["message"]["usage"]))),
        "content_block_delta" => {
            let delta = &event["delta"];
            let words = delta["text"].as_str().or_else(|| delta["partial_json"].as_str());
            show(StreamEvent::Words(words.unwrap_or_default().to_owned()));
        }
        "message_delta" => {
            show(StreamEvent::Cost(usage(&event["usage"])));
            stopped(event["delta"]["stop_reason"].as_str(), show);
        }
        "message_stop" => show(StreamEvent::Done),
        "error" => show(StreamEvent::Failed(Fault::of_error(&event["error"]))),
        _ => {}
    }
}

pub(super) fn whole(body: &Value, show: &mut dyn FnMut(StreamEvent)) {
    show(StreamEvent::Cost(usage(&body["usage"])));
    for block in body["content"].as_array().into_iter().flatten() {
        match block["type"].as_str() {
            Some("text") => {
                show(StreamEvent::Words(block["text"].as_str().unwrap_or_default().into()));
            }
            Some("tool_use") => show(StreamEvent::Words(block["input"].to_string())),
            _ => {}
        }
    }
    stopped(body["stop_reason"].as_str(), show);
    if body["content"].is_array() {
        show(StreamEvent::Done);
    } else {
        show(StreamEvent::failed(FaultKind::Unreadable, "the answer has no content"));
    }
}

fn stopped(reason: Option<&str>, show: &mut dyn FnMut(StreamEvent)) {
    match reason {
        Some("max_tokens") => {
            show(StreamEvent::failed(FaultKind::Incomplete, "the answer reached its token limit"));
        }
        Some("refusal") => {
            show(StreamEvent::failed(FaultKind::Refused, "the model refused"));
        }
        Some("model_context_window_exceeded") => {
            show(StreamEvent::failed(FaultKind::ContextOverflow, "the window is full"));
        }
        _ => {}
    }
}

fn usage(usage: &Value) -> Usage {
    let cached = count(usage, "/cache_read_input_tokens");
    let written = count(usage, "/cache_creation_input_tokens");
    Usage {
        input: count(usage, "/input_tokens") + cached + written,
        cached_input: cached,
        output: count(usage, "/output_tokens"),
    }
}
