//! The mock model for the Messages API, as Claude Code uses it.
//!
//! Like the provider it rejects a call whose result does not follow it, and a result without its call.
//!
//! Only the last user message counts: a summary request gets a summary, a tool's result ends the turn, anything else
//! gets a shell command or the call it requests.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{new_id, requested_tool};

/// Texts in Claude Code's requests for a summary.
const COMPACTION_MARKS: [&str; 2] =
    ["create a detailed summary", "detailed summary of the conversation"];

/// A prompt with this text gets an answer that reports the window as nearly full.
pub(in super::super) const FILL: &str = "fill the window";
const FULL_TOKENS: u64 = 95_000;
/// Likewise, for a turn that fills a part of any window.
pub(in super::super) const PART: &str = "use up a part of the window";
pub(super) const PART_TOKENS: u64 = 50_000;
/// The same for a turn that fills the window so far that Claude Code summarizes ahead of time.
pub(in super::super) const MOST: &str = "use up most of the window";
const MOST_TOKENS: u64 = 150_000;
const TOKENS: u64 = 1_000;

/// Whether a request asks the model for a summary.
pub(in super::super) fn is_summary_request(request: &Value) -> bool {
    let last = messages(request).iter().rev().find(|message| message["role"] == "user");
    let last = last.map(Value::to_string).unwrap_or_default();
    COMPACTION_MARKS.iter().any(|mark| last.contains(mark))
}

/// Why the provider would reject a request, if so.
pub(in super::super) fn unpaired(request: &Value) -> Option<String> {
    let ids = |message: Option<&Value>, kind: &str, id: &str| -> BTreeSet<String> {
        let parts = message.and_then(|it| it["content"].as_array()).into_iter().flatten();
        let parts = parts.filter(|part| part["type"] == kind);
        parts.filter_map(|part| Some(part[id].as_str()?.to_owned())).collect()
    };
    let all = messages(request);
    (0..all.len()).find_map(|at| {
        let before = at.checked_sub(1).and_then(|before| all.get(before));
        let calls = ids(all.get(at), "tool_use", "id");
        let results = ids(all.get(at + 1), "tool_result", "tool_use_id");
        let earlier_calls = ids(before, "tool_use", "id");
        let own_results = ids(all.get(at), "tool_result", "tool_use_id");
        let call = calls.difference(&results).next().map(|id| format!("no result for {id}"));
        call.or_else(|| {
            own_results.difference(&earlier_calls).next().map(|id| format!("no call for {id}"))
        })
    })
}

/// The body of the rejection.
pub(super) fn refusal(why: &str) -> String {
    let error = json!({ "type": "invalid_request_error", "message": why });
    json!({ "type": "error", "error": error }).to_string()
}

fn messages(request: &Value) -> &[Value] {
    request["messages"].as_array().map_or(&[], Vec::as_slice)
}

/// The text of the last user message, by the person or the harness.
fn last_text(request: &Value) -> Option<&str> {
    let last = messages(request).iter().rev().find(|message| message["role"] == "user");
    last.and_then(|message| match &message["content"] {
        Value::String(words) => Some(words.as_str()),
        parts => parts.as_array()?.iter().filter_map(|part| part["text"].as_str()).next_back(),
    })
}

/// Whether the last user message without tool results contains `text`.
fn is_turn_of(request: &Value, text: &str) -> bool {
    let users = messages(request).iter().rev().filter(|message| message["role"] == "user");
    let mut texts = users.map(Value::to_string).filter(|text| !text.contains("\"tool_result\""));
    texts.next().is_some_and(|message| message.contains(text))
}

/// Content type and body of the answer.
pub(super) fn answer(request: &Value) -> (&'static str, String) {
    let blocks = blocks(request);
    let calls = blocks.iter().any(|block| block["type"] == "tool_use");
    let stop = if calls { "tool_use" } else { "end_turn" };
    // A prompt for a sub-agent fills the sub-agent's window instead.
    let is_full = last_text(request)
        .is_some_and(|words| words.contains(FILL) && requested_tool(words).is_none());
    let tokens = match (is_full, is_turn_of(request, PART), is_turn_of(request, MOST)) {
        (true, ..) => FULL_TOKENS,
        (false, true, _) => PART_TOKENS,
        (false, false, true) => MOST_TOKENS,
        (false, false, false) => TOKENS,
    };
    let message = json!({
        "id": new_id("msg"), "type": "message", "role": "assistant", "model": request["model"],
        "content": blocks, "stop_reason": stop, "stop_sequence": null,
        "usage": { "input_tokens": tokens, "output_tokens": 20 },
    });
    match request["stream"] == true {
        true => ("text/event-stream", events(&message)),
        false => ("application/json", message.to_string()),
    }
}

fn blocks(request: &Value) -> Vec<Value> {
    let last = messages(request).iter().rev().find(|message| message["role"] == "user");
    let prompt = last_text(request);
    let last = last.map(Value::to_string).unwrap_or_default();
    let has_tools = request["tools"].as_array().is_some_and(|tools| !tools.is_empty());
    let call = |name: &str, input: Value| json!({ "type": "tool_use", "id": new_id("toolu"), "name": name, "input": input });
    let text = |text: &str| json!({ "type": "text", "text": text });
    if is_summary_request(request) {
        return vec![text("<summary>\n1. Primary Request: the tasks so far.\n</summary>")];
    }
    if !has_tools {
        return vec![text(r#"{"title":"A task","isNewTopic":true}"#)];
    }
    if last.contains("\"tool_result\"") {
        return vec![text("Done.")];
    }
    match prompt.and_then(requested_tool) {
        // Claude Code's own tools begin with a capital; one of them reads resources.
        Some((tool, arguments)) if tool.starts_with(char::is_uppercase) => {
            vec![call(tool, arguments)]
        }
        Some((tool, arguments)) => vec![call(&format!("mcp__longhaul__{tool}"), arguments)],
        None => vec![call("Bash", json!({ "command": "echo one", "description": "say one" }))],
    }
}

/// The event stream of a message.
fn events(message: &Value) -> String {
    let mut opened = message.clone();
    opened["content"] = json!([]);
    opened["stop_reason"] = Value::Null;
    let mut events = vec![json!({ "type": "message_start", "message": opened })];
    let blocks = message["content"].as_array().map_or(&[][..], Vec::as_slice);
    for (index, block) in blocks.iter().enumerate() {
        let (mut start, delta) = (block.clone(), delta(block));
        for (member, empty) in [("text", json!("")), ("input", json!({}))] {
            if start.get(member).is_some() {
                start[member] = empty;
            }
        }
        events
            .push(json!({ "type": "content_block_start", "index": index, "content_block": start }));
        events.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    let stop = json!({ "stop_reason": message["stop_reason"], "stop_sequence": null });
    let usage = json!({ "output_tokens": 20 });
    events.push(json!({ "type": "message_delta", "delta": stop, "usage": usage }));
    events.push(json!({ "type": "message_stop" }));
    let line = |event: &Value| {
        format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
    };
    events.iter().map(line).collect()
}

fn delta(block: &Value) -> Value {
    match block["text"].as_str() {
        Some(text) => json!({ "type": "text_delta", "text": text }),
        None => json!({ "type": "input_json_delta", "partial_json": block["input"].to_string() }),
    }
}
