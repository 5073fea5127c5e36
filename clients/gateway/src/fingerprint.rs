//! Fingerprints that identify an item in a request and in a transcript.
//!
//! A compaction is answered only if the daemon has read the newest item that the agent sends. So the view is complete,
//! and the caller has shown that it knows the thread: an id alone is not enough to get a view.

use serde_json::value::RawValue;

use crate::request::InputItem;

/// Ids that pair a call with its output end on one side of these words.
const OUTPUT: &str = "_output";

/// An item as both sides record it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fingerprint {
    /// A call or an output, by its id.
    Call { id: String, is_output: bool },
    /// A message, by its words.
    Message { role: String, text: String },
}

impl Fingerprint {
    /// `None` for an item that transcripts may record differently, or not at all.
    pub(crate) fn of(raw: &RawValue) -> Option<Self> {
        let item = InputItem::of(raw);
        if let Some(id) = item.call_id {
            return Some(Self::Call { id, is_output: item.kind.ends_with(OUTPUT) });
        }
        let text = item.text();
        let is_message = matches!(item.role.as_str(), "user" | "assistant") && !text.is_empty();
        is_message.then_some(Self::Message { role: item.role, text })
    }

    /// Whether the daemon's index calls such an item `kind`.
    pub(crate) fn is_of_kind(&self, kind: &str) -> bool {
        match self {
            Self::Call { is_output: true, .. } => kind == "tool_output",
            Self::Call { is_output: false, .. } => kind == "tool_call",
            Self::Message { .. } => !matches!(kind, "tool_output" | "tool_call" | "reasoning"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<Fingerprint> {
        Fingerprint::of(&RawValue::from_string(text.to_owned()).unwrap())
    }

    #[test]
    fn a_call_is_not_its_output_and_a_message_is_its_words() {
        let call = of(r#"{"type":"function_call","call_id":"c1","name":"x","arguments":"{}"}"#);
        let output = of(r#"{"type":"function_call_output","call_id":"c1","output":"ok"}"#);
        assert!(call.is_some() && call != output);
        let sent =
            of(r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}"#);
        assert_eq!(sent, of(r#"{"role":"user","content":"hi","id":"msg_1"}"#));
        for none in
            [r#"{"type":"reasoning","content":null}"#, "7", r#"{"role":"developer","content":"x"}"#]
        {
            assert_eq!(of(none), None, "{none}");
        }
    }
}
