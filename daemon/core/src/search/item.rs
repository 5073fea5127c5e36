//! The searchable text of an item: redacted, bounded for each kind.
//!
//! Reasoning is encrypted and images have no text, so neither is searchable. Call arguments are indexed by their
//! string values, so that an escaped line break separates words.

use std::borrow::Cow;

use serde_json::Value;

use crate::digest::Digest128;
use crate::item::ItemKind;
use crate::rollout::{self, Body, Entry, Item, contextual, tool};
use crate::thread::Source;
use crate::{limits, redact, text};

/// The searchable part of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchableItem {
    /// Timestamp in Unix milliseconds, if present.
    pub at_ms: Option<i64>,
    /// Text, redacted and bounded; may be empty.
    pub text: String,
}

impl SearchableItem {
    /// Identifies copies of the text in forks and replays.
    pub fn digest(&self) -> i64 {
        let digest = Digest128::of(self.text.as_bytes()).0 >> 64;
        u64::try_from(digest).unwrap_or_default().cast_signed()
    }
}

/// Reads the item on a line of the given `kind`; `None` if nothing is searchable.
pub fn read(source: Source, kind: ItemKind, line: &[u8]) -> Option<SearchableItem> {
    if matches!(kind, ItemKind::Reasoning | ItemKind::Oversized) {
        return None;
    }
    let mut found = None;
    rollout::read(source, line, false, &mut |entry| {
        found = found.take().or_else(|| searchable(kind, &entry));
    });
    found
}

/// Timestamp of a line in Unix milliseconds, if present.
pub fn at_ms(source: Source, line: &[u8]) -> Option<i64> {
    let mut at_ms = None;
    rollout::read(source, line, false, &mut |entry| at_ms = at_ms.or(entry.at_ms));
    at_ms
}

fn searchable(kind: ItemKind, entry: &Entry<'_>) -> Option<SearchableItem> {
    let words: Cow<'_, str> = match &entry.body {
        Body::Item(
            Item::Message { text, .. } | Item::Output { text, .. } | Item::Other { text },
            _,
        ) => Cow::Borrowed(text),
        Body::Item(Item::Call(call), _) => Cow::Owned(call_words(call)),
        Body::Compacted(compacted) => Cow::Borrowed(&compacted.message),
        _ => return None,
    };
    // Our own text says nothing about the thread and would outrank the text it repeats.
    let words = match kind {
        ItemKind::AssistantMessage | ItemKind::ToolCall => words,
        _ => Cow::Owned(contextual::without_ours(&words).into_owned()),
    };
    let text = bounded(kind, &words);
    (!text.trim().is_empty()).then_some(SearchableItem { at_ms: entry.at_ms, text })
}

/// Redacts a margin beyond the bound, then cuts.
fn bounded(kind: ItemKind, words: &str) -> String {
    let bytes = match kind {
        ItemKind::ToolOutput => return ends(words),
        ItemKind::ToolCall | ItemKind::Other => limits::SEARCHED_CALL_BYTES,
        ItemKind::Context => limits::SEARCHED_CONTEXT_BYTES,
        _ => limits::SEARCHED_MESSAGE_BYTES,
    };
    let window = text::prefix(words, bytes + limits::SEARCHED_MARGIN_BYTES);
    let redacted = redact::redact(window).text;
    text::prefix(&redacted, bytes).to_owned()
}

/// The beginning and the end of an output.
fn ends(words: &str) -> String {
    let (all, margin) = (limits::SEARCHED_OUTPUT_BYTES, limits::SEARCHED_MARGIN_BYTES);
    if words.len() <= all + 2 * margin {
        return text::prefix(&redact::redact(words).text, all + 2 * margin).to_owned();
    }
    let (head, tail) = (all * 2 / 3, all / 3);
    let first = redact::redact(text::prefix(words, head + margin)).text;
    let last = redact::redact(text::suffix(words, tail + margin)).text;
    format!("{}\n{}\n{}", text::prefix(&first, head), text::ELLIPSIS, text::suffix(&last, tail))
}

/// The tool's name and the strings of its arguments.
fn call_words(call: &tool::Call<'_>) -> String {
    let mut words = call.name.to_string();
    match serde_json::from_str::<Value>(&call.arguments) {
        Ok(value) => strings(&value, &mut words),
        Err(_) => {
            words.push('\n');
            words.push_str(&call.arguments);
        }
    }
    words
}

