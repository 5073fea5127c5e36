//! Detects the end of a phase with a model: the request and the parser.
//!
//! Off unless a policy enables it. An answer replaces the result of the phrase lists; without an answer the
//! lists apply.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::model::answer;
use crate::signal::Boundary;

/// What reads the agent's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reader {
    #[default]
    Phrases,
    /// The configured model; the phrase lists if it is unavailable.
    Model,
}

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

pub fn parse(answer: &str) -> Option<BTreeSet<Boundary>> {
    #[derive(Deserialize)]
    struct ModelReading {
        agent_done: bool,
        topic_shift: bool,
        concluding_thought: bool,
    }
    let answer: ModelReading = serde_json::from_str(answer::object(answer)).ok()?;
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

    #[test]
    fn an_answer_of_the_schema_is_parsed() {
        let schema = schema();
        let required: Vec<_> = schema["required"].as_array().unwrap().iter().collect();
        let answer = |keys: &[&Value]| {
            let flags = keys.iter().filter_map(|key| Some((key.as_str()?.to_owned(), json!(true))));
            parse(&Value::Object(flags.collect()).to_string())
        };
        assert_eq!(answer(&required).map(|signs| signs.len()), Some(required.len()));
        for missing in 0..required.len() {
            let mut keys = required.clone();
            assert_eq!(
                schema["properties"][keys.remove(missing).as_str().unwrap()]["type"],
                "boolean"
            );
            assert_eq!(answer(&keys), None, "{}", required[missing]);
        }
    }
}
