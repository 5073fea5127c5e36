//! Messages from one agent to another.
//!
//! A harness writes them as if the agent had sent them itself, as JSON in the only text of an answer. They
//! begin a turn as a person's request does: a rollback takes them back, and their content is the thread's
//! current request.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;

/// All five fields make the envelope; other JSON is an answer that happens to be JSON.
#[derive(Deserialize)]
#[expect(dead_code, reason = "their being there tells the envelope from other JSON")]
struct Envelope<'a> {
    #[serde(borrow)]
    content: Cow<'a, str>,
    author: IgnoredAny,
    recipient: IgnoredAny,
    other_recipients: Vec<IgnoredAny>,
    trigger_turn: bool,
}

/// The request of another agent; `None` for an agent's own message.
pub fn request(answer: &str) -> Option<Cow<'_, str>> {
    let is_object = answer.trim_start().starts_with('{');
    // Cheap check first: answers that are JSON can be long.
    if !is_object || !answer.contains(r#""trigger_turn""#) {
        return None;
    }
    serde_json::from_str::<Envelope<'_>>(answer).ok().map(|envelope| envelope.content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_complete_envelope_counts() {
        let envelope = r#" {"author":"/lead","recipient":"/lead/a","other_recipients":[],"content":"Fix \"it\"","trigger_turn":true}"#;
        assert_eq!(request(envelope).as_deref(), Some("Fix \"it\""));
        for own in [
            "",
            "done",
            r#"{"trigger_turn":true}"#,
            r#"{"author":"a","recipient":"b","content":"old style"}"#,
            &envelope.replace("[]", "null"),
            &envelope[..envelope.len() - 1],
        ] {
            assert_eq!(request(own), None, "{own}");
        }
    }
}
