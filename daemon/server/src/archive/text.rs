//! Random access to an archived text.

use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use longhaul_core::archive::chunk::ChunkDigest;
use longhaul_store::{ArchiveIndex, ArchivedTranscript, Piece};
use tokio::runtime::Handle;

use super::pack::PackText;

/// A text in the archive, as it was when it was opened. Reads chunks on demand and caches the last one and its open pack.
pub struct ArchivedText {
    folder: PathBuf,
    index: ArchiveIndex,
    transcript: ArchivedTranscript,
    state: Mutex<ReadState>,
}

/// A part of an archived text is damaged or gone. Its readers return it as an [`io::Error`].
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct TextDamage(&'static str);

struct ReadState {
    pieces: Vec<Piece>,
    /// The last chunk, with its offset in the text.
    chunk: Option<(u64, Arc<[u8]>)>,
    pack: Option<(i64, PackText)>,
}

impl ArchivedText {
    pub(super) fn new(
        folder: PathBuf,
        index: ArchiveIndex,
        transcript: ArchivedTranscript,
        pieces: Vec<Piece>,
    ) -> Self {
        let state = Mutex::new(ReadState { pieces, chunk: None, pack: None });
        Self { folder, index, transcript, state }
    }

    /// Whether a text could not be read because the archive is damaged.
    pub fn is_damage(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|cause| cause.is::<TextDamage>())
    }

    /// Its row in the index.
    pub fn transcript(&self) -> &ArchivedTranscript {
        &self.transcript
    }

    /// The chunk that contains the byte `offset`, and its own offset; `None` after the end. Blocking, on a thread of the
    /// runtime.
    fn chunk_at(&self, offset: u64) -> io::Result<Option<(Arc<[u8]>, u64)>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match state.chunk_at(&self.folder, offset) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                // Its pack was merged into another one since.
                let pieces = self.index.packs.pieces(self.transcript.id);
                let pieces = Handle::current().block_on(pieces).map_err(io::Error::other)?;
                if pieces.is_empty() {
                    return Err(error);
                }
                *state = ReadState { pieces, chunk: None, pack: None };
                state.chunk_at(&self.folder, offset).map_err(|error| match error.kind() {
                    ErrorKind::NotFound => damaged("a pack of the archive is gone"),
                    _ => error,
                })
            }
            read => read,
        }
    }

    /// Reads some bytes at `offset`; none at the end.
    pub fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        // Its last chunk may have grown since it was opened.
        let left = self.transcript.text_bytes.saturating_sub(offset);
        if left == 0 {
            return Ok(0);
        }
        let Some((chunk, start)) = self.chunk_at(offset)? else { return Ok(0) };
        let from = usize::try_from(offset - start).unwrap_or(usize::MAX);
        let rest = chunk.get(from..).unwrap_or_default();
        let count = rest.len().min(into.len()).min(usize::try_from(left).unwrap_or(usize::MAX));
        into[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    /// The offset of line `line` of the text, counted from 0.
    pub fn line_offset(&self, line: u64) -> io::Result<u64> {
        let before = {
            let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let before = state.pieces.partition_point(|piece| piece.lines_before < line);
            before.checked_sub(1).and_then(|at| state.pieces.get(at)).copied()
        };
        let Some(piece) = before else { return Ok(0) };
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

impl ReadState {
    fn chunk_at(&mut self, folder: &Path, offset: u64) -> io::Result<Option<(Arc<[u8]>, u64)>> {
        let after = self.pieces.partition_point(|piece| piece.offset <= offset);
        let piece = after.checked_sub(1).and_then(|at| self.pieces.get(at)).copied();
        let Some(piece) = piece else { return Ok(None) };
        if offset >= piece.offset + piece.bytes {
            return match after == self.pieces.len() {
                true => Ok(None),
                false => Err(damaged("a part of the text is missing")),
            };
        }
        Ok(Some((self.chunk(folder, &piece)?, piece.offset)))
    }

    fn chunk(&mut self, folder: &Path, piece: &Piece) -> io::Result<Arc<[u8]>> {
        if let Some((_, chunk)) = self.chunk.as_ref().filter(|(at, _)| *at == piece.offset) {
            return Ok(Arc::clone(chunk));
        }
        let open = self.pack.take();
        let open =
            open.filter(|(pack, text)| *pack == piece.pack && text.at() <= piece.pack_offset);
        let (pack, mut text) = match open {
            Some(open) => open,
            None => (piece.pack, open_pack(&super::pack_at(folder, piece.pack))?),
        };
        let unreadable = || damaged("a chunk of the archive is damaged");
        let read = text.read(piece.pack_offset, piece.bytes);
        let chunk = read.map_err(|error| match error.raw_os_error() {
            // The disk may be readable later.
            Some(_) => error,
            // A chunk that cannot be decompressed is damaged.
            None => unreadable(),
        })?;
        if ChunkDigest::of(&chunk) != piece.digest {
            return Err(unreadable());
        }
        let chunk: Arc<[u8]> = chunk.into();
        self.pack = Some((pack, text));
        self.chunk = Some((piece.offset, Arc::clone(&chunk)));
        Ok(chunk)
    }
}

fn open_pack(path: &Path) -> io::Result<PackText> {
    PackText::open(path).map_err(|error| match error.kind() {
        ErrorKind::InvalidData => damaged("a pack of the archive has lost its end"),
        _ => error,
    })
}

/// The error of a text that is not complete.
pub fn damaged(what: &'static str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, TextDamage(what))
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

#[cfg(test)]
mod tests {
    use longhaul_core::digest::Digest128;
    use longhaul_core::thread::Source;
    use longhaul_store::{ArchivedPart, NewPack, NewPiece};

    use super::*;
    use crate::archive::{Archive, PackWriter};

    fn pack(folder: &Path, number: i64, chunks: &[&str]) -> NewPack {
        let bytes = chunks.iter().map(|chunk| chunk.len() as u64).sum();
        let mut pack = PackWriter::begin(folder, number, bytes).unwrap();
        for chunk in chunks {
            pack.add(ChunkDigest::of(chunk.as_bytes()), chunk.as_bytes()).unwrap();
        }
        pack.finish().unwrap()
    }

    /// A text of these chunks.
    fn part(chunks: &[&str]) -> ArchivedPart {
        let (mut offset, mut lines_before, mut pieces) = (0, 0, Vec::new());
        for chunk in chunks {
            let digest = ChunkDigest::of(chunk.as_bytes());
            pieces.push(NewPiece { offset, lines_before, digest });
            offset += chunk.len() as u64;
            lines_before += chunk.matches('\n').count() as u64;
        }
        let transcript = ArchivedTranscript {
            id: 0,
            path: "/t.jsonl".to_owned(),
            generation: 1,
            thread_id: "t".to_owned(),
            source: Source::Codex,
            cwd: None,
            first_seq: 0,
            source_bytes: offset,
            text_bytes: offset,
            checked_bytes: 0,
            checked_chain: Digest128::default(),
            is_redacted: false,
            updated_ms: 0,
            lived_ms: 0,
            first_pack: 0,
            redaction: 0,
        };
        ArchivedPart { transcript, from: 0, pieces, superseded: Vec::new() }
    }

    async fn read(text: &Arc<ArchivedText>, at: u64) -> io::Result<String> {
        let mut reader = ArchivedReader::new(Arc::clone(text), at);
        let reading = move || {
            let mut all = String::new();
            reader.read_to_string(&mut all).map(|_| all)
        };
        tokio::task::spawn_blocking(reading).await.unwrap()
    }

    #[tokio::test]
    async fn a_text_is_read_as_it_was_opened_while_its_packs_are_merged_and_it_grows() {
        let state = tempfile::tempdir().unwrap();
        let archive = Archive::new(state.path());
        let index = archive.open().await.unwrap();
        let (chunks, folder) = (["first line\n", "second line\n"], archive.folder());
        let packs = [pack(folder, 1, &chunks[..1]), pack(folder, 2, &chunks[1..])];
        index.commit(&packs, &[part(&chunks)]).await.unwrap();
        let row = index.transcripts.get("/t.jsonl", 1).await.unwrap().unwrap();
        let opened = Arc::new(archive.text(&index, row.clone()).await.unwrap());
        let before = read(&opened, 0).await.unwrap();
        assert_eq!(before, chunks.concat());

        let merged = pack(folder, 3, &chunks);
        index.packs.repack(&[1, 2], Some(&merged)).await.unwrap();
        for number in [1, 2] {
            std::fs::remove_file(archive.pack(number)).unwrap();
        }
        assert_eq!(read(&opened, 0).await.unwrap(), before);

        let grown = ["first line\n", "second line\nthird line\n"];
        index.commit(&[pack(folder, 4, &grown[1..])], &[part(&grown)]).await.unwrap();
        index.packs.sweep().await.unwrap();
        index.packs.repack(&[3], Some(&pack(folder, 5, &grown[..1]))).await.unwrap();
        std::fs::remove_file(archive.pack(3)).unwrap();
        let other = Arc::new(archive.text(&index, row.clone()).await.unwrap());
        for text in [&opened, &other] {
            assert_eq!(read(text, 0).await.unwrap(), before, "without what came later");
            assert_eq!(read(text, 6).await.unwrap(), before[6..]);
        }

        index.transcripts.remove(&[row.id]).await.unwrap();
        index.packs.sweep().await.unwrap();
        index.packs.repack(&[4, 5], None).await.unwrap();
        for number in [4, 5] {
            std::fs::remove_file(archive.pack(number)).unwrap();
        }
        assert_eq!(read(&opened, 0).await.unwrap_err().kind(), ErrorKind::NotFound);
    }
}
