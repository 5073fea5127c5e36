//! The pieces of a transcript that are folded: lines, or the items of a document.

use std::io::{self, Read};

use longhaul_core::rollout::source::{Layout, TranscriptPlace};

use super::document::Items;
use super::lines::Lines;
use super::open::{Text, Transcript};
use super::piece::{Line, Piece};

pub(crate) enum Pieces {
    Lines(Lines<Text>),
    Items(Box<Items<Text>>),
}

impl Pieces {
    /// The pieces from `offset` on. A document is only read from its beginning.
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
    /// The reader fails; pieces already returned stay valid.
    pub(crate) fn next(&mut self) -> io::Result<Piece<'_>> {
        match self {
            Self::Lines(lines) => lines.next(),
            Self::Items(items) => items.next(),
        }
    }
}

/// Bytes after the last line of a text: their offset, and whether they are a line without a newline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rest {
    pub offset: u64,
    pub bytes: usize,
    pub is_line: bool,
}

/// Passes the pieces of the transcript at `path`, whose text comes from any reader, to `see`. A layout that is
/// converted to lines is read as a whole first; records in several files are not supported.
pub fn each_piece(
    (layout, path): (Layout, &str),
    mut text: impl Read,
    bytes_max: usize,
    see: &mut dyn FnMut(&Line<'_>),
) -> io::Result<Rest> {
    match layout {
        Layout::Lines | Layout::Records(_) => {
            rest_of(Lines::new(text, 0, bytes_max), Lines::next, see)
        }
        Layout::Document(keys) => rest_of(Items::new(text, keys, bytes_max), Items::next, see),
        Layout::Assembled(assembly) => {
            let mut bytes = Vec::new();
            text.read_to_end(&mut bytes)?;
            let lines = (assembly.lines)(&bytes, TranscriptPlace { path, marker: None });
            rest_of(Lines::new(lines.as_slice(), 0, bytes_max), Lines::next, see)
        }
    }
}

fn rest_of<P>(
    mut pieces: P,
    next: impl Fn(&mut P) -> io::Result<Piece<'_>>,
    see: &mut dyn FnMut(&Line<'_>),
) -> io::Result<Rest> {
    loop {
        match next(&mut pieces)? {
            Piece::Line(line) => see(&line),
            Piece::End { offset, rest } => {
                let line = Line::of_rest(offset, rest);
                line.iter().for_each(&mut *see);
                return Ok(Rest { offset, bytes: rest.len(), is_line: line.is_some() });
            }
        }
    }
}
