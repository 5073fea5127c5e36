//! Parses what a compaction line puts in place of the earlier history.
//!
//! [`crate::fold::Visible`] decides which compaction a history begins with and which later lines are
//! visible. This module interprets the compaction line: a recorded replacement history or, for older
//! versions, the newest requests and the summary.

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::fold::KEPT_USER_TOKENS;
use crate::item::{ItemKind, MessageItem};
use crate::rollout::contextual::CODEX_SUMMARY_OPENING;
use crate::rollout::{Body, Item, Role, codex, contextual};
use crate::{text, tokens};

/// Introduces the checkpoint that replaces an encrypted compaction.
const STAND_IN: &str = "[longhaul] The history up to here was compacted by the provider into an encrypted \
item that only the provider can read. This checkpoint, made of the same lines, stands in for it.";

#[derive(Debug, Deserialize)]
pub struct Base<'a> {
    /// The summary; empty if it is encrypted.
    #[serde(default)]
    pub message: String,
    #[serde(borrow)]
    replacement_history: Option<Vec<&'a RawValue>>,
}

impl<'a> Base<'a> {
    /// Parses a payload; `None` for a plain item.
    pub fn read(payload: &'a str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Keys<'a> {
            #[serde(borrow, rename = "type")]
            kind: Option<&'a RawValue>,
        }
        let is_item = serde_json::from_str::<Keys<'_>>(payload).ok()?.kind.is_some();
        if is_item { None } else { serde_json::from_str(payload).ok() }
    }

    /// The replacement without items no model sees; `None` if none was recorded.
    pub fn replacement(&self) -> Option<Vec<&'a str>> {
        let items = self.replacement_history.as_ref()?;
        let visible = items.iter().map(|item| item.get()).filter(|item| is_visible(item));
        Some(visible.collect())
    }

    /// The summary in the message form Codex uses.
    pub fn summary(&self) -> String {
        match self.message.is_empty() {
            true => user_message("(no summary available)"),
            false => user_message(&self.message),
        }
    }
}

fn is_visible(item: &str) -> bool {
    description_of(item).is_some_and(|found| !matches!(found.sight, Visibility::Hidden))
}

/// Who can read an item.
enum Visibility {
    Everybody,
    Provider,
    Hidden,
}

struct Description {
    kind: ItemKind,
    tokens: u64,
    sight: Visibility,
}

/// Kind and estimated tokens of an item.
pub fn describe(item: &str) -> (ItemKind, u64) {
    let unknown = || (ItemKind::Other, tokens::of_bytes(item.len() as u64));
    description_of(item).map_or_else(unknown, |found| (found.kind, found.tokens))
}

/// `None` if it is not an item.
fn description_of(item: &str) -> Option<Description> {
    let mut found = None;
    codex::read(item.as_bytes(), &mut |entry| {
        let Body::Item(item, tokens) = &entry.body else { return };
        let kind = match item {
            Item::Message { role: Role::User, text, .. } => kind_of_user(text),
            Item::Message { role: Role::Assistant, .. } => ItemKind::AssistantMessage,
            Item::Message { role: Role::Developer, .. } => ItemKind::Context,
            Item::Reasoning { .. } => ItemKind::Reasoning,
            Item::Call(_) => ItemKind::ToolCall,
            Item::Output { .. } => ItemKind::ToolOutput,
            Item::Opaque { .. } => ItemKind::Compaction,
            Item::Other { .. } | Item::Invisible => ItemKind::Other,
        };
        let sight = match item {
            Item::Opaque { .. } => Visibility::Provider,
            Item::Invisible => Visibility::Hidden,
            _ => Visibility::Everybody,
        };
        found.get_or_insert(Description { kind, tokens: *tokens, sight });
    });
    found
}

fn kind_of_user(text: &str) -> ItemKind {
    match text.starts_with(CODEX_SUMMARY_OPENING) {
        true => ItemKind::Compaction,
        false if contextual::request(text).is_some() => ItemKind::UserMessage,
        false => ItemKind::Context,
    }
}

/// Whether an item is a compaction that only its provider can read.
pub fn is_opaque(item: &str) -> bool {
    description_of(item).is_some_and(|found| matches!(found.sight, Visibility::Provider))
}

/// The item that replaces an opaque one: our checkpoint, marked as such.
pub fn stand_in(view: &str) -> String {
    let text = format!("{STAND_IN}\n\n{view}");
    let content = [json!({"type": "input_text", "text": text})];
    json!({"type": "message", "role": "developer", "content": content}).to_string()
}

/// The person's text in an item, its parts joined as Codex joins them; `None` for context, a summary, or an
/// item that is not a request.
pub fn person_text(item: &str) -> Option<String> {
    let MessageItem { texts: parts, .. } =
        MessageItem::read(item).filter(|message| message.role == "user")?;
    // One part of context makes the whole message context.
    if parts.iter().any(|part| contextual::request(part).is_none() && !part.trim().is_empty()) {
        return None;
    }
    let words = parts.concat();
    (!words.starts_with(CODEX_SUMMARY_OPENING)).then_some(words)
}

/// A user message of one text part.
fn user_message(text: &str) -> String {
    let content = [json!({"type": "input_text", "text": text})];
    json!({"type": "message", "role": "user", "content": content}).to_string()
}

