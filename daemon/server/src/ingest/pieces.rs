//! A transcript in the pieces it is folded by: lines, or the items of a document.

use std::io;

use super::document::Items;
use super::tail::{Found, Lines};
use super::zst::{Text, Transcript};

/// What a transcript is read through.
pub(crate) enum Pieces<'a> {
    Lines(Lines<Text<'a>>),
    Items(Box<Items<Text<'a>>>),
}

impl<'a> Pieces<'a> {
    /// The pieces from `offset` on. A document is read from its beginning only.
    ///
    /// # Errors
    /// Those of reading.
    pub(crate) fn of(
        transcript: &'a Transcript,
        offset: u64,
        bytes_max: usize,
    ) -> io::Result<Self> {
        let text = transcript.text_from(offset)?;
        Ok(match transcript.is_document {
            true => Self::Items(Box::new(Items::new(text, bytes_max))),
            false => Self::Lines(Lines::new(text, offset, bytes_max)),
        })
    }

    /// The next piece, or the end.
    ///
    /// # Errors
    /// Those of reading; the pieces before stand.
    pub(crate) fn next(&mut self) -> io::Result<Found<'_>> {
        match self {
            Self::Lines(lines) => lines.next(),
            Self::Items(items) => items.next(),
        }
    }
}
