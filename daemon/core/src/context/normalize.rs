//! A history as a provider accepts it: every call has its output after it, every output its call, no id
//! stands twice, and no image goes to a model that cannot see.
//!
//! Items are the JSON texts of Responses API items. One that needs no change passes through with the
//! same bytes; nothing is parsed deeper than its decision needs. Rules of Codex
//! (`facts/codex-compaction.md` §5.4) and beyond: order is checked, an id may be used again once its
//! pair is closed, kinds that Codex does not write are paired too.

mod images;
mod kind;
mod object;
mod pairs;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use memchr::memmem;

use kind::{Head, Part};
use pairs::Pairs;

/// What to do besides pairing.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The model takes no images: they become a sentence.
    pub without_images: bool,
    /// The provider refused an image: those of the newest output become a sentence.
    pub repair_image: bool,
    /// Items to take out, each with its counterpart.
    pub remove: Vec<usize>,
}

/// What was done to an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// Taken out, as asked.
    Removed,
    /// The counterpart of an item that was taken out.
    CounterpartRemoved,
    /// A call without an output got one that says it was aborted.
    OutputAdded,
    /// An output stood before its call and was put behind it.
    OutputMoved,
    /// An output without a call went.
    OrphanOutputRemoved,
    /// A second output of one call went.
    DuplicateOutputRemoved,
    /// A call with the id of one that has no output yet went.
    DuplicateCallRemoved,
    /// A call went that has no output and for which none can be made up.
    OrphanCallRemoved,
    /// The same item with the same id went the second time.
    DuplicateItemRemoved,
    /// Another item has this `id`: it was taken off this one.
    IdRemoved,
    /// An item that no provider knows went.
    InvisibleRemoved,
    /// Images became a sentence, since the model takes none.
    ImagesOmitted,
    /// Images became a sentence, since the provider refused one.
    ImagesRepaired,
}

impl ChangeKind {
    /// Name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Removed => "removed",
            Self::CounterpartRemoved => "counterpart_removed",
            Self::OutputAdded => "output_added",
            Self::OutputMoved => "output_moved",
            Self::OrphanOutputRemoved => "orphan_output_removed",
            Self::DuplicateOutputRemoved => "duplicate_output_removed",
            Self::DuplicateCallRemoved => "duplicate_call_removed",
            Self::OrphanCallRemoved => "orphan_call_removed",
            Self::DuplicateItemRemoved => "duplicate_item_removed",
            Self::IdRemoved => "id_removed",
            Self::InvisibleRemoved => "invisible_removed",
            Self::ImagesOmitted => "images_omitted",
            Self::ImagesRepaired => "images_repaired",
        }
    }
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What was done.
    pub kind: ChangeKind,
    /// Index of the item among those given.
    pub index: usize,
    /// The call it belongs to.
    pub call_id: Option<String>,
}

/// A legal history and how it came about.
#[derive(Debug, PartialEq, Eq)]
pub struct Normalized<'a> {
    /// The items; borrowed ones are as they were given.
    pub items: Vec<Cow<'a, str>>,
    /// What was changed, by index; none for a legal history.
    pub changes: Vec<Change>,
}

/// Makes a history legal. Doing it twice is doing it once.
pub fn normalize<'a>(items: &[&'a str], options: &Options) -> Normalized<'a> {
    let heads: Vec<Head<'_>> = items.iter().map(|item| Head::of(item)).collect();
    let mut work = Work::new(items.len());
    work.drop_requested(&heads, &options.remove);
    work.drop_invisible(&heads);
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

/// A history being made legal.
struct Work {
    /// Items that are not at their place any more.
    gone: BTreeSet<usize>,
    /// Those of them that are at another.
    moved: BTreeSet<usize>,
    edited: BTreeMap<usize, String>,
    /// What stands behind an item: made up, or moved there.
    behind: BTreeMap<usize, Behind>,
    changes: Vec<Change>,
    /// Items in all.
    length: usize,
}

enum Behind {
    Made(String),
    Moved(usize),
}

impl Work {
    fn new(length: usize) -> Self {
        Self {
            gone: BTreeSet::new(),
            moved: BTreeSet::new(),
            edited: BTreeMap::new(),
            behind: BTreeMap::new(),
            changes: Vec::new(),
            length,
        }
    }

    fn note(&mut self, kind: ChangeKind, index: usize, head: &Head<'_>) {
        self.changes.push(Change { kind, index, call_id: head.call_id() });
    }

    fn drop(&mut self, kind: ChangeKind, index: usize, head: &Head<'_>) {
        if self.gone.insert(index) {
            self.note(kind, index, head);
        }
    }

    /// Pairs are looked for among all items, so that the right counterpart goes when an id is used
    /// twice.
    fn drop_requested(&mut self, heads: &[Head<'_>], remove: &[usize]) {
        if remove.is_empty() {
            return;
        }
        let pairs = Pairs::of(heads, &self.gone);
        for &index in remove.iter().filter(|index| **index < heads.len()) {
            self.drop(ChangeKind::Removed, index, &heads[index]);
        }
        for &index in remove {
            if let Some(other) = pairs.counterpart(index) {
                self.drop(ChangeKind::CounterpartRemoved, other, &heads[other]);
            }
        }
    }

    fn drop_invisible(&mut self, heads: &[Head<'_>]) {
        for (index, head) in heads.iter().enumerate().filter(|(_, head)| head.is_invisible()) {
            self.drop(ChangeKind::InvisibleRemoved, index, head);
        }
    }

    /// The same bytes with the same `id`: written twice by a torn write or a retry.
    fn drop_repeated_items(&mut self, items: &[&str], heads: &[Head<'_>]) {
        let mut seen = BTreeMap::new();
        for (index, head) in heads.iter().enumerate() {
            if !matches!(head.part, Part::None) || self.gone.contains(&index) {
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
            self.behind.insert(call, Behind::Moved(output));
        }
        for &index in &pairs.open_calls {
            match heads[index].aborted_output() {
                Some(output) => {
                    self.note(ChangeKind::OutputAdded, index, &heads[index]);
                    self.behind.insert(index, Behind::Made(output));
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

    /// Of the newest output, unless a request came after it: images of the person are not touched.
    fn repair_image(&mut self, items: &[&str], heads: &[Head<'_>]) {
        let newest = (0..self.length).rev().find(|index| {
            self.stays(*index) && (heads[*index].is_output() || heads[*index].is_user())
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

    fn finish<'a>(mut self, items: &[&'a str]) -> Normalized<'a> {
        let mut made = Vec::with_capacity(items.len());
        for index in 0..items.len() {
            if !self.gone.contains(&index) {
                made.push(self.text(index, items));
            }
            match self.behind.remove(&index) {
                Some(Behind::Made(output)) => made.push(Cow::Owned(output)),
                Some(Behind::Moved(output)) => made.push(self.text(output, items)),
                None => {}
            }
        }
        self.changes.sort_by_key(|change| change.index);
        Normalized { items: made, changes: self.changes }
    }

    fn text<'a>(&mut self, index: usize, items: &[&'a str]) -> Cow<'a, str> {
        self.edited.remove(&index).map_or(Cow::Borrowed(items[index]), Cow::Owned)
    }
}

/// Whether an item may hold an image: most do not and need no look inside.
fn mentions(item: &str, word: &str) -> bool {
    memmem::find(item.as_bytes(), word.as_bytes()).is_some()
}

#[cfg(test)]
mod tests;
