//! Renders a history as plain turns, for providers that do not accept Responses items.
//!
//! Calls and outputs become text: the other APIs reject calls of tools that the request does not offer, and
//! a summary request offers none.

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// The person, the harness, or a tool.
const USER: &str = "user";
const ASSISTANT: &str = "assistant";

/// Consecutive text of one speaker, as the APIs take it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct ChatTurn {
    role: &'static str,
    content: String,
}

/// Renders a history as alternating turns that begin with the user, as every provider requires. Reasoning
/// and opaque items are omitted: no other provider can read them.
pub(super) fn of(items: &[Box<RawValue>]) -> Vec<ChatTurn> {
    let mut turns: Vec<ChatTurn> = Vec::new();
    for item in items {
        let Ok(item) = serde_json::from_str::<Value>(item.get()) else { continue };
        let Some((role, content)) = text_of(&item) else { continue };
        if content.is_empty() {
            continue;
        }
        match turns.last_mut() {
            Some(last) if last.role == role => {
                last.content.push_str("\n\n");
                last.content.push_str(&content);
            }
            None if role == ASSISTANT => {
                let before = "(the beginning of this conversation is not shown)".to_owned();
                turns.push(ChatTurn { role: USER, content: before });
                turns.push(ChatTurn { role, content });
            }
            _ => turns.push(ChatTurn { role, content }),
        }
    }
    turns
}

fn text_of(item: &Value) -> Option<(&'static str, String)> {
    let text = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default();
    match text("type") {
        "" | "message" => {
            let role = if text("role") == ASSISTANT { ASSISTANT } else { USER };
            Some((role, content(item.get("content")?)))
        }
        "function_call" | "custom_tool_call" => {
            let input = if text("input").is_empty() { text("arguments") } else { text("input") };
            Some((ASSISTANT, format!("[called {}] {input}", text("name"))))
        }
        "local_shell_call" => {
            let command = item.pointer("/action/command").map(Value::to_string);
            Some((ASSISTANT, format!("[called shell] {}", command.unwrap_or_default())))
        }
        "function_call_output" | "custom_tool_call_output" => {
            Some((USER, format!("[output] {}", content(item.get("output")?))))
        }
        "web_search_call" => {
            let query = item.pointer("/action/query").and_then(Value::as_str).unwrap_or_default();
            Some((ASSISTANT, format!("[searched the web] {query}")))
        }
        _ => None,
    }
}

/// Text of a string or of an array of parts; images are only mentioned.
fn content(content: &Value) -> String {
    let part = |part: &Value| match part.get("type").and_then(Value::as_str) {
        Some("input_image" | "image") => Some("[image]".to_owned()),
        _ => part.get("text").and_then(Value::as_str).map(str::to_owned),
    };
    match content {
        Value::String(words) => words.clone(),
        Value::Array(parts) => parts.iter().filter_map(part).collect::<Vec<_>>().join("\n"),
        Value::Object(fields) => match fields.get("content") {
            Some(Value::String(words)) => words.clone(),
            _ => content.to_string(),
        },
        _ => String::new(),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::model) fn raw(items: &[Value]) -> Vec<Box<RawValue>> {
        items.iter().map(|item| serde_json::value::to_raw_value(item).unwrap()).collect()
    }

    #[test]
    fn turns_alternate_and_begin_with_the_user() {
        let items = raw(&[
            serde_json::json!({"type":"message","role":"assistant","content":[{"type":"output_text","text":"hello"}]}),
            serde_json::json!({"type":"reasoning","encrypted_content":"x"}),
            serde_json::json!({"type":"function_call","name":"exec","arguments":"{\"cmd\":\"ls\"}","call_id":"c"}),
            serde_json::json!({"type":"function_call_output","call_id":"c","output":"a.rs"}),
            serde_json::json!({"type":"message","role":"user","content":[{"type":"input_text","text":"go"},{"type":"input_image","image_url":"data:…"}]}),
        ]);
        let turns = of(&items);
        let roles: Vec<_> = turns.iter().map(|turn| turn.role).collect();
        assert_eq!(roles, [USER, ASSISTANT, USER]);
        assert_eq!(turns[1].content, "hello\n\n[called exec] {\"cmd\":\"ls\"}");
        assert_eq!(turns[2].content, "[output] a.rs\n\ngo\n[image]");
    }

    #[test]
    fn every_kind_of_item_has_words() {
        use serde_json::json;
        let output =
            |content: Value| json!({"type":"function_call_output","call_id":"c","output":content});
        let text = |words: &str| json!({"type":"output_text","text":words});
        for (item, role, expected) in [
            (json!({"role":"user","content":"go"}), USER, "go"),
            (json!({"type":"message","role":"developer","content":[text("rules")]}), USER, "rules"),
            (
                json!({"type":"web_search_call","action":{"type":"search","query":"serde"}}),
                ASSISTANT,
                "[searched the web] serde",
            ),
            (
                json!({"type":"custom_tool_call","name":"patch","input":"x","call_id":"c"}),
                ASSISTANT,
                "[called patch] x",
            ),
            (
                json!({"type":"local_shell_call","action":{"command":["ls"]}}),
                ASSISTANT,
                "[called shell] [\"ls\"]",
            ),
            (output(json!("a.rs")), USER, "[output] a.rs"),
            (output(json!([text("a.rs"), text("b.rs")])), USER, "[output] a.rs\nb.rs"),
            (output(json!({"content":"a.rs","success":true})), USER, "[output] a.rs"),
            (output(json!({"files":2})), USER, "[output] {\"files\":2}"),
        ] {
            assert_eq!(text_of(&item), Some((role, expected.to_owned())), "{item}");
        }
    }
}
