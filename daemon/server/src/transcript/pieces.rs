//! The lines of a transcript whose text comes from any reader.

use std::io::{self, Read};

use longhaul_core::rollout::source::{Layout, TranscriptPlace};

use super::lines::Lines;
use super::piece::{Line, Piece};

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
        Layout::Lines | Layout::Records(_) => rest_of(Lines::new(text, 0, bytes_max), see),
        Layout::Assembled(assembly) => {
            let mut bytes = Vec::new();
            text.read_to_end(&mut bytes)?;
            let lines = (assembly.lines)(&bytes, TranscriptPlace { path, marker: None });
            rest_of(Lines::new(&*lines.unwrap_or_default(), 0, bytes_max), see)
        }
    }
}

fn rest_of<R: Read>(mut lines: Lines<R>, see: &mut dyn FnMut(&Line<'_>)) -> io::Result<Rest> {
    loop {
        match lines.next()? {
            Piece::Line(line) => see(&line),
            Piece::End { offset, rest } => {
                let line = Line::of_rest(offset, rest);
                line.iter().for_each(&mut *see);
                return Ok(Rest { offset, bytes: rest.len(), is_line: line.is_some() });
            }
        }
    }
}
