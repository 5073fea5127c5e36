//! One file's lines into one fold: the same steps for catching up, for a fork's base, and for a
//! state in the past, so that all three agree.

use std::path::{Path, PathBuf};

use longhaul_core::digest::Digest128;
use longhaul_core::fold::{Fold, Place, Source};
use longhaul_core::item::ItemRow;
use longhaul_store::{BaseState, Cursor};

use super::lineage::{self, Limit, Lineage};
use super::tail::Found;

/// A file being folded.
pub(crate) struct Folding {
    pub(crate) fold: Fold,
    /// Digest chained over all lines, blank ones too: equal chains, equal lines.
    pub(crate) chain: Digest128,
    pub(crate) base: BaseState,
    /// Index in the lineage of the next line.
    next_line: u64,
    /// No line with content was folded yet: the next may name a base.
    is_fresh: bool,
}

impl Folding {
    /// Before the first line.
    pub(crate) fn new(source: Source) -> Self {
        Self {
            fold: Fold::new(source),
            chain: Digest128::default(),
            base: BaseState::None,
            next_line: 0,
            is_fresh: true,
        }
    }

    /// After the lines that `fold` holds, up to `cursor`.
    pub(crate) fn resume(fold: Fold, cursor: &Cursor, base: BaseState) -> Self {
        Self { fold, chain: cursor.chain, base, next_line: cursor.next_seq, is_fresh: false }
    }

    /// Index of the next line.
    pub(crate) fn next_line(&self) -> u64 {
        self.next_line
    }

    /// Folds one line. The first that names a base starts the fold anew on top of it.
    pub(crate) fn line(
        &mut self,
        offset: u64,
        line: &[u8],
        lineage: &Lineage<'_>,
    ) -> Option<ItemRow> {
        let digest = Digest128::of(line);
        self.chain = link(self.chain, offset, digest);
        let place = self.place(offset, line.len() as u64);
        let item = self.fold.digested(place, line, digest);
        if !self.is_fresh || line.trim_ascii().is_empty() {
            return item;
        }
        self.is_fresh = false;
        let Some(base) = self.fold.head().history_base.clone() else {
            return item;
        };
        let source = self.fold.head().source;
        let (fold, state) = match lineage::base_fold(lineage, &base, Limit::default()) {
            Some(found) => (Fold::branch(&found, source), BaseState::Joined),
            None => (Fold::new(source), BaseState::Missing),
        };
        self.next_line = base.end_ordinal_exclusive.max(fold.next_seq());
        (self.fold, self.base) = (fold, state);
        let place = self.place(offset, line.len() as u64);
        self.fold.digested(place, line, digest)
    }

    /// Folds a line over the bound.
    pub(crate) fn oversized(
        &mut self,
        offset: u64,
        bytes: u64,
        head: &[u8],
        digest: Digest128,
    ) -> Option<ItemRow> {
        self.chain = link(self.chain, offset, digest);
        self.is_fresh = false;
        let place = self.place(offset, bytes);
        self.fold.oversized(place, head, digest)
    }

    fn place(&mut self, offset: u64, bytes: u64) -> Place {
        let place = Place { line: self.next_line, offset, bytes };
        self.next_line += 1;
        place
    }
}

/// The next link of a chain. Digests of lines are chained, not bytes, so that it can be taken up at
/// any line; the offset keeps a moved line apart.
pub(crate) fn link(chain: Digest128, offset: u64, line: Digest128) -> Digest128 {
    let mut bytes = [0; 40];
    bytes[..16].copy_from_slice(&chain.0.to_be_bytes());
    bytes[16..32].copy_from_slice(&line.0.to_be_bytes());
    bytes[32..].copy_from_slice(&offset.to_be_bytes());
    Digest128::of(&bytes)
}

/// Adds what was found to a chain, without folding; returns the first byte after it.
pub(crate) fn link_found(chain: Digest128, found: &Found<'_>) -> (Digest128, u64) {
    match found {
        Found::Line { offset, line, next } => (link(chain, *offset, Digest128::of(line)), *next),
        Found::Oversized { offset, digest, next, .. } => (link(chain, *offset, *digest), *next),
        Found::End { offset, rest } => {
            (link(chain, *offset, Digest128::of(rest)), *offset + rest.len() as u64)
        }
    }
}

/// Whether a rest without newline is a whole line all the same: no proper beginning of a JSON object
/// is a JSON object.
pub(crate) fn is_whole_object(rest: &[u8]) -> bool {
    // It must end in its own last byte: white space may be half of a line's end.
    rest.last() == Some(&b'}')
        && rest.trim_ascii_start().first() == Some(&b'{')
        && serde_json::from_slice::<serde::de::IgnoredAny>(rest).is_ok()
}

/// The thread a file belongs to when no line names one: the UUID in its name, or else the name.
pub(crate) fn thread_of_name(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    match uuid_in(&name) {
        Some(uuid) => uuid.to_owned(),
        None => {
            format!("file-{:016x}", xxhash_rust::xxh3::xxh3_64(path.as_os_str().as_encoded_bytes()))
        }
    }
}

fn uuid_in(name: &str) -> Option<&str> {
    const LENGTH: usize = 36;
    (0..name.len().checked_sub(LENGTH)? + 1).filter_map(|at| name.get(at..at + LENGTH)).find(
        |text| {
            text.bytes().enumerate().all(|(at, byte)| match at {
                8 | 13 | 18 | 23 => byte == b'-',
                _ => byte.is_ascii_hexdigit(),
            })
        },
    )
}

/// Path of a file and everything that was entered on the way to it.
pub(crate) type Visited = Vec<PathBuf>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_object_counts_without_its_newline() {
        for (rest, expected) in [
            (r#"{"a":1}"#, true),
            (r#" {"a":{"b":"}"}}"#, true),
            ("{}\r", false),
            (r#"{"a":{"b":1}"#, false),
            (r#"{"a":"}"#, false),
            (r#"{"a":1}{"b":2}"#, false),
            ("[1]", false),
            ("", false),
            ("\0\0", false),
        ] {
            assert_eq!(is_whole_object(rest.as_bytes()), expected, "{rest}");
        }
    }

    #[test]
    fn a_name_holds_the_thread() {
        let id = "01a1fb8b-e82f-7561-87b0-8fe7ffe642be";
        for name in [
            format!("rollout-2026-11-21T00-40-12-{id}.jsonl"),
            format!("rollout-2026-11-21T00-40-12-{id}_01a1fb8c-a005-7a50-81ef-c09c2e0140b2.jsonl"),
            format!("{id}.jsonl.zst"),
        ] {
            assert_eq!(thread_of_name(Path::new(&name)), id);
        }
        assert!(
            thread_of_name(Path::new("/x/entire-3c_162d1d8ad4_1_full.jsonl")).starts_with("file-")
        );
    }
}
