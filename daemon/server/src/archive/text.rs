//! An archived text, read anywhere.

use std::io::{self, ErrorKind, Read};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use longhaul_core::archive::chunk::ChunkDigest;
use longhaul_store::{ArchivedTranscript, Piece};

use super::pack::PackText;

/// A text in the archive. Chunks are read as they are asked for; the last one, and the pack it came from, stay at hand.
pub struct ArchivedText {
    folder: PathBuf,
    transcript: ArchivedTranscript,
    pieces: Vec<Piece>,
    hand: Mutex<Hand>,
}

#[derive(Default)]
struct Hand {
    chunk: Option<(usize, Arc<[u8]>)>,
    pack: Option<(i64, PackText)>,
}

impl ArchivedText {
    pub(super) fn new(folder: PathBuf, transcript: ArchivedTranscript, pieces: Vec<Piece>) -> Self {
        Self { folder, transcript, pieces, hand: Mutex::default() }
    }

    /// What the index says of it.
    pub fn transcript(&self) -> &ArchivedTranscript {
        &self.transcript
    }

    /// The chunk with the byte `offset`, and its place; `None` behind the end.
    fn chunk_at(&self, offset: u64) -> io::Result<Option<(Arc<[u8]>, u64)>> {
        let index = self.pieces.partition_point(|piece| piece.offset <= offset).checked_sub(1);
        let Some((index, piece)) = index.and_then(|at| Some((at, self.pieces.get(at)?))) else {
            return Ok(None);
        };
        if offset >= piece.offset + piece.bytes {
            return match index + 1 == self.pieces.len() {
                true => Ok(None),
                false => Err(io::Error::new(ErrorKind::InvalidData, "a stretch is missing")),
            };
        }
        Ok(Some((self.chunk(index, piece)?, piece.offset)))
    }

    fn chunk(&self, index: usize, piece: &Piece) -> io::Result<Arc<[u8]>> {
        let mut hand = self.hand.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, chunk)) = hand.chunk.as_ref().filter(|(at, _)| *at == index) {
            return Ok(Arc::clone(chunk));
        }
        let at_hand = hand.pack.take();
        let at_hand =
            at_hand.filter(|(pack, text)| *pack == piece.pack && text.at() <= piece.pack_offset);
        let (pack, mut text) = match at_hand {
            Some(at_hand) => at_hand,
            None => (piece.pack, PackText::open(&super::pack_at(&self.folder, piece.pack))?),
        };
        // What cannot be decompressed is damaged, too.
        let damaged =
            || io::Error::new(ErrorKind::InvalidData, "a chunk of the archive is damaged");
        let chunk = text.read(piece.pack_offset, piece.bytes).map_err(|_| damaged())?;
        if ChunkDigest::of(&chunk) != piece.digest {
            return Err(damaged());
        }
        let chunk: Arc<[u8]> = chunk.into();
        hand.pack = Some((pack, text));
        hand.chunk = Some((index, Arc::clone(&chunk)));
        Ok(chunk)
    }

    /// Some bytes from `offset` on; none at the end.
    pub fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let Some((chunk, start)) = self.chunk_at(offset)? else { return Ok(0) };
        let from = usize::try_from(offset - start).unwrap_or(usize::MAX);
        let rest = chunk.get(from..).unwrap_or_default();
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    /// Where line `line` of the text begins, counted from 0.
    pub fn line_offset(&self, line: u64) -> io::Result<u64> {
        let before = self.pieces.partition_point(|piece| piece.lines_before < line);
        let Some(piece) = before.checked_sub(1).and_then(|at| self.pieces.get(at)) else {
            return Ok(0);
        };
        let (mut offset, mut left) = (piece.offset, line - piece.lines_before);
        while let Some((chunk, start)) = self.chunk_at(offset)? {
            let from = usize::try_from(offset - start).unwrap_or(usize::MAX);
            for at in memchr::memchr_iter(b'\n', chunk.get(from..).unwrap_or_default()) {
                left -= 1;
                if left == 0 {
                    return Ok(offset + at as u64 + 1);
                }
            }
            offset = start + chunk.len() as u64;
        }
        Ok(offset)
    }
}

/// An archived text from some offset on.
pub(crate) struct ArchivedReader {
    text: Arc<ArchivedText>,
    at: u64,
}

impl ArchivedReader {
    pub(crate) fn new(text: Arc<ArchivedText>, at: u64) -> Self {
        Self { text, at }
    }
}

impl Read for ArchivedReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.text.read_at(self.at, into)?;
        self.at += count as u64;
        Ok(count)
    }
}
