//! Redacts the strings in a JSON value.

use serde_json::Value;

use super::rule::RULES;
use super::{MARKER, redact};

/// Fields with opaque payloads, which redaction would only damage.
const OPAQUE: [&str; 3] = ["encrypted_content", "image_url", "result"];

/// Replaces every secret in the strings of `value`, including those that only their field's name reveals, and
/// returns their number. Field names and other values are kept.
pub fn redact_value(value: &mut Value) -> u32 {
    match value {
        Value::String(text) => {
            let redacted = redact(text);
            let hits = redacted.hits;
            if hits > 0 {
                *text = redacted.text.into_owned();
            }
            hits
        }
        Value::Array(items) => items.iter_mut().map(redact_value).sum(),
        Value::Object(fields) => fields
            .iter_mut()
            .filter(|(name, _)| !OPAQUE.contains(&name.as_str()))
            .map(|(name, value)| redact_value(value) + redact_named(name, value))
            .sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// Replaces a value that is a secret because of its name: `{"api_key": "correct horse"}`.
fn redact_named(name: &str, value: &mut Value) -> u32 {
    let Value::String(text) = value else { return 0 };
    if text.len() > 4_096 || text == MARKER {
        return 0;
    }
    // Rejects nearly every name.
    if RULES.next_hit(format!("{name}=\"{name}\":").as_bytes(), 0).is_none() {
        return 0;
    }
    let is_secret = |pair: &str| redact(pair).hits > 0;
    // Unquoted, a value ends at the first space.
    let member = || is_secret(&format!("\"{name}\":\"{text}\""));
    if is_secret(&format!("{name}={text}")) || member() {
        MARKER.clone_into(text);
        return 1;
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn strings_are_redacted_at_any_depth_and_by_name() {
        let key = ["sk-", "ant-", "api03-", &"a1B2".repeat(24)].concat();
        let mut item = json!({
            "type": "function_call",
            "arguments": format!("export TOKEN={key}"),
            "nested": [{ "password": "correct4Horse9battery", "count": 3 }],
            "call_id": "call_abc123",
        });
        assert!(redact_value(&mut item) >= 2);
        let text = item.to_string();
        assert!(!text.contains(&key) && !text.contains("correct4Horse9battery"), "{text}");
        assert_eq!(item["call_id"], "call_abc123");
        assert_eq!(redact_value(&mut item), 0, "idempotent");
        let mut words = json!({ "db_password": "open sesame", "password": "is required" });
        assert_eq!(redact_value(&mut words), 1);
        assert_eq!(words, json!({ "db_password": MARKER, "password": "is required" }));
    }
}
