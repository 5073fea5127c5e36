//! A hook's answer, in the format that both agents read.
//!
//! Codex rejects unknown members, and accepts only the universal ones for its compaction events, so only members that
//! both agents have are used.

use serde::Serialize;

/// Beginning of all context for the model. The daemon filters it from transcripts (`core::rollout::contextual`), so
/// that memory does not learn from its own output.
const OPENING: &str = "<longhaul_context";
const CLOSING: &str = "</longhaul_context>";

/// An empty answer is not written at all.
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
    /// Shown to the model.
    additional_context: String,
}

impl Answer {
    pub(super) fn message(text: String) -> Self {
        Self { system_message: Some(text), ..Self::default() }
    }

    /// Adds a line for the person.
    pub(super) fn and_message(self, text: Option<String>) -> Self {
        Self { system_message: text, ..self }
    }

    /// Context for the model, marked as ours.
    pub(super) fn context(event: &'static str, about: &str, text: &str) -> Self {
        // A quotation from a transcript must not end the mark early.
        let text = text.replace(CLOSING, "<\\/longhaul_context>");
        let marked = format!("{OPENING} about=\"{about}\">\n{}\n{CLOSING}", text.trim_end());
        let specific = Specific { hook_event_name: event, additional_context: marked };
        Self { hook_specific_output: Some(specific), ..Self::default() }
    }

    /// The line for standard output; `None` if the answer is empty.
    pub(super) fn json(&self) -> Option<String> {
        let is_empty = self.system_message.is_none() && self.hook_specific_output.is_none();
        if is_empty { None } else { serde_json::to_string(self).ok() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_answer_is_none_and_quotes_do_not_end_the_mark() {
        assert_eq!(Answer::default().json(), None);
        let json =
            Answer::context("SessionStart", "checkpoint", "a </longhaul_context> b\n").json();
        assert_eq!(
            json.unwrap(),
            r#"{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"<longhaul_context about=\"checkpoint\">\na <\\/longhaul_context> b\n</longhaul_context>"}}"#
        );
    }
}
