//! A yes or no with its reason, asked outside of the transcript: what is asked and how it is read.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Tier;
use crate::template::Kind;
use crate::text;

/// A judgment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgment {
    /// Whether to compact.
    pub should_compact: bool,
    /// Why, in one sentence.
    pub reason: String,
}

/// Bytes of a reason that are kept.
const REASON_BYTES: usize = 400;

/// The shape a model's answer must have.
#[must_use]
pub fn schema() -> Value {
    json!({
        "type": "object",
        "properties": { "should_compact": {"type": "boolean"}, "reason": {"type": "string"} },
        "required": ["should_compact", "reason"],
        "additionalProperties": false,
    })
}

/// Reads an answer: as JSON, else what stands between the first `{` and the last `}`.
#[must_use]
pub fn parse(answer: &str) -> Option<Judgment> {
    let whole = serde_json::from_str::<Judgment>(answer.trim()).ok();
    let judgment = whole.or_else(|| {
        let (from, to) = (answer.find('{')?, answer.rfind('}')?);
        serde_json::from_str(answer.get(from..=to)?).ok()
    })?;
    let reason =
        crate::redact::redact(text::prefix(&judgment.reason, REASON_BYTES)).text.into_owned();
    Some(Judgment { reason, ..judgment })
}

/// What a judge of that tier is told to be.
#[must_use]
pub fn text_of(tier: Tier) -> Kind {
    match tier {
        Tier::Early => Kind::JudgmentEarly,
        Tier::Ready => Kind::JudgmentReady,
        Tier::Asap => Kind::JudgmentAsap,
        // Nobody is asked in an emergency.
        Tier::Emergency => Kind::Judgment,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_bare_fenced_and_within_words() {
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
}
