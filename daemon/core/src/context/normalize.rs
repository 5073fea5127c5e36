//! Makes a history acceptable to a provider: every call is followed by its output, every output has a
//! call, ids are unique, and no image goes to a model without vision.
//!
//! Items are the JSON texts of Responses API items. Unchanged items keep their bytes; nothing is parsed
//! deeper than its decision needs. The rules are Codex's, and stricter: order is checked, an id may be
//! reused once its pair is closed, and kinds that Codex does not write are paired too.

mod images;
mod kind;
mod object;
mod pairs;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use memchr::memmem;
use serde_json::Value;
use serde_json::value::RawValue;

use kind::{Head, PairRole};
use pairs::Pairs;

/// What to do besides pairing.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The model has no vision: images are replaced by a sentence.
    pub without_images: bool,
    /// The provider refused an image: images of the newest output are replaced by a sentence.
    pub repair_image: bool,
    /// Items to remove, each with its counterpart.
    pub remove: Vec<usize>,
    /// The items go into a request: removes kinds that the Responses API does not know, and reasoning that
    /// cannot be read.
    pub for_request: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum ChangeKind {
    Removed,
    /// Counterpart of a removed item.
    CounterpartRemoved,
    /// Added an "aborted" output for a call without one.
    OutputAdded,
    OutputMoved,
    OrphanOutputRemoved,
    /// Removed a second output of one call.
    DuplicateOutputRemoved,
    /// Removed a call that reused the id of a pending call.
    DuplicateCallRemoved,
    /// Removed a call without an output, for which none can be synthesized.
    OrphanCallRemoved,
    /// Removed a repeated item with the same id.
    DuplicateItemRemoved,
    /// Removed this item's `id` because another item has it.
    IdRemoved,
    /// Removed an item that no provider accepts.
    InvisibleRemoved,
    /// Removed an item that a request cannot contain; only with [`Options::for_request`].
    UnsendableRemoved,
    /// Replaced images because the model has no vision.
    ImagesOmitted,
    /// Replaced images because the provider refused one.
    ImagesRepaired,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub kind: ChangeKind,
    /// Index of the item among those given.
    pub index: usize,
    pub call_id: Option<String>,
}

/// A valid history and the changes that made it so.
#[derive(Debug, PartialEq, Eq)]
pub struct NormalizedHistory<'a> {
    pub items: Vec<ValidItem<'a>>,
    /// Changes by index; empty for a valid history.
    pub changes: Vec<Change>,
}

/// An item of a valid history.
#[derive(Debug, PartialEq, Eq)]
pub enum ValidItem<'a> {
    /// One of those given, unchanged.
    Given {
        index: usize,
        text: &'a str,
    },
    Made(String),
}

impl AsRef<str> for ValidItem<'_> {
    fn as_ref(&self) -> &str {
        match self {
            Self::Given { text, .. } => text,
            Self::Made(text) => text,
        }
    }
}

/// Makes a history valid. Idempotent.
pub fn normalize<'a>(items: &[&'a str], options: &Options) -> NormalizedHistory<'a> {
    let heads: Vec<Head<'_>> = items.iter().map(|item| Head::of(item)).collect();
    let mut work = Work::default();
    work.drop_requested(&heads, &options.remove);
    work.drop_where(ChangeKind::InvisibleRemoved, &heads, |head| head.is_invisible());
    if options.for_request {
        work.drop_where(ChangeKind::UnsendableRemoved, &heads, |head| !head.is_sendable());
    }
    work.drop_repeated_items(items, &heads);
    work.pair(&heads);
    if options.without_images {
        work.omit_images(items, &heads);
    }
    if options.repair_image {
        work.repair_image(items, &heads);
    }
    work.drop_repeated_ids(items, &heads);
    work.finish(items)
}

/// The input of a request to a model: valid items of known kinds in valid Unicode. Valid items keep their
/// bytes.
pub fn for_request(items: &[Box<RawValue>], without_images: bool) -> Vec<Box<RawValue>> {
    let readable: Vec<Cow<'_, str>> = items.iter().map(|item| readable(item.get())).collect();
    let texts: Vec<&str> = readable.iter().map(AsRef::as_ref).collect();
    let options = Options { without_images, for_request: true, ..Options::default() };
    let made = normalize(&texts, &options).items.into_iter();
    let item = |item| match item {
        ValidItem::Given { index, text } if text == items[index].get() => {
            Some(items[index].clone())
        }
        item => RawValue::from_string(item.as_ref().to_owned()).ok(),
    };
    made.filter_map(item).collect()
}

/// A provider rejects a whole request for half of a surrogate pair, which JSON allows and Unicode does not.
fn readable(item: &str) -> Cow<'_, str> {
    let may_break = mentions(item, "\\ud") || mentions(item, "\\uD");
    match may_break && serde_json::from_str::<Value>(item).is_err() {
        true => Cow::Owned(crate::rollout::repair::repair(item.as_bytes()).unwrap_or_default()),
        false => Cow::Borrowed(item),
    }
}

#[derive(Default)]
struct Work {
    /// Items removed from their position.
    gone: BTreeSet<usize>,
    /// Removed items that were inserted elsewhere.
    moved: BTreeSet<usize>,
    edited: BTreeMap<usize, String>,
    /// Items inserted after an item: synthesized or moved.
    behind: BTreeMap<usize, InsertedItem>,
    changes: Vec<Change>,
}

enum InsertedItem {
    Made(String),
    Moved(usize),
}

impl Work {
    fn note(&mut self, kind: ChangeKind, index: usize, head: &Head<'_>) {
        self.changes.push(Change { kind, index, call_id: head.call_id() });
    }

