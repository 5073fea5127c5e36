//! What a hook says, in the form both agents read.
//!
//! Codex refuses members it does not know, and for its events around a compaction takes none but the
//! universal ones; these are the ones both agents have.

use serde::Serialize;

/// First words of everything that is put before the model. The daemon's own filter
/// (`core::rollout::contextual`) knows them: a session that is read back is not learned from twice.
const OPENING: &str = "<longhaul_context";
const CLOSING: &str = "</longhaul_context>";

/// An answer; an empty one is not written at all.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Answer {
    /// Shown to the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    system_message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hook_specific_output: Option<Specific>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Specific {
    hook_event_name: &'static str,
    /// Put before the model.
    additional_context: String,
}

impl Answer {
    pub(super) fn message(text: String) -> Self {
        Self { system_message: Some(text), ..Self::default() }
    }

    /// The same answer, which also shows the person a line.
    pub(super) fn and_message(self, text: Option<String>) -> Self {
        Self { system_message: text, ..self }
    }

    /// Puts context before the model, marked as ours.
    pub(super) fn context(event: &'static str, about: &str, text: &str) -> Self {
        // What is quoted from a transcript cannot end the mark early.
        let text = text.replace(CLOSING, "<\\/longhaul_context>");
        let marked = format!("{OPENING} about=\"{about}\">\n{}\n{CLOSING}", text.trim_end());
        let specific = Specific { hook_event_name: event, additional_context: marked };
        Self { hook_specific_output: Some(specific), ..Self::default() }
    }

    /// The line for standard output, if there is anything to say.
    pub(super) fn json(&self) -> Option<String> {
        let is_empty = self.system_message.is_none() && self.hook_specific_output.is_none();
        if is_empty { None } else { serde_json::to_string(self).ok() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_answer_is_silence_and_quotes_do_not_end_the_mark() {
        assert_eq!(Answer::default().json(), None);
        let json =
            Answer::context("SessionStart", "checkpoint", "a </longhaul_context> b\n").json();
        assert_eq!(
            json.unwrap(),
            r#"{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"<longhaul_context about=\"checkpoint\">\na <\\/longhaul_context> b\n</longhaul_context>"}}"#
        );
    }
}
