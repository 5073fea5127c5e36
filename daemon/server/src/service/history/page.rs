//! One page of a history.

use longhaul_core::compaction::handle::Handle;
use longhaul_core::history::describe;
use longhaul_core::item::ItemKind;
use serde_json::value::{RawValue, to_raw_value};

/// An item's position: its line, and its index on that line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Position {
    pub seq: u64,
    pub index: u64,
}

#[derive(Debug)]
pub struct ItemPlace {
    pub seq: u64,
    pub kind: ItemKind,
    /// Estimated tokens.
    pub tokens: u64,
    /// Retrieves the line.
    pub handle: Option<Handle>,
    /// A stand-in of ours for an encrypted item.
    pub is_stand_in: bool,
}

/// Items up to a limit, from a position.
#[derive(Debug)]
pub(super) struct HistoryPage {
    pub(super) items: Vec<Box<RawValue>>,
    pub(super) places: Vec<ItemPlace>,
    /// Where to continue; set when the limit was reached.
    pub(super) next: Option<Position>,
    pub(super) is_from_archive: bool,
    from: Position,
    bytes: u64,
    max_bytes: u64,
}

impl HistoryPage {
    pub(super) fn new(from: Position, max_bytes: u64) -> Self {
        Self {
            items: Vec::new(),
            places: Vec::new(),
            next: None,
            is_from_archive: false,
            from,
            bytes: 0,
            max_bytes,
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.next.is_some()
    }

    /// First line that is not skipped.
    pub(super) fn first_seq(&self) -> u64 {
        self.from.seq
    }

    /// Adds an item unless it is before the page or past its end. At least one item is taken.
    pub(super) fn push(
        &mut self,
        at: Position,
        text: &str,
        place: impl FnOnce(Position, u64) -> ItemPlace,
    ) {
        if at < self.from || self.is_full() {
            return;
        }
        self.bytes += text.len() as u64;
        if self.bytes > self.max_bytes && !self.items.is_empty() {
            self.next = Some(at);
            return;
        }
        let raw = RawValue::from_string(text.to_owned()).or_else(|_| to_raw_value(text));
        if let Ok(raw) = raw {
            self.places.push(place(at, describe(text).1));
            self.items.push(raw);
        }
    }
}
