//! Pieces of a transcript: a line with its place and digest, or the end.

use longhaul_core::digest::Digest128;
use longhaul_core::fold::{Fold, Place};
use longhaul_core::item::ItemRow;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    Line(Line<'a>),
    /// The text ends here for now.
    End {
        /// The first byte after the last line.
        offset: u64,
        /// The bytes after it; also empty if they are over the bound.
        rest: &'a [u8],
    },
}

/// A line, or an item of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    pub offset: u64,
    /// Length without the newline.
    pub bytes: u64,
    pub content: Content<'a>,
    pub digest: Digest128,
    /// First byte after the line and its newline.
    pub next: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content<'a> {
    Whole(&'a [u8]),
    /// The beginning of a line over the bound.
    Head(&'a [u8]),
}

impl<'a> Line<'a> {
    pub(super) fn whole(offset: u64, line: &'a [u8], next: u64) -> Self {
        let (bytes, digest) = (line.len() as u64, Digest128::of(line));
        Self { offset, bytes, content: Content::Whole(line), digest, next }
    }

    /// A rest without a newline that is a whole line: no proper prefix of a JSON object is a JSON object.
    /// `None` if its writer is not done with it.
    pub fn of_rest(offset: u64, rest: &'a [u8]) -> Option<Self> {
        // The object must end at the last byte: white space may be half of a line ending.
        let is_object = rest.last() == Some(&b'}')
            && rest.trim_ascii_start().first() == Some(&b'{')
            && serde_json::from_slice::<serde::de::IgnoredAny>(rest).is_ok();
        is_object.then(|| Self::whole(offset, rest, offset + rest.len() as u64))
    }

    /// Folds the line as the one numbered `seq`.
    pub(crate) fn fold(&self, fold: &mut Fold, seq: u64) -> Option<ItemRow> {
        let place = Place { line: seq, offset: self.offset, bytes: self.bytes };
        match self.content {
            Content::Whole(text) => fold.digested(place, text, self.digest),
            Content::Head(head) => fold.oversized(place, head, self.digest),
        }
    }

    /// The next link of a digest chain over lines. Lines are chained rather than bytes, so that the chain can
    /// resume at any line; the offset distinguishes a moved line.
    pub(crate) fn link(&self, chain: Digest128) -> Digest128 {
        let mut bytes = [0; 40];
        bytes[..16].copy_from_slice(&chain.0.to_be_bytes());
        bytes[16..32].copy_from_slice(&self.digest.0.to_be_bytes());
        bytes[32..].copy_from_slice(&self.offset.to_be_bytes());
        Digest128::of(&bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_object_counts_without_a_newline() {
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
            assert_eq!(Line::of_rest(0, rest.as_bytes()).is_some(), expected, "{rest}");
        }
    }
}
