//! A transcript in the pieces it is folded by: lines, or the items of a document.

use std::io;

use longhaul_core::rollout::source::Layout;

use super::document::Items;
use super::lines::Lines;
use super::open::{Text, Transcript};
use super::piece::Piece;

/// What a transcript is read through.
pub(crate) enum Pieces {
    Lines(Lines<Text>),
    Items(Box<Items<Text>>),
}

impl Pieces {
    /// The pieces from `offset` on. A document is read from its beginning only.
    ///
    /// # Errors
    /// Those of reading.
    pub(crate) fn of(transcript: &Transcript, offset: u64, bytes_max: usize) -> io::Result<Self> {
        let text = transcript.text_from(offset)?;
        Ok(match transcript.layout {
            Layout::Lines | Layout::Assembled(_) | Layout::Records(_) => {
                Self::Lines(Lines::new(text, offset, bytes_max))
            }
            Layout::Document(keys) => Self::Items(Box::new(Items::new(text, keys, bytes_max))),
        })
    }

    /// The next piece, or the end.
    ///
    /// # Errors
    /// Those of reading; the pieces before stand.
    pub(crate) fn next(&mut self) -> io::Result<Piece<'_>> {
        match self {
            Self::Lines(lines) => lines.next(),
            Self::Items(items) => items.next(),
        }
    }
}
