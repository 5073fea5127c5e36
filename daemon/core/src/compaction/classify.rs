//! Classifies the items of a history for a compaction.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::Phase;
use crate::rollout::{Item, Role, codex, contextual};

#[derive(Debug, Clone)]
pub struct ClassifiedItem<'a> {
    pub at: usize,
    pub raw: &'a RawValue,
    pub class: Class,
    /// Pairs a call with its output.
    pub call_id: Option<String>,
    pub text: Cow<'a, str>,
    pub tokens: u64,
}

/// Role of an item in a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    Request,
    /// The summary or view of an earlier compaction.
    Summary,
    /// Context the harness writes and rebuilds: environment, instructions, permissions.
    Context,
    /// Instructions of a newly selected model: sent once, so they must not be lost.
    ModelSwitch,
    Assistant,
    /// Reasoning; unreadable to any other model.
    Reasoning,
    /// A tool call, or a call with its output in one item if it has no call id.
    Call,
    Output,
    /// A provider's own compaction, readable only by that provider.
    Opaque,
    /// A file snapshot for undo, never shown to a model.
    Ghost,
    Unknown,
}

impl Class {
    pub fn is_of_model(self) -> bool {
        matches!(self, Self::Assistant | Self::Reasoning | Self::Call | Self::Opaque)
    }
}

pub fn classify(items: &[Box<RawValue>]) -> Vec<ClassifiedItem<'_>> {
    items.iter().enumerate().map(|(at, raw)| classify_item(at, raw)).collect()
}

pub fn class_of_item(item: &serde_json::Value) -> Class {
    serde_json::value::to_raw_value(item).map_or(Class::Unknown, |raw| classify_item(0, &raw).class)
}

/// The instructions in a message; its other parts are context, which is rebuilt.
pub fn model_switch_alone(raw: &RawValue) -> Option<serde_json::Value> {
    let mut item: serde_json::Value = serde_json::from_str(raw.get()).ok()?;
    if let Some(parts) = item.get_mut("content").and_then(serde_json::Value::as_array_mut) {
        parts.retain(|part| part["text"].as_str().is_some_and(contextual::is_model_switch));
    }
    Some(item)
}

/// Whether the fresh context includes the instructions of a newly selected model, which then replace older ones.
pub fn brings_model_switch(phase: Phase, context: &[serde_json::Value]) -> bool {
    let is_switch = |item: &serde_json::Value| class_of_item(item) == Class::ModelSwitch;
    phase == Phase::MidTurn && context.iter().any(is_switch)
}

fn classify_item(at: usize, raw: &RawValue) -> ClassifiedItem<'_> {
    let Some((item, tokens)) = codex::read_item(raw.get()) else {
        let tokens = codex::estimate(raw.get());
        return ClassifiedItem {
            at,
            raw,
            class: Class::Unknown,
            call_id: None,
            text: Cow::Borrowed(""),
            tokens,
        };
    };
    let some = |id: Cow<'_, str>| (!id.is_empty()).then(|| id.into_owned());
    let (class, call_id, text) = match item {
        Item::Message { role, text, images } => {
            (class_of(role, &text, images.count > 0), None, text)
        }
        Item::Reasoning { .. } => (Class::Reasoning, None, Cow::Borrowed("")),
        Item::Call(call) => (Class::Call, some(call.call_id), Cow::Borrowed("")),
        Item::Output { call_id, .. } => (Class::Output, some(call_id), Cow::Borrowed("")),
        Item::Opaque { .. } => (Class::Opaque, None, Cow::Borrowed("")),
        Item::Other { .. } => (Class::Call, None, Cow::Borrowed("")),
        Item::Invisible => (Class::Ghost, None, Cow::Borrowed("")),
    };
    ClassifiedItem { at, raw, class, call_id, text, tokens }
}

fn class_of(role: Role, text: &str, has_image: bool) -> Class {
    match role {
        Role::Assistant => Class::Assistant,
        Role::Developer if contextual::is_model_switch(text) => Class::ModelSwitch,
        Role::Developer => Class::Context,
        Role::User if contextual::is_summary(text) => Class::Summary,
        Role::User if contextual::request(text).is_some() => Class::Request,
        Role::User if text.trim().is_empty() && has_image => Class::Request,
        Role::User => Class::Context,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::assemble::message;
    use super::*;

    const IMAGE: &str = "data:image/png;base64,iVBORw0KGgo=";

    fn user(parts: &[&str]) -> Value {
        let part = |part: &&str| match part.starts_with("data:") {
            true => json!({"type": "input_image", "image_url": part}),
            false => json!({"type": "input_text", "text": part}),
        };
        let parts: Vec<Value> = parts.iter().map(part).collect();
        json!({"type": "message", "role": "user", "content": parts})
    }

    #[test]
    fn items_are_classified_by_what_they_are_for() {
        let developer = |text: &str| message("developer", text);
        for (item, class) in [
            (user(&["fix it"]), Class::Request),
            (user(&["fix it", IMAGE]), Class::Request),
            (user(&[" ", IMAGE]), Class::Request),
            (user(&[" "]), Class::Context),
            (user(&["<environment_context>\nx", IMAGE]), Class::Context),
            (user(&["[HANDOFF_SUMMARY v1]\nolder"]), Class::Summary),
            (developer("rules"), Class::Context),
            (developer("<model_switch>\nbe terse"), Class::ModelSwitch),
            (json!({"type": "compaction", "encrypted_content": "x"}), Class::Opaque),
            (json!({"type": "ghost_snapshot"}), Class::Ghost),
            (json!({"no": "item"}), Class::Unknown),
        ] {
            assert_eq!(class_of_item(&item), class, "{item}");
        }
    }

    #[test]
    fn a_call_and_its_output_have_the_same_id() {
        let items = [
            json!({"type": "function_call", "name": "x", "arguments": "{}", "call_id": "c"}),
            json!({"type": "function_call_output", "call_id": "c", "output": "ok"}),
            json!({"type": "function_call", "name": "x", "arguments": "{}", "call_id": ""}),
            user(&["fix it"]),
        ];
        let items = items.map(|item| serde_json::value::to_raw_value(&item).unwrap());
        let classified = classify(&items);
        let ids: Vec<_> =
            classified.iter().map(|classified| classified.call_id.as_deref()).collect();
        assert_eq!(ids, [Some("c"), Some("c"), None, None]);
    }
}
