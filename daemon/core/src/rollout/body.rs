//! Bodies of lines that several sources make.

use std::borrow::Cow;

use super::{Body, Compacted, Images, Item, Replacement, Role, TurnSettings};
use crate::item::breakdown::{Breakdown, ContextKind};
use crate::tokens::{self, image};

impl<'a> Body<'a> {
    pub(super) fn message(role: Role, text: impl Into<Cow<'a, str>>, images: Images) -> Self {
        let text = text.into();
        let tokens = tokens::of_bytes(text.len() as u64 + images.cost);
        Self::Item(Item::Message { role, text, images }, tokens)
    }

    /// The answer to the call `call_id`.
    pub(super) fn output(call_id: &str, (text, images): (String, Images)) -> Self {
        let tokens = tokens::of_bytes(text.len() as u64 + images.cost);
        let call_id = call_id.to_owned().into();
        Self::Item(Item::Output { call_id, text: text.into(), images }, tokens)
    }

    /// A compaction whose summary replaces everything before.
    pub(super) fn summary(message: impl Into<Cow<'a, str>>) -> Self {
        let message = message.into();
        let tokens = Breakdown::of(ContextKind::Summary, tokens::of_text(&message));
        let replacement = Some(Replacement { items: 1, tokens });
        Self::Compacted(Compacted { message, replacement, is_sealed_view: false })
    }

    /// The model of the turn.
    pub(super) fn model(name: &str) -> Self {
        let model = Some(name.to_owned());
        Self::Settings(Box::new(TurnSettings { model, ..TurnSettings::default() }))
    }
}

/// Appends the text of a part on a line of its own.
pub(super) fn push_text<'a>(all: &mut Cow<'a, str>, part: Option<Cow<'a, str>>) {
    match part.filter(|part| !part.is_empty()) {
        None => {}
        Some(part) if all.is_empty() => *all = part,
        Some(part) => {
            let all = all.to_mut();
            all.push('\n');
            all.push_str(&part);
        }
    }
}

impl Images {
    /// Counts an image, given as base64 text.
    pub(super) fn push(&mut self, payload: &str, is_original: bool) {
        self.count += 1;
        self.bytes += payload.len() as u64;
        self.cost += image::cost_bytes(payload, is_original);
    }
}
