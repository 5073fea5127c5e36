//! Redacts the strings in a JSON value.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::opaque::is_opaque;
use super::rule::RULES;
use super::{MARKER, list, pair, redact};

/// Minimum bytes of a field's name to be read for secrets: shorter ones are the names of fields.
const NAME_BYTES_MIN: usize = 12;

/// Replaces every secret in `value`: in strings, in names of fields, and values that only their field's name reveals.
/// Returns their number. Images and encrypted payloads are kept, whatever field they are in.
pub fn redact_value(value: &mut Value) -> u32 {
    match value {
        Value::String(text) if is_opaque(text) => 0,
        Value::String(text) => {
            let redacted = redact(text);
            let hits = redacted.hits;
            if hits > 0 {
                *text = redacted.text.into_owned();
            }
            hits
        }
        Value::Array(items) => items.iter_mut().map(redact_value).sum(),
        Value::Object(fields) => {
            let values = fields.iter_mut();
            let hits: u32 =
                values.map(|(name, value)| redact_value(value) + redact_named(name, value)).sum();
            hits + redact_pair(fields) + redact_names(fields)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// Replaces secrets in the names of fields: `{"ghp_…": 1}`. A number tells apart names that became the same.
fn redact_names(fields: &mut Map<String, Value>) -> u32 {
    let hits_of = |name: &String| if name.len() < NAME_BYTES_MIN { 0 } else { redact(name).hits };
    let hits = fields.keys().map(hits_of).sum();
    if hits > 0 {
        // There may be very many of one name.
        let mut numbers: HashMap<String, u32> = HashMap::new();
        for (name, value) in std::mem::take(fields) {
            let clean = redact(&name).text.into_owned();
            let number = numbers.entry(clean.clone()).or_default();
            let mut unique = clean.clone();
            loop {
                *number += 1;
                if *number > 1 {
                    unique = format!("{clean} {number}");
                }
                if !fields.contains_key(&unique) {
                    break;
                }
            }
            fields.insert(unique, value);
        }
    }
    hits
}

/// Replaces a value whose name is in another field: `{"name": "API_KEY", "value": "correct horse"}`.
fn redact_pair(fields: &mut Map<String, Value>) -> u32 {
    let is_name =
        |name: &&str| name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b));
    let name = pair::NAMES.iter().find_map(|label| fields.get(*label)?.as_str());
    let Some(name) = name.filter(is_name).map(str::to_owned) else { return 0 };
    let values = pair::VALUES.iter();
    values.map(|label| fields.get_mut(*label).map_or(0, |value| redact_named(&name, value))).sum()
}

/// Replaces a value that is a secret because of its name: `{"api_key": "correct horse"}`, also one in a list.
fn redact_named(name: &str, value: &mut Value) -> u32 {
    match value {
        // Rejects nearly every name.
        Value::String(_) | Value::Array(_) if !may_name_secret(name) => 0,
        Value::String(text) => redact_string(name, text),
        Value::Array(items) => {
            let Some((strength, is_plural)) = list::strength(name.as_bytes()) else { return 0 };
            let strings = items.iter_mut().filter_map(|item| match item {
                Value::String(text) => Some(text),
                _ => None,
            });
            let secrets =
                strings.filter(|text| list::is_secret(text.as_bytes(), strength, is_plural));
            secrets.map(|text| MARKER.clone_into(text)).count().try_into().unwrap_or(u32::MAX)
        }
        _ => 0,
    }
}

fn may_name_secret(name: &str) -> bool {
    RULES.next_hit(format!("{name}=\"{name}\":").as_bytes(), 0).is_some()
}

fn redact_string(name: &str, text: &mut String) -> u32 {
    if text.len() > 4_096 || text == MARKER {
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

    /// Invented, and assembled here so that no scanner reports this file as a leak.
    fn token(number: u32) -> String {
        ["gh", "p_", &format!("{number}a1B2c3D4").repeat(4)].concat()
    }

    #[test]
    fn no_field_is_left_out_because_of_its_name() {
        let (password, token) = ("S3cretPassw0rd", token(1));
        let mut item = json!({
            "result": [{ "functionResponse": { "response": { "output": token } } }],
            "image_url": format!("https://u:{password}@host.example/x.png"),
            "more": { "result": { "result": token }, "encrypted_content": token },
        });
        assert_eq!(redact_value(&mut item), 4);
        let text = item.to_string();
        assert!(!text.contains(&token) && !text.contains(password), "{text}");
    }

    #[test]
    fn secrets_in_names_of_fields_are_replaced_and_no_field_is_lost() {
        let (one, two) = (token(1), token(2));
        let mut item = json!({ "meta": { one: 1, two: 2, "an_ordinary_token_name": 3 } });
        assert_eq!(redact_value(&mut item), 2);
        let second = format!("{MARKER} 2");
        let expected = json!({ "meta": { MARKER: 1, second: 2, "an_ordinary_token_name": 3 } });
        assert_eq!(item, expected);
        assert_eq!(redact_value(&mut item), 0, "idempotent");
    }

    #[test]
    fn very_many_names_that_become_one_are_told_apart_in_linear_time() {
        let fields = (0..20_000).map(|number| (token(number), Value::from(number)));
        let mut item = Value::Object(fields.collect());
        assert_eq!(redact_value(&mut item), 20_000);
        assert_eq!(item.as_object().map(Map::len), Some(20_000));
    }
}
