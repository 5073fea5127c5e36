//! A model's yes or no with a reason: the request and the parser.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Tier;
use crate::model::answer;
use crate::template::Kind;
use crate::text;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgment {
    pub should_compact: bool,
    pub reason: String,
}

const REASON_BYTES: usize = 400;

pub fn schema() -> Value {
    json!({
        "type": "object",
        "properties": { "should_compact": {"type": "boolean"}, "reason": {"type": "string"} },
        "required": ["should_compact", "reason"],
        "additionalProperties": false,
    })
}

pub fn parse(answer: &str) -> Option<Judgment> {
    let judgment: Judgment = serde_json::from_str(answer::object(answer)).ok()?;
    let reason =
        crate::redact::redact(text::prefix(&judgment.reason, REASON_BYTES)).text.into_owned();
    Some(Judgment { reason, ..judgment })
}

/// The instructions for a judge of that tier.
pub fn text_of(tier: Tier) -> Kind {
    match tier {
        Tier::Early => Kind::JudgmentEarly,
        Tier::Ready => Kind::JudgmentReady,
        Tier::Asap => Kind::JudgmentAsap,
        // An emergency needs no judgment.
        Tier::Emergency => Kind::Judgment,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_parsed_bare_fenced_and_inside_text() {
        for answer in [
            r#"{"should_compact":true,"reason":"phase over"}"#,
            "```json\n{\"should_compact\":true,\"reason\":\"phase over\"}\n```",
            "I think {\"should_compact\": true, \"reason\": \"phase over\"} fits.",
        ] {
            let expected = Judgment { should_compact: true, reason: "phase over".into() };
            assert_eq!(parse(answer), Some(expected), "{answer}");
        }
        for answer in ["", "yes", "{}", r#"{"should_compact":"yes","reason":""}"#, "} {"] {
            assert_eq!(parse(answer), None, "{answer}");
        }
    }

    #[test]
    fn an_answer_of_the_schema_is_parsed() {
        let schema = schema();
        let required: Vec<_> = schema["required"].as_array().unwrap().iter().collect();
        let answer = |keys: &[&Value]| {
            let value = |key: &Value| match schema["properties"][key.as_str()?]["type"].as_str()? {
                "boolean" => Some((key.as_str()?.to_owned(), json!(true))),
                _ => Some((key.as_str()?.to_owned(), json!("phase over"))),
            };
            let fields: serde_json::Map<_, _> = keys.iter().filter_map(|key| value(key)).collect();
            parse(&Value::Object(fields).to_string())
        };
        let expected = Judgment { should_compact: true, reason: "phase over".into() };
        assert_eq!(answer(&required), Some(expected));
        for missing in 0..required.len() {
            let mut keys = required.clone();
            keys.remove(missing);
            assert_eq!(answer(&keys), None, "{}", required[missing]);
        }
    }
}
