//! The index row of an item: its position and a redacted excerpt.

use super::Place;
use crate::digest::Digest128;
use crate::item::{ItemKind, ItemRow};
use crate::{limits, redact, text};

/// Input for an index row.
pub(super) struct Row<'a> {
    pub(super) kind: ItemKind,
    pub(super) words: &'a str,
    pub(super) call_id: Option<&'a str>,
    /// The start of the words, if the reducer has already redacted it.
    pub(super) shown: Option<String>,
}

impl<'a> Row<'a> {
    pub(super) fn new(kind: ItemKind, words: &'a str) -> Self {
        Self { kind, words, call_id: None, shown: None }
    }

    /// The caller sets the digest once for the whole line.
    pub(super) fn index(self, place: Place, tokens: u64) -> ItemRow {
        let head = self.shown.unwrap_or_else(|| {
            let window = text::prefix(self.words, limits::EXCERPT_WINDOW_BYTES);
            let redacted = redact::redact(window);
            text::prefix(&redacted.text, limits::EXCERPT_BYTES * 4).to_owned()
        });
        let excerpt = text::one_line_cut(&head, limits::EXCERPT_BYTES);
        ItemRow {
            seq: place.line,
            offset: place.offset,
            bytes: place.bytes,
            kind: self.kind,
            tokens,
            digest: Digest128::default(),
            excerpt,
            call_id: self.call_id.map(|id| text::cut(id, limits::NAME_BYTES).into_owned()),
        }
    }
}