    fn drop(&mut self, kind: ChangeKind, index: usize, head: &Head<'_>) {
        if self.gone.insert(index) {
            self.note(kind, index, head);
        }
    }

    /// Searches all items for counterparts, so that the right one is removed when an id is used twice.
    fn drop_requested(&mut self, heads: &[Head<'_>], remove: &[usize]) {
        if remove.is_empty() {
            return;
        }
        let pairs = Pairs::of(heads, &self.gone);
        for &index in remove.iter().filter(|index| **index < heads.len()) {
            self.drop(ChangeKind::Removed, index, &heads[index]);
        }
        for &index in remove {
            if let Some(&other) = pairs.matched.get(&index) {
                self.drop(ChangeKind::CounterpartRemoved, other, &heads[other]);
            }
        }
    }

    fn drop_where(
        &mut self,
        kind: ChangeKind,
        heads: &[Head<'_>],
        is_dropped: impl Fn(&Head<'_>) -> bool,
    ) {
        for (index, head) in heads.iter().enumerate().filter(|(_, head)| is_dropped(head)) {
            self.drop(kind, index, head);
        }
    }

    /// Identical bytes with the same `id`: duplicated by a torn write or a retry.
    fn drop_repeated_items(&mut self, items: &[&str], heads: &[Head<'_>]) {
        let mut seen = BTreeMap::new();
        for (index, head) in heads.iter().enumerate() {
            if !matches!(head.part, PairRole::None) || self.gone.contains(&index) {
                continue;
            }
            let Some(id) = head.id.as_deref() else { continue };
            let first = *seen.entry(id).or_insert(index);
            if first != index && (items[first] == items[index] || head.needs_id()) {
                self.drop(ChangeKind::DuplicateItemRemoved, index, head);
            }
        }
    }

    fn pair(&mut self, heads: &[Head<'_>]) {
        let pairs = Pairs::of(heads, &self.gone);
        for &index in &pairs.repeated_calls {
            self.drop(ChangeKind::DuplicateCallRemoved, index, &heads[index]);
        }
        for &index in &pairs.repeated_outputs {
            self.drop(ChangeKind::DuplicateOutputRemoved, index, &heads[index]);
        }
        for &index in &pairs.orphan_outputs {
            self.drop(ChangeKind::OrphanOutputRemoved, index, &heads[index]);
        }
        for &(call, output) in &pairs.early {
            self.note(ChangeKind::OutputMoved, output, &heads[output]);
            self.gone.insert(output);
            self.moved.insert(output);
            self.behind.insert(call, InsertedItem::Moved(output));
        }
        for &index in &pairs.open_calls {
            match heads[index].aborted_output() {
                Some(output) => {
                    self.note(ChangeKind::OutputAdded, index, &heads[index]);
                    self.behind.insert(index, InsertedItem::Made(output));
                }
                None => self.drop(ChangeKind::OrphanCallRemoved, index, &heads[index]),
            }
        }
    }

    fn stays(&self, index: usize) -> bool {
        !self.gone.contains(&index) || self.moved.contains(&index)
    }

    fn omit_images(&mut self, items: &[&str], heads: &[Head<'_>]) {
        for (index, item) in items.iter().enumerate().filter(|(_, item)| mentions(item, "image")) {
            if let Some(omitted) = self.stays(index).then(|| images::omit(item)).flatten() {
                self.note(ChangeKind::ImagesOmitted, index, &heads[index]);
                self.edited.insert(index, omitted);
            }
        }
    }

    /// Repairs the newest output only, and not if a request came after it: a person's images stay.
    fn repair_image(&mut self, items: &[&str], heads: &[Head<'_>]) {
        let newest = (0..items.len()).rev().find(|index| {
            self.stays(*index) && (heads[*index].is_output() || heads[*index].is_user)
        });
        let Some(index) = newest.filter(|index| heads[*index].is_output()) else { return };
        let item = self.edited.get(&index).map_or(items[index], String::as_str);
        if let Some(repaired) = images::repair(item) {
            self.note(ChangeKind::ImagesRepaired, index, &heads[index]);
            self.edited.insert(index, repaired);
        }
    }

    fn drop_repeated_ids(&mut self, items: &[&str], heads: &[Head<'_>]) {
        let mut seen = BTreeSet::new();
        for (index, head) in heads.iter().enumerate() {
            let Some(id) = head.id.as_deref().filter(|_| !head.needs_id()) else { continue };
            if !self.stays(index) || seen.insert(id) {
                continue;
            }
            let item = self.edited.get(&index).map_or(items[index], String::as_str);
            if let Some(stripped) = object::without(item, "id") {
                self.note(ChangeKind::IdRemoved, index, head);
                self.edited.insert(index, stripped);
            }
        }
    }

    fn finish<'a>(mut self, items: &[&'a str]) -> NormalizedHistory<'a> {
        let mut made = Vec::with_capacity(items.len());
        for index in 0..items.len() {
            if !self.gone.contains(&index) {
                made.push(self.item(index, items));
            }
            match self.behind.remove(&index) {
                Some(InsertedItem::Made(output)) => made.push(ValidItem::Made(output)),
                Some(InsertedItem::Moved(output)) => made.push(self.item(output, items)),
                None => {}
            }
        }
        self.changes.sort_by_key(|change| change.index);
        NormalizedHistory { items: made, changes: self.changes }
    }

    fn item<'a>(&mut self, index: usize, items: &[&'a str]) -> ValidItem<'a> {
        let given = ValidItem::Given { index, text: items[index] };
        self.edited.remove(&index).map_or(given, ValidItem::Made)
    }
}

/// Cheap check for a word, to avoid parsing most items.
fn mentions(item: &str, word: &str) -> bool {
    memmem::find(item.as_bytes(), word.as_bytes()).is_some()
}

#[cfg(test)]
mod tests;
