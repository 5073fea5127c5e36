//! Placeholders of the examples.

use serde_json::{Value, json};

/// Fills every placeholder with a value of its type, so that an example can be read as the types of this
/// crate, or served by a scripted daemon.
#[must_use]
pub fn sample(example: &Value) -> Value {
    substitute(example, &sample_of)
}

/// Replaces every placeholder by its value, and drops the `$REST` of a list.
pub fn substitute(example: &Value, value_of: &impl Fn(&str) -> Value) -> Value {
    if let Some(name) = placeholder(example) {
        return value_of(name);
    }
    match example {
        Value::Array(list) => {
            let shown = list.iter().filter(|element| element.as_str() != Some("$REST"));
            shown.map(|element| substitute(element, value_of)).collect()
        }
        Value::Object(fields) => {
            let filled = |(key, field): (&String, _)| (key.clone(), substitute(field, value_of));
            Value::Object(fields.iter().map(filled).collect())
        }
        plain => plain.clone(),
    }
}

/// The name of a placeholder (`$THREAD`), if the value is one.
#[must_use]
pub fn placeholder(value: &Value) -> Option<&str> {
    let text = value.as_str()?;
    let name = text.strip_prefix('$')?;
    let is_name = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
    (!name.is_empty() && name.bytes().all(is_name)).then_some(text)
}

/// A value of the type a placeholder stands for. A name that is not listed stands for a string.
fn sample_of(name: &str) -> Value {
    match name {
        "$ANY" => Value::Null,
        "$NUMBER" => json!(1),
        "$FRACTION" => json!(0.5),
        "$TIME" | "$UNDONE_AT" => json!(1_763_683_200_000_i64),
        "$BOOL" => json!(true),
        "$LIST" => json!([]),
        "$OBJECT" => json!({}),
        "$ITEM" => json!({
            "type": "message",
            "role": "user",
            "content": [{ "type": "input_text", "text": "Rename parse() to parse_line()." }],
        }),
        "$THREAD" => json!("01980000-0000-7000-8000-000000000001"),
        "$COMPACTION" => json!("01980000-0000-7000-8000-0000000000c1"),
        "$KIND" => json!("interactive"),
        "$CWD" => json!("/home/user/project"),
        "$OWN_THREAD" => json!("01980000-0000-8000-8000-0000000000a1"),
        "$OWN_PATH" => {
            json!("/home/user/.local/state/longhaul/threads/2025/11/21/rollout-sample.jsonl")
        }
        "$PATH" => json!("/home/user/.codex/sessions/2025/11/21/rollout-sample.jsonl"),
        other => json!(other.trim_start_matches('$').to_lowercase()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_no_placeholder_left() {
        let expected =
            json!({ "threads": [{ "thread_id": "$THREAD", "items": "$NUMBER" }, "$REST"] });
        let sample = sample(&expected);
        assert_eq!(sample["threads"].as_array().unwrap().len(), 1);
        assert!(!sample.to_string().contains('$'));
    }
}
