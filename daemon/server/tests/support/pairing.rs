//! A provider that rejects what the Responses API rejects. Written independently of the code it checks.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::field;
use super::provider::Answer;

/// Types of calls and of their outputs.
const PAIRS: [(&str, &str); 7] = [
    ("function_call", "function_call_output"),
    ("local_shell_call", "function_call_output"),
    ("custom_tool_call", "custom_tool_call_output"),
    ("tool_search_call", "tool_search_output"),
    ("shell_call", "shell_call_output"),
    ("apply_patch_call", "apply_patch_call_output"),
    ("computer_call", "computer_call_output"),
];

const ALONE: [&str; 6] = [
    "web_search_call",
    "file_search_call",
    "image_generation_call",
    "code_interpreter_call",
    "mcp_call",
    "mcp_list_tools",
];

/// A text that is a valid summary of every thread of a test.
pub const ANY_SUMMARY: &str =
    "The work so far was done as it was asked for; the rest is listed in the plan.";

/// Answers a valid request, and rejects any other with the reason.
pub fn answer(body: &Value) -> Answer {
    if let Err(reason) = check(field(body, "input")) {
        let error = json!({ "type": "invalid_request_error", "message": reason });
        return Answer::Status("400 Bad Request", json!({ "error": error }));
    }
    let opaque = json!({ "type": "compaction", "encrypted_content": "opaque-words" });
    let items = field(body, "input").as_array().cloned().unwrap_or_default();
    if body.get("stream").is_none() {
        let messages = items.into_iter().filter(|item| is(item, "role", "user"));
        let output: Vec<Value> = messages.chain([opaque]).collect();
        return Answer::Status("200 OK", json!({ "output": output }));
    }
    match items.last().is_some_and(|item| is(item, "type", "compaction_trigger")) {
        true => Answer::items(&[opaque]),
        false => Answer::says(ANY_SUMMARY),
    }
}

fn is(item: &Value, key: &str, value: &str) -> bool {
    item.get(key).and_then(Value::as_str) == Some(value)
}

/// Checks whether the API accepts an input.
///
/// # Errors
/// Why it does not.
fn check(input: &Value) -> Result<(), String> {
    let items = input.as_array().ok_or("input is no list")?;
    let (mut open, mut ids) = (BTreeSet::new(), BTreeSet::new());
    for (at, item) in items.iter().enumerate() {
        let text = |key: &str| item.get(key).and_then(Value::as_str);
        let kind = text("type").unwrap_or("message");
        if let Some(id) = text("id")
            && !ids.insert(id)
        {
            return Err(format!("input[{at}]: duplicate item {id}"));
        }
        let output = PAIRS.iter().find(|pair| pair.0 == kind);
        let call = PAIRS.iter().find(|pair| pair.1 == kind);
        match (output, call, text("call_id")) {
            (Some((_, output)), _, Some(id)) => {
                if !open.insert((*output, id)) {
                    return Err(format!("input[{at}]: call {id} is open already"));
                }
            }
            (_, Some(_), Some(id)) => {
                let is_servers = text("execution") == Some("server");
                if !open.remove(&(kind, id)) && !is_servers {
                    return Err(format!("No tool call found for function call output {id}"));
                }
            }
            (Some(_), _, None) | (_, Some(_), None) => {
                if !matches!(kind, "local_shell_call" | "tool_search_call" | "tool_search_output") {
                    return Err(format!("input[{at}].call_id is missing"));
                }
            }
            (None, None, _) => alone(kind, item, at + 1 == items.len())
                .map_err(|reason| format!("input[{at}]: {reason}"))?,
        }
    }
    match open.first() {
        Some((_, id)) => Err(format!("No tool output found for function call {id}")),
        None => Ok(()),
    }
}

/// Whether the API accepts an item that is not part of a pair.
fn alone(kind: &str, item: &Value, is_last: bool) -> Result<(), String> {
    let sealed = item.get("encrypted_content").and_then(Value::as_str);
    let is_sealed = sealed.is_some_and(|content| !content.is_empty());
    let is_message = item.get("role").is_some() && item.get("content").is_some();
    match kind {
        "message" if is_message => Ok(()),
        "reasoning" | "compaction" | "context_compaction" if is_sealed => Ok(()),
        "compaction_trigger" if is_last => Ok(()),
        _ if ALONE.contains(&kind) => Ok(()),
        _ => Err(format!("invalid value: '{kind}'")),
    }
}

#[test]
fn the_judge_rejects_each_kind_of_invalid_input() {
    let call = json!({ "type": "function_call", "call_id": "c", "name": "x", "arguments": "{}" });
    let output = json!({ "type": "function_call_output", "call_id": "c", "output": "y" });
    assert_eq!(check(&json!([call, output, call, output])), Ok(()));
    for broken in [
        json!([call]),
        json!([output]),
        json!([output, call]),
        json!([call, output, output]),
        json!([call, call, output]),
        json!([{ "type": "ghost_snapshot" }]),
        json!([{ "type": "hologram_call" }]),
        json!([{ "type": "reasoning", "summary": [] }]),
        json!([{ "type": "compaction_trigger" }, call, output]),
    ] {
        assert!(check(&broken).is_err(), "{broken}");
    }
}
