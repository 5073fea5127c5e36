//! What is handed out of a transcript: a line with its place and digest, or the end.

use longhaul_core::digest::Digest128;

/// The next thing in a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    Line(Line<'a>),
    /// The text ends here for now.
    End {
        /// The first byte after the last line.
        offset: u64,
        /// What stands there; empty too when it is over the bound.
        rest: &'a [u8],
    },
}

/// A line, or an item of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    pub offset: u64,
    /// Its bytes, without the newline.
    pub bytes: u64,
    pub content: Content<'a>,
    pub digest: Digest128,
    /// The first byte after it and its newline.
    pub next: u64,
}

/// What is held of a line.
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

    /// The line that a rest without a newline is all the same: no proper beginning of a JSON object is a
    /// JSON object. `None`: its writer is not done with it.
    pub(crate) fn of_rest(offset: u64, rest: &'a [u8]) -> Option<Self> {
        // It must end in its own last byte: white space may be half of a line's end.
        let is_object = rest.last() == Some(&b'}')
            && rest.trim_ascii_start().first() == Some(&b'{')
            && serde_json::from_slice::<serde::de::IgnoredAny>(rest).is_ok();
        is_object.then(|| Self::whole(offset, rest, offset + rest.len() as u64))
    }

    /// The next link of a chain. Digests of lines are chained, not bytes, so that it can be taken up at
    /// any line; the offset keeps a moved line apart.
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
            assert_eq!(Line::of_rest(0, rest.as_bytes()).is_some(), expected, "{rest}");
        }
    }
}