fn strings(value: &Value, out: &mut String) {
    if out.len() > limits::SEARCHED_CALL_BYTES + limits::SEARCHED_MARGIN_BYTES {
        return;
    }
    match value {
        Value::String(text) => {
            out.push('\n');
            out.push_str(text);
        }
        Value::Array(values) => values.iter().for_each(|value| strings(value, out)),
        Value::Object(fields) => fields.values().for_each(|value| strings(value, out)),
        Value::Number(number) => {
            out.push('\n');
            out.push_str(&number.to_string());
        }
        Value::Null | Value::Bool(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(payload: &str) -> String {
        format!(
            r#"{{"timestamp":"2026-03-02T09:15:00.000Z","type":"response_item","payload":{payload}}}"#
        )
    }

    fn found(kind: ItemKind, payload: &str) -> Option<String> {
        read(Source::Codex, kind, line(payload).as_bytes()).map(|searched| searched.text)
    }

    #[test]
    fn every_kind_but_reasoning_is_searchable() {
        let call = r#"{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"cargo test\\nls\",\"n\":7}","call_id":"c"}"#;
        assert_eq!(found(ItemKind::ToolCall, call).unwrap(), "exec_command\ncargo test\nls\n7");
        let output = r#"{"type":"function_call_output","call_id":"c","output":"ok"}"#;
        assert_eq!(found(ItemKind::ToolOutput, output).unwrap(), "ok");
        let reasoning = r#"{"type":"reasoning","summary":[],"encrypted_content":"gAAAA"}"#;
        assert_eq!(found(ItemKind::Reasoning, reasoning), None);
        let image = r#"{"type":"message","role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,AAAA"}]}"#;
        assert_eq!(found(ItemKind::UserMessage, image), None);
    }

    #[test]
    fn a_compaction_and_the_time_of_a_line_are_read() {
        let compacted = r#"{"timestamp":"2026-03-02T09:15:00.000Z","type":"compacted","payload":{"message":"the state"}}"#;
        let at = Some(1_772_442_900_000);
        let searched = read(Source::Codex, ItemKind::Compaction, compacted.as_bytes()).unwrap();
        assert_eq!((searched.text.as_str(), searched.at_ms), ("the state", at));
        assert_eq!(at_ms(Source::Codex, compacted.as_bytes()), at);
        assert_eq!(at_ms(Source::Codex, compacted.replace("2026", "last").as_bytes()), None);
    }

    #[test]
    fn our_text_is_left_out_except_where_the_agent_repeats_it() {
        let view = "[SESSION_CHECKPOINT v1]\n- the parser is fixed";
        for (kind, role, expected) in [
            (ItemKind::UserMessage, "user", None),
            (ItemKind::Context, "developer", None),
            (ItemKind::AssistantMessage, "assistant", Some(view)),
        ] {
            let payload = serde_json::json!({"type": "message", "role": role, "content": view});
            assert_eq!(found(kind, &payload.to_string()).as_deref(), expected, "{role}");
        }
    }

    #[test]
    fn each_kind_is_indexed_within_its_bound() {
        let words = "word ".repeat(20_000);
        for (kind, bytes) in [
            (ItemKind::UserMessage, limits::SEARCHED_MESSAGE_BYTES),
            (ItemKind::AssistantMessage, limits::SEARCHED_MESSAGE_BYTES),
            (ItemKind::Context, limits::SEARCHED_CONTEXT_BYTES),
        ] {
            let payload = serde_json::json!({"type": "message", "role": "user", "content": words});
            assert_eq!(found(kind, &payload.to_string()).unwrap(), words[..bytes], "{kind:?}");
        }
        let call = serde_json::json!({"type": "function_call", "name": "x", "call_id": "c",
            "arguments": serde_json::json!({ "cmd": words }).to_string()});
        let called = found(ItemKind::ToolCall, &call.to_string()).unwrap();
        assert_eq!(called.len(), limits::SEARCHED_CALL_BYTES);
    }

    #[test]
    fn an_output_is_indexed_whole_or_by_two_thirds_from_its_beginning() {
        let output = |words: &str| {
            let payload = serde_json::json!({"type": "function_call_output", "output": words});
            found(ItemKind::ToolOutput, &payload.to_string()).unwrap()
        };
        let (all, margin) = (limits::SEARCHED_OUTPUT_BYTES, limits::SEARCHED_MARGIN_BYTES);
        let words = "word ".repeat(all);
        let fits = &words[..all + 2 * margin];
        assert_eq!(output(fits), fits);
        let kept = output(&words[..=all + 2 * margin]);
        let (head, tail) = kept.split_once("\n…\n").unwrap();
        assert_eq!((head.len(), tail.len()), (all * 2 / 3, all / 3));
    }

    #[test]
    fn a_long_output_is_indexed_by_both_ends_without_secrets() {
        let secret = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
        let text = format!("begin API={secret} {} the end {secret}", "word ".repeat(20_000));
        let payload =
            serde_json::json!({"type": "function_call_output", "call_id": "c", "output": text});
        let kept = found(ItemKind::ToolOutput, &payload.to_string()).unwrap();
        assert!(kept.len() < limits::SEARCHED_OUTPUT_BYTES + 16, "{}", kept.len());
        assert!(kept.starts_with("begin") && kept.contains("the end"));
        assert!(!kept.contains(&secret[..12]), "a secret is in the index");
    }

    #[test]
    fn a_copy_with_another_time_has_the_same_digest() {
        let payload = r#"{"type":"function_call_output","call_id":"c","output":"same words"}"#;
        let (one, other) = (line(payload), line(payload).replace("09:15", "10:30"));
        let digest = |line: &str| {
            read(Source::Codex, ItemKind::ToolOutput, line.as_bytes()).unwrap().digest()
        };
        assert_eq!(digest(&one), digest(&other));
        assert_ne!(digest(&one), digest(&one.replace("same words", "other words")));
    }
}
