//! Random access to an archived text.

use std::io::{self, ErrorKind, Read};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use longhaul_core::archive::chunk::ChunkDigest;
use longhaul_store::{ArchivedTranscript, Piece};

use super::pack::PackText;

/// A text in the archive. Reads chunks on demand and caches the last one and its open pack.
pub struct ArchivedText {
    folder: PathBuf,
    transcript: ArchivedTranscript,
    pieces: Vec<Piece>,
    cache: Mutex<ReadCache>,
}

#[derive(Default)]
struct ReadCache {
    chunk: Option<(usize, Arc<[u8]>)>,
    pack: Option<(i64, PackText)>,
}

impl ArchivedText {
    pub(super) fn new(folder: PathBuf, transcript: ArchivedTranscript, pieces: Vec<Piece>) -> Self {
        Self { folder, transcript, pieces, cache: Mutex::default() }
    }

    /// Its row in the index.
    pub fn transcript(&self) -> &ArchivedTranscript {
        &self.transcript
    }

    /// The chunk that contains the byte `offset`, and its own offset; `None` after the end.
    fn chunk_at(&self, offset: u64) -> io::Result<Option<(Arc<[u8]>, u64)>> {
        let index = self.pieces.partition_point(|piece| piece.offset <= offset).checked_sub(1);
        let Some((index, piece)) = index.and_then(|at| Some((at, self.pieces.get(at)?))) else {
            return Ok(None);
        };
        if offset >= piece.offset + piece.bytes {
            return match index + 1 == self.pieces.len() {
                true => Ok(None),
                false => {
                    Err(io::Error::new(ErrorKind::InvalidData, "a part of the text is missing"))
                }
            };
        }
        Ok(Some((self.chunk(index, piece)?, piece.offset)))
    }

    fn chunk(&self, index: usize, piece: &Piece) -> io::Result<Arc<[u8]>> {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, chunk)) = cache.chunk.as_ref().filter(|(at, _)| *at == index) {
            return Ok(Arc::clone(chunk));
        }
        let open = cache.pack.take();
        let open =
            open.filter(|(pack, text)| *pack == piece.pack && text.at() <= piece.pack_offset);
        let (pack, mut text) = match open {
            Some(open) => open,
            None => (piece.pack, PackText::open(&super::pack_at(&self.folder, piece.pack))?),
        };
        // A chunk that cannot be decompressed is damaged, too.
        let damaged =
            || io::Error::new(ErrorKind::InvalidData, "a chunk of the archive is damaged");
        let chunk = text.read(piece.pack_offset, piece.bytes).map_err(|_| damaged())?;
        if ChunkDigest::of(&chunk) != piece.digest {
            return Err(damaged());
        }
        let chunk: Arc<[u8]> = chunk.into();
        cache.pack = Some((pack, text));
        cache.chunk = Some((index, Arc::clone(&chunk)));
        Ok(chunk)
    }

    /// Reads some bytes at `offset`; none at the end.
    pub fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let Some((chunk, start)) = self.chunk_at(offset)? else { return Ok(0) };
        let from = usize::try_from(offset - start).unwrap_or(usize::MAX);
        let rest = chunk.get(from..).unwrap_or_default();
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    /// The offset of line `line` of the text, counted from 0.
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

/// Reads an archived text sequentially from an offset.
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
