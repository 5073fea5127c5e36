//! The end of a phase, read from the agent's last words by a model: what is asked and how it is read.
//!
//! Off unless a policy says so. An answer stands in the place of what the phrase lists would have said;
//! where none can be had, the lists count: a model that is away takes nothing from anyone.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::signal::Boundary;

/// Who reads the agent's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reader {
    /// The phrase lists.
    #[default]
    Phrases,
    /// The configured model; the phrase lists where it cannot be asked.
    Model,
}

/// The shape a model's answer must have.
#[must_use]
pub fn schema() -> Value {
    let flag = || json!({ "type": "boolean" });
    json!({
        "type": "object",
        "properties": {
            "agent_done": flag(), "topic_shift": flag(), "concluding_thought": flag(),
        },
        "required": ["agent_done", "topic_shift", "concluding_thought"],
        "additionalProperties": false,
    })
}

/// Reads an answer: as JSON, else what stands between the first `{` and the last `}`.
#[must_use]
pub fn parse(answer: &str) -> Option<BTreeSet<Boundary>> {
    #[derive(Deserialize)]
    struct Answer {
        agent_done: bool,
        topic_shift: bool,
        concluding_thought: bool,
    }
    let (from, to) = (answer.find('{')?, answer.rfind('}')?);
    let answer: Answer = serde_json::from_str(answer.get(from..=to)?).ok()?;
    let signs = [
        (answer.agent_done, Boundary::AgentDone),
        (answer.topic_shift, Boundary::TopicShift),
        (answer.concluding_thought, Boundary::ConcludingThought),
    ];
    Some(signs.into_iter().filter(|(is_there, _)| *is_there).map(|(_, sign)| sign).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_all_three_signs_or_none() {
        let whole = r#"{"agent_done":true,"topic_shift":false,"concluding_thought":true}"#;
        let both = [Boundary::AgentDone, Boundary::ConcludingThought].into();
        assert_eq!(parse(whole), Some(both));
        assert_eq!(parse(&format!("```json\n{whole}\n```")).map(|signs| signs.len()), Some(2));
        for answer in ["", "done", "} {", r#"{"agent_done":true}"#] {
            assert_eq!(parse(answer), None, "{answer}");
        }
    }
}
