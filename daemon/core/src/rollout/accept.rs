//! Decides which items a client may append: those that our parsers understand.
//!
//! In a transcript of another program, an item that we do not understand is counted and skipped. A client that
//! sends one has made a mistake and gets an error while it can still correct it.

use serde_json::{Value, json};

/// Kinds with the fields they require besides `type`.
///
/// # Source
/// The Responses API, as in the rollouts of Codex; a kind without required fields is only listed.
const KINDS: &[(&str, &[(&str, Shape)])] = &[
    ("additional_tools", &[]),
    ("agent_message", &[]),
    ("compaction", &[("encrypted_content", Shape::Text)]),
    ("context_compaction", &[]),
    (
        "custom_tool_call",
        &[("call_id", Shape::Text), ("name", Shape::Text), ("input", Shape::Text)],
    ),
    ("custom_tool_call_output", &[("call_id", Shape::Text), ("output", Shape::TextOrList)]),
    (
        "function_call",
        &[("call_id", Shape::Text), ("name", Shape::Text), ("arguments", Shape::Text)],
    ),
    ("function_call_output", &[("call_id", Shape::Text), ("output", Shape::TextOrList)]),
    ("image_generation_call", &[]),
    ("local_shell_call", &[("action", Shape::Object)]),
    ("message", &[("role", Shape::Role), ("content", Shape::TextOrList)]),
    ("reasoning", &[]),
    ("tool_search_call", &[]),
    ("tool_search_output", &[]),
    ("web_search_call", &[]),
];

#[derive(Debug, Clone, Copy)]
enum Shape {
    Text,
    TextOrList,
    Object,
    Role,
}

/// Checks that an item may be appended. The error says why not, without any of its text: the item is not an
/// object, its `type` is missing or unknown, or a required field is missing or of another type.
pub fn check(item: &Value) -> Result<(), String> {
    let Some(fields) = item.as_object() else {
        return Err("an item is an object".to_owned());
    };
    let Some(kind) = fields.get("type").and_then(Value::as_str) else {
        return Err("an item has a `type`".to_owned());
    };
    let Some((kind, needed)) = KINDS.iter().find(|(known, _)| *known == kind) else {
        return Err(format!("no item has the `type` {:?}", crate::text::prefix(kind, 40)));
    };
    for (name, shape) in *needed {
        let fits = fields.get(*name).is_some_and(|value| shape.fits(value));
        if !fits {
            return Err(format!("a {kind} has `{name}`, {}", shape.words()));
        }
    }
    Ok(())
}

/// The item as transcripts have it: a message given as plain text gets one part.
#[must_use]
pub fn canonical(mut item: Value) -> Value {
    if item["type"] == "message"
        && let Some(text) = item["content"].as_str()
    {
        let part = if item["role"] == "assistant" { "output_text" } else { "input_text" };
        item["content"] = json!([{ "type": part, "text": text }]);
    }
    item
}

impl Shape {
    fn fits(self, value: &Value) -> bool {
        match self {
            Self::Text => value.is_string(),
            Self::TextOrList => value.is_string() || value.is_array(),
            Self::Object => value.is_object(),
            Self::Role => {
                matches!(value.as_str(), Some("user" | "assistant" | "developer" | "system"))
            }
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Text => "a string",
            Self::TextOrList => "a string or a list of parts",
            Self::Object => "an object",
            Self::Role => "one of user, assistant, developer, system",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_that_parsers_understand_are_accepted() {
        for item in [
            json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "x" }] }),
            json!({ "type": "message", "role": "assistant", "content": "x", "phase": "final_answer" }),
            json!({ "type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c1" }),
            json!({ "type": "function_call_output", "call_id": "c1", "output": "ok" }),
            json!({ "type": "reasoning", "summary": [] }),
            json!({ "type": "web_search_call" }),
        ] {
            assert_eq!(check(&item), Ok(()), "{item}");
            let line = super::super::compose::line(0, "response_item", &item, Some("a"));
            super::super::codex::read(line.trim_end().as_bytes(), &mut |entry| {
                assert!(matches!(entry.body, super::super::Body::Item(..)), "{line}");
            });
        }
    }

    #[test]
    fn plain_text_of_a_message_becomes_a_part() {
        let message = |role: &str, content: Value| json!({ "type": "message", "role": role, "content": content });
        for (role, part) in [("user", "input_text"), ("assistant", "output_text")] {
            let parts = json!([{ "type": part, "text": "x" }]);
            assert_eq!(canonical(message(role, json!("x"))), message(role, parts.clone()));
            assert_eq!(canonical(message(role, parts.clone())), message(role, parts));
        }
        let output = json!({ "type": "function_call_output", "call_id": "c", "output": "x" });
        assert_eq!(canonical(output.clone()), output);
    }

    #[test]
    fn invalid_items_are_rejected_with_a_reason() {
        for (item, named) in [
            (json!("text"), "object"),
            (json!({ "role": "user" }), "`type`"),
            (json!({ "type": "mesage" }), "mesage"),
            (json!({ "type": "message", "role": "robot", "content": [] }), "`role`"),
            (json!({ "type": "message", "role": "user" }), "`content`"),
            (
                json!({ "type": "function_call", "name": "x", "call_id": "c", "arguments": {} }),
                "`arguments`",
            ),
            (json!({ "type": "function_call_output", "call_id": "c", "output": 3 }), "`output`"),
        ] {
            assert!(check(&item).unwrap_err().contains(named), "{item}");
        }
    }
}