/// The person's newest messages, collected from the newest on.
#[derive(Debug)]
pub struct NewestWords {
    left: u64,
    /// Line and message, newest first.
    found: Vec<(u64, String)>,
}

impl Default for NewestWords {
    fn default() -> Self {
        Self { left: KEPT_USER_TOKENS, found: Vec::new() }
    }
}

impl NewestWords {
    /// Adds the text of line `seq`. A text that does not fit is cut in the middle and is the last.
    pub fn push(&mut self, seq: u64, words: &str) {
        let cost = tokens::of_text(words);
        if self.left == 0 {
            return;
        }
        let message = match cost <= self.left {
            true => user_message(words),
            false => user_message(&cut_middle(words, tokens::bytes_of(self.left))),
        };
        self.left = self.left.saturating_sub(cost);
        self.found.push((seq, message));
    }

    pub fn is_full(&self) -> bool {
        self.left == 0
    }

    pub fn into_oldest_first(self) -> Vec<(u64, String)> {
        self.found.into_iter().rev().collect()
    }
}

/// The marker counts the removed tokens and comes on top of the budget, as in Codex.
fn cut_middle(words: &str, bytes: usize) -> String {
    let head = text::prefix(words, bytes / 2);
    let tail = text::suffix(words, bytes - bytes / 2);
    let removed = tokens::of_bytes((words.len().saturating_sub(bytes)) as u64);
    format!("{head}…{removed} tokens truncated…{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replacement_drops_items_that_no_model_sees() {
        let kept = r#"{"type":"message","role":"user", "content":"a"}"#;
        let line = format!(
            r#"{{"message":"","replacement_history":[{kept},{{"type":"ghost_snapshot"}},{{"type":"compaction","encrypted_content":"x"}}]}}"#
        );
        let base = Base::read(&line).unwrap();
        let items = base.replacement().unwrap();
        assert_eq!((items.len(), items[0]), (2, kept));
        assert!(is_opaque(items[1]) && !is_opaque(items[0]));
        assert!(Base::read(r#"{"type":"compaction","encrypted_content":"x"}"#).is_none());
    }

    #[test]
    fn an_old_compaction_keeps_the_newest_messages_and_its_summary() {
        let mut words = NewestWords::default();
        words.push(9, &"n".repeat(79_996));
        words.push(5, "too long for one token");
        words.push(1, "never");
        let kept = words.into_oldest_first();
        assert_eq!(kept.iter().map(|(seq, _)| *seq).collect::<Vec<_>>(), [5, 9]);
        assert!(kept[0].1.contains("to…5 tokens truncated…en"), "{}", kept[0].1);
        let base = Base::read(r#"{"message":"Done: A"}"#).unwrap();
        assert!(base.replacement().is_none() && base.summary().contains("Done: A"));
    }

    #[test]
    fn only_requests_are_the_persons_text() {
        let message = |role: &str, text: &str| {
            json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]})
                .to_string()
        };
        assert_eq!(person_text(&message("user", "fix it")).as_deref(), Some("fix it"));
        assert_eq!(person_text(&message("assistant", "done")), None);
        assert_eq!(person_text(&message("user", "<environment_context>")), None);
        assert_eq!(person_text(&message("user", &format!("{CODEX_SUMMARY_OPENING} …"))), None);
    }

    #[test]
    fn messages_are_kept_until_their_room_is_used_up() {
        let mut words = NewestWords::default();
        words.push(9, &"n".repeat(79_992));
        assert!(!words.is_full(), "two tokens are left");
        words.push(5, &"€".repeat(10));
        assert!(words.is_full());
        let kept = words.into_oldest_first();
        assert!(
            kept[0].1.contains("\"€…6 tokens truncated…€\""),
            "whole characters: {}",
            kept[0].1
        );

        let mut exact = NewestWords::default();
        exact.push(9, &"n".repeat(80_000));
        assert!(exact.is_full(), "nothing was cut, and nothing more fits");
        assert!(!exact.into_oldest_first()[0].1.contains("truncated"));
    }

    #[test]
    fn the_kinds_of_items_are_distinguished() {
        let message = |role: &str, text: &str| json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]});
        for (item, kind) in [
            (message("user", "fix it"), ItemKind::UserMessage),
            (message("user", "<environment_context>\n<cwd>/w</cwd>"), ItemKind::Context),
            (message("user", &format!("{CODEX_SUMMARY_OPENING} …")), ItemKind::Compaction),
            (message("developer", "rules"), ItemKind::Context),
            (message("assistant", "done"), ItemKind::AssistantMessage),
            (json!({"type": "compaction", "encrypted_content": "x"}), ItemKind::Compaction),
            (json!({"type": "ghost_snapshot"}), ItemKind::Other),
            (json!("no item"), ItemKind::Other),
        ] {
            assert_eq!(describe(&item.to_string()).0, kind, "{item}");
        }
    }

    #[test]
    fn a_stand_in_gives_the_model_the_checkpoint_and_is_no_request() {
        let item = stand_in("[TASK]\n- fix it");
        let message = MessageItem::read(&item).unwrap();
        assert_eq!(message.role, "developer");
        assert!(message.texts[0].ends_with("\n\n[TASK]\n- fix it"), "{item}");
        assert!(message.texts[0].contains("stands in for it"), "{item}");
    }
}
