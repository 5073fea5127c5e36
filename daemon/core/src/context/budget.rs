//! Limits on how much tool output enters the history.

use serde_json::Value;

use super::truncate::{
    Policy, Truncation, merge_parts, truncate, truncate_formatted, truncate_parts,
};

/// Token limit for a tool's output unless the model or the user sets one. Matches Codex.
pub const TOOL_OUTPUT_TOKENS: u64 = 10_000;

/// Byte limit for a tool's output shown to a model: 10 KiB plus 10 % headroom at recording.
pub const MODEL_FORMAT_BYTES: u64 = 10 * 1_024 * 11 / 10;

/// Line limit for the same: 256 plus 10 % headroom.
pub const MODEL_FORMAT_LINES: u64 = 256 * 11 / 10;

/// Returns the named policy, or `None` if there is no such name.
///
/// - `tool_output`: [`TOOL_OUTPUT_TOKENS`];
/// - `model_format`: [`MODEL_FORMAT_BYTES`] and [`MODEL_FORMAT_LINES`].
pub fn policy_by_name(name: &str) -> Option<Policy> {
    match name {
        "tool_output" => Some(Policy::Tokens(TOOL_OUTPUT_TOKENS)),
        "model_format" => {
            Some(Policy::LinesAndBytes { lines: MODEL_FORMAT_LINES, bytes: MODEL_FORMAT_BYTES })
        }
        _ => None,
    }
}

/// Names accepted by [`policy_by_name`].
pub const NAMES: [&str; 2] = ["tool_output", "model_format"];

/// The budget when recording an output: a fifth more, rounded up, so that the headers around output the
/// tool already cut to the plain budget do not cause a second cut.
pub fn at_record(policy: Policy) -> Policy {
    let more = |limit: u64| limit.saturating_add(limit.div_ceil(5));
    match policy {
        Policy::Tokens(limit) => Policy::Tokens(more(limit)),
        Policy::Bytes(limit) => Policy::Bytes(more(limit)),
        Policy::Lines(limit) => Policy::Lines(more(limit)),
        // Already includes headroom.
        Policy::LinesAndBytes { .. } => policy,
    }
}

/// How an oversized output is presented after the cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Each part is cut in place.
    Plain,
    /// One text that starts with its line count, followed by images, as for commands and tool servers
    /// ([`merge_parts`]).
    Formatted,
}

impl Form {
    /// Cuts a text that is the only part.
    pub fn cut(self, text: &str, policy: Policy) -> Truncation {
        match self {
            Self::Plain => truncate(text, policy),
            Self::Formatted => truncate_formatted(text, policy),
        }
    }
}

/// Cuts an item at recording. Only outputs of functions and custom tools are cut; messages, call
/// arguments and tool search results stay whole. Returns how much was removed, 0 if nothing.
pub fn record(item: &mut Value, policy: Policy, form: Form) -> u64 {
    let is_output = matches!(
        item.get("type").and_then(Value::as_str),
        Some("function_call_output" | "custom_tool_call_output")
    );
    if !is_output {
        return 0;
    }
    let policy = at_record(policy);
    match item.get_mut("output") {
        Some(Value::String(text)) => shorten(text, policy, form),
        Some(Value::Array(parts)) => match form {
            Form::Plain => truncate_parts(parts, policy),
            Form::Formatted => merge_parts(parts, policy),
        },
        // Early versions wrapped the text.
        Some(Value::Object(wrapped)) => match wrapped.get_mut("content") {
            Some(Value::String(text)) => shorten(text, policy, form),
            _ => 0,
        },
        _ => 0,
    }
}

fn shorten(text: &mut String, policy: Policy, form: Form) -> u64 {
    let cut = form.cut(text, policy);
    *text = cut.text;
    cut.removed
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_model_format_limits_are_11264_bytes_and_281_lines() {
        assert_eq!((MODEL_FORMAT_BYTES, MODEL_FORMAT_LINES), (11_264, 281));
        let policy = policy_by_name("model_format").unwrap();
        let cut = truncate(&"line\n".repeat(300), policy);
        assert_eq!(cut.removed, 19);
        assert!(cut.text.contains("…19 lines truncated…\n"));
        let cut = truncate(&"x".repeat(20_000), policy);
        assert!(cut.text.contains("…8736 chars truncated…"));
        assert!(NAMES.into_iter().all(|name| policy_by_name(name).is_some()));
        assert_eq!(policy_by_name("other"), None);
    }

    #[test]
    fn an_output_is_recorded_with_a_fifth_of_head_room_and_cut_only_once() {
        assert_eq!(at_record(Policy::Tokens(10_000)), Policy::Tokens(12_000));
        assert_eq!(at_record(Policy::Bytes(7)), Policy::Bytes(9));
        let policy = policy_by_name("tool_output").unwrap();
        let by_the_tool = truncate_formatted(&"x".repeat(60_000), policy);
        let text = format!("Exit code: 0\nWall time: 1 seconds\nOutput:\n{}", by_the_tool.text);
        let mut item = json!({ "type": "function_call_output", "call_id": "c", "output": text });
        let before = item.clone();
        assert_eq!((record(&mut item, policy, Form::Plain), item), (0, before));
    }

    #[test]
    fn outputs_are_cut_and_everything_else_stays_whole() {
        let long = "x".repeat(200);
        let policy = Policy::Bytes(10);
        for mut item in [
            json!({ "type": "message", "role": "user", "content": long }),
            json!({ "type": "function_call", "call_id": "c", "arguments": long }),
            json!({ "type": "tool_search_output", "call_id": "c", "output": long }),
        ] {
            let before = item.clone();
            assert_eq!((record(&mut item, policy, Form::Plain), item), (0, before));
        }
        for kind in ["function_call_output", "custom_tool_call_output"] {
            let mut item = json!({ "type": kind, "call_id": "c", "output": long });
            assert_eq!(record(&mut item, policy, Form::Plain), 188, "{kind}");
            assert!(item["output"].as_str().unwrap().contains("…188 chars truncated…"));
            let wrapped = json!({ "content": long, "success": true });
            let mut item = json!({ "type": kind, "call_id": "c", "output": wrapped });
            assert_eq!(record(&mut item, policy, Form::Plain), 188, "{kind} of an early version");
            let text = item["output"]["content"].as_str().unwrap();
            assert!(text.contains("…188 chars truncated…"), "{text}");
            assert_eq!(item["output"]["success"], true);
        }
    }

    #[test]
    fn images_of_an_output_are_kept_intact() {
        let image = json!({ "type": "input_image", "image_url": "data:image/png;base64,AAAA" });
        let mut item =
            json!({ "type": "function_call_output", "call_id": "c", "output": [image, image] });
        let before = item.clone();
        for form in [Form::Plain, Form::Formatted] {
            assert_eq!((record(&mut item, Policy::Tokens(1), form), &item), (0, &before));
        }
    }

    #[test]
    fn a_formatted_output_is_one_text_that_begins_with_its_lines() {
        let text = |words: &str| json!({ "type": "input_text", "text": words });
        let content = json!([text("0123456789"), text("abcdefghij")]);
        let mut item = json!({ "type": "function_call_output", "call_id": "c", "output": content });
        assert_eq!(record(&mut item, Policy::Bytes(5), Form::Formatted), 15);
        let expected = "Total output lines: 2\n\n012…15 chars truncated…hij";
        assert_eq!(item["output"], json!([text(expected)]));
    }
}
