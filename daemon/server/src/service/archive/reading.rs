//! Reads the new text of a transcript and cuts it into chunks.

use std::io;
use std::ops::Range;
use std::path::Path;

use longhaul_core::archive::chunk::{self, ChunkDigest};
use longhaul_core::redact::{redact, redact_value};
use longhaul_store::{ArchivedPart, ArchivedTranscript, FileRow, NewPiece};
use serde_json::Value;

use crate::ingest::{Compared, Walk, compare};
use crate::transcript::{Content, LINE_BYTES_MAX, Piece, Pieces, Transcript};

/// The new text of a transcript.
pub(super) struct NewPart {
    pub(super) part: ArchivedPart,
    pub(super) text: Vec<u8>,
    /// The chunks of its pieces, in order, and their ranges in `text`.
    pub(super) chunks: Vec<(ChunkDigest, Range<usize>)>,
    /// Whether it reaches ingestion's cursor.
    pub(super) is_whole: bool,
}

pub(super) enum ReadOutcome {
    New(Box<NewPart>),
    /// The file has other lines than were ingested.
    Changed,
    /// The file is missing or shorter than before; ingestion will find out why.
    Gone,
}

/// The end of the archived text: its last chunk, which new text may extend.
#[derive(Default)]
pub(super) struct Tail {
    pub(super) offset: u64,
    pub(super) lines_before: u64,
    pub(super) chunk: Vec<u8>,
}

/// Reads about `bytes_max` bytes after the text of `known`. Blocking.
pub(super) fn read(
    file: &FileRow,
    known: ArchivedTranscript,
    tail: Tail,
    bytes_max: u64,
) -> io::Result<ReadOutcome> {
    let transcript = match Transcript::open(file.source, Path::new(&file.path)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(ReadOutcome::Gone),
        opened => opened?,
    };
    let new = match known.is_redacted {
        true => read_redacted(&transcript, file, known.source_bytes, bytes_max)?,
        false => read_plain(&transcript, file, known.source_bytes, bytes_max)?,
    };
    let Some(new) = new else { return Ok(ReadOutcome::Gone) };
    let mut new = cut(known, tail, new);
    let known = &mut new.part.transcript;
    new.is_whole = known.source_bytes >= file.cursor.offset;
    if new.is_whole && !transcript.is_document() {
        let walk = Walk { at: known.checked_bytes, chain: known.checked_chain };
        let compared = compare(&transcript, &file.cursor, (walk, u64::MAX), LINE_BYTES_MAX)?;
        if compared != Compared::Same {
            return Ok(ReadOutcome::Changed);
        }
        // After a last line without a newline, a later comparison cannot continue.
        if !file.cursor.open_end {
            known.checked_bytes = file.cursor.offset;
            known.checked_chain = file.cursor.chain;
        }
    }
    Ok(ReadOutcome::New(Box::new(new)))
}

/// New text, and the number of bytes of the transcript that it comes from.
struct NewText {
    text: Vec<u8>,
    source_bytes: u64,
}

fn read_plain(
    transcript: &Transcript,
    file: &FileRow,
    from: u64,
    bytes_max: u64,
) -> io::Result<Option<NewText>> {
    let count = file.cursor.offset.saturating_sub(from).min(bytes_max);
    let text = transcript.bytes_at(from, count)?;
    let source_bytes = text.len() as u64;
    Ok((source_bytes == count).then_some(NewText { text, source_bytes }))
}

/// Reads whole lines and redacts them. A document has no lines and is not archived redacted.
fn read_redacted(
    transcript: &Transcript,
    file: &FileRow,
    from: u64,
    bytes_max: u64,
) -> io::Result<Option<NewText>> {
    if transcript.is_document() {
        return Ok(None);
    }
    let mut new = NewText { text: Vec::new(), source_bytes: 0 };
    let mut pieces = Pieces::of(transcript, from, LINE_BYTES_MAX)?;
    while new.source_bytes < bytes_max && from + new.source_bytes < file.cursor.offset {
        match pieces.next()? {
            Piece::Line(line) => {
                match line.content {
                    Content::Whole(bytes) => new.text.extend(redact_line(bytes)),
                    Content::Head(_) => {
                        new.text.extend(format!("{{\"oversized\":{}}}", line.bytes).bytes());
                    }
                }
                new.text.push(b'\n');
                new.source_bytes = line.next - from;
            }
            Piece::End { rest, .. } if !rest.is_empty() => {
                new.text.extend(redact_line(rest));
                new.source_bytes += rest.len() as u64;
            }
            Piece::End { .. } => return Ok(None),
        }
    }
    Ok(Some(new))
}

fn redact_line(line: &[u8]) -> Vec<u8> {
    if let Ok(mut value) = serde_json::from_slice::<Value>(line) {
        return match redact_value(&mut value) {
            0 => line.to_vec(),
            _ => value.to_string().into_bytes(),
        };
    }
    redact(&String::from_utf8_lossy(line)).text.into_owned().into_bytes()
}

/// Cuts the last chunk again together with the text that follows it.
fn cut(known: ArchivedTranscript, tail: Tail, new: NewText) -> NewPart {
    let Tail { offset: from, mut lines_before, chunk: open } = tail;
    let transcript = ArchivedTranscript {
        source_bytes: known.source_bytes + new.source_bytes,
        text_bytes: known.text_bytes + new.text.len() as u64,
        ..known
    };
    let mut text = new.text;
    text.splice(0..0, open);
    let (mut at, mut pieces, mut chunks) = (0, Vec::new(), Vec::new());
    for chunk in chunk::chunks(&text) {
        let digest = ChunkDigest::of(chunk);
        pieces.push(NewPiece { offset: from + at as u64, lines_before, digest });
        lines_before += memchr::memchr_iter(b'\n', chunk).count() as u64;
        chunks.push((digest, at..at + chunk.len()));
        at += chunk.len();
    }
    let part = ArchivedPart { transcript, from, pieces };
    NewPart { part, text, chunks, is_whole: false }
}
