//! Chat Completions, as implemented by OpenAI, Ollama, LM Studio, vLLM and llama.cpp.

use serde_json::{Value, json};

use super::answer::{StreamEvent, Usage, count};
use super::{Ask, Fault, FaultKind, turns};

pub(super) fn body(ask: &Ask<'_>) -> Vec<u8> {
    let mut messages = Vec::new();
    if !ask.instructions.is_empty() {
        messages.push(json!({ "role": "system", "content": ask.instructions }));
    }
    messages.extend(turns::of(ask.input).into_iter().map(|turn| json!(turn)));
    let mut body = json!({
        "model": ask.model,
        "messages": messages,
        "stream": true,
        "stream_options": { "include_usage": true },
        "max_tokens": ask.max_output_tokens,
    });
    if let Some(schema) = ask.schema {
        body["response_format"] = json!({ "type": "json_schema", "json_schema": {
            "name": schema.name, "schema": schema.schema, "strict": true,
        } });
    }
    if let Some(effort) = ask.effort {
        body["reasoning_effort"] = json!(effort);
    }
    body.to_string().into_bytes()
}

pub(super) fn event(event: &Value, show: &mut dyn FnMut(StreamEvent)) {
    if event.get("error").is_some_and(|error| !error.is_null()) {
        show(StreamEvent::Failed(Fault::of_error(&event["error"])));
        return;
    }
    choice(event, "delta", show);
    show(StreamEvent::Cost(usage(&event["usage"])));
}

pub(super) fn whole(body: &Value, show: &mut dyn FnMut(StreamEvent)) {
    show(StreamEvent::Cost(usage(&body["usage"])));
    choice(body, "message", show);
    if body.pointer("/choices/0").is_some() {
        show(StreamEvent::Done);
    } else {
        show(StreamEvent::failed(FaultKind::Unreadable, "the answer has no choice"));
    }
}

/// Reads the first choice. Its end is not the stream's: usage follows, then `[DONE]`. A stream that ends
/// without `[DONE]` is still a complete answer.
fn choice(event: &Value, part: &str, show: &mut dyn FnMut(StreamEvent)) {
    let choice = &event["choices"][0];
    if let Some(words) = choice[part]["content"].as_str() {
        show(StreamEvent::Words(words.to_owned()));
    }
    match choice["finish_reason"].as_str() {
        Some("length") => {
            show(StreamEvent::failed(FaultKind::Incomplete, "the answer reached its token limit"));
        }
        Some("content_filter") => {
            show(StreamEvent::failed(FaultKind::Incomplete, "the answer was filtered"));
        }
        Some(_) => show(StreamEvent::Whole),
        None => {}
    }
}

fn usage(usage: &Value) -> Usage {
    Usage {
        input: count(usage, "/prompt_tokens"),
        cached_input: count(usage, "/prompt_tokens_details/cached_tokens"),
        output: count(usage, "/completion_tokens"),
    }
}
