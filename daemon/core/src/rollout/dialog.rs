//! The person's answers in a dialog that the harness showed for a tool: choices, and the reason for declining a
//! call.
//!
//! These are in the answer of a call, not in a message of the person. The formats are those of Claude Code and
//! Codex.

use std::borrow::Cow;

use serde::Deserialize;

/// Tools that ask the person.
const ASKING: [&str; 2] = ["AskUserQuestion", "request_user_input"];

/// Prefix of the answer to a call that the person declined, after the words that mark a failure.
const DECLINED: &str = "execution error: The user doesn't want to proceed with this tool use.";

/// The text before the person's reason.
const REASON: &str = "the user said:\n";

/// The text after it.
const NOTE: &str = "\n\nNote: ";

/// What Claude Code writes as the reason of a person who wants to talk about the questions first, and what precedes the
/// questions.
const CLARIFIES: &str = "The user wants to clarify these questions.";
const QUESTIONS: &str = "Questions asked:\n";

/// A question and its answer. The question may be an id.
#[derive(Debug, PartialEq, Eq)]
pub struct Reply {
    pub question: String,
    pub answer: String,
}

pub fn asks(tool: &str) -> bool {
    ASKING.contains(&tool)
}

/// The choices in the answer of the tool `tool`; none if the tool does not ask, or the format is unknown.
pub fn choices(tool: &str, answer: &str) -> Vec<Reply> {
    if !asks(tool) {
        return Vec::new();
    }
    match serde_json::from_str::<Answers>(answer) {
        Ok(answers) => {
            let reply = |(question, chosen): (_, ReplyWords)| {
                let answer = chosen.answers.join("; ");
                Reply { question, answer }
            };
            answers.answers.into_iter().map(reply).collect()
        }
        Err(_) => quoted_pairs(answer),
    }
}

/// The person's reason for declining a call. `answer` is the answer of a refused call.
pub fn declined(answer: &str) -> Option<Cow<'_, str>> {
    let (_, words) = answer.strip_prefix(DECLINED)?.split_once(REASON)?;
    let words = words.rsplit_once(NOTE).map_or(words, |(words, _)| words).trim();
    match words.split_once(QUESTIONS).filter(|_| words.starts_with(CLARIFIES)) {
        Some((_, questions)) => Some(Cow::Owned(format!("wants to clarify first: {questions}"))),
        None => (!words.is_empty()).then_some(Cow::Borrowed(words)),
    }
}

#[derive(Deserialize)]
struct Answers {
    answers: std::collections::BTreeMap<String, ReplyWords>,
}

#[derive(Deserialize)]
struct ReplyWords {
    answers: Vec<String>,
}

/// `… "question"="answer" …, "question"="answer". …`
fn quoted_pairs(text: &str) -> Vec<Reply> {
    let mut pairs = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\"=\"") {
        let Some((answer, more)) = after.split_once('"') else { break };
        let question = before.rsplit_once('"').map_or(before, |(_, question)| question);
        pairs.push(Reply { question: question.to_owned(), answer: answer.to_owned() });
        rest = more;
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_read_in_both_forms() {
        let pair = |question: &str, answer: &str| Reply {
            question: question.to_owned(),
            answer: answer.to_owned(),
        };
        let text = "Your questions have been answered: \"Which store?\"=\"SQLite\" selected preview:\na \"b\", \"Where?\"=\"In core\". You can now continue.";
        assert_eq!(
            choices("AskUserQuestion", text),
            [pair("Which store?", "SQLite"), pair("Where?", "In core")]
        );
        let json = r#"{"answers":{"store":{"answers":["SQLite","user_note: only one file"]}}}"#;
        let expected = [pair("store", "SQLite; user_note: only one file")];
        assert_eq!(choices("request_user_input", json), expected);
        assert_eq!(choices("Bash", text), [], "a command's output is no choice of a person");
        assert_eq!(choices("AskUserQuestion", "no answer"), []);
    }

    #[test]
    fn the_reason_for_declining_a_call_is_parsed() {
        let text = "execution error: The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you how to proceed, the user said:\nkeep the old name\n\nNote: the next message";
        assert_eq!(declined(text).as_deref(), Some("keep the old name"));
        let clarifies = text.replace(
            "keep the old name",
            "The user wants to clarify these questions.\n    Start by asking.\n\n    Questions asked:\n- \"Which?\"\n  (No answer provided)",
        );
        let clarified = "wants to clarify first: - \"Which?\"\n  (No answer provided)";
        assert_eq!(declined(&clarifies).as_deref(), Some(clarified));
        assert_eq!(declined("execution error: no such file. the user said:\nx"), None);
        assert_eq!(declined(text.split(" To").next().unwrap()), None);
    }
}
