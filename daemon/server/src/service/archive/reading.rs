//! Reads the new text of a transcript and cuts it into chunks.

use std::io;
use std::ops::Range;
use std::path::Path;

use longhaul_core::archive::chunk::{self, ChunkDigest};
use longhaul_core::redact::{redact, redact_value};
use longhaul_store::{ArchivedPart, ArchivedTranscript, FileRow, NewPiece};
use serde_json::Value;

use super::shared::BATCH_BYTES;
use crate::ingest::{Compared, Walk, compare};
use crate::transcript::{Content, LINE_BYTES_MAX, Piece, Transcript};

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
    let end = file.cursor.offset;
    let new = match known.is_redacted {
        true => read_redacted(&transcript, known.source_bytes..end, bytes_max)?,
        false => read_plain(&transcript, known.source_bytes..end, bytes_max)?,
    };
    let Some(new) = new else { return Ok(ReadOutcome::Gone) };
    let mut new = cut(known, tail, new);
    let known = &mut new.part.transcript;
    new.is_whole = known.source_bytes >= file.cursor.offset;
    if new.is_whole {
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

/// Calls `each` with the chunks of an archived text as its transcript has them now. Blocking.
pub(super) fn chunks_of(
    row: &ArchivedTranscript,
    mut each: impl FnMut(ChunkDigest, &[u8]),
) -> io::Result<()> {
    let transcript = match Transcript::open(row.source, Path::new(&row.path)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened?,
    };
    let end = row.source_bytes;
    let mut known = ArchivedTranscript { source_bytes: 0, text_bytes: 0, ..row.clone() };
    let mut tail = Tail::default();
    while known.source_bytes < end {
        let new = match row.is_redacted {
            true => read_redacted(&transcript, known.source_bytes..end, BATCH_BYTES)?,
            false => read_plain(&transcript, known.source_bytes..end, BATCH_BYTES)?,
        };
        let Some(new) = new.filter(|new| new.source_bytes > 0) else { break };
        let new = cut(known, tail, new);
        for (digest, place) in &new.chunks {
            each(*digest, &new.text[place.clone()]);
        }
        tail = tail_of(&new);
        known = new.part.transcript;
    }
    Ok(())
}

/// New text, and the number of bytes of the transcript that it comes from.
struct NewText {
    text: Vec<u8>,
    source_bytes: u64,
}

fn read_plain(
    transcript: &Transcript,
    place: Range<u64>,
    bytes_max: u64,
) -> io::Result<Option<NewText>> {
    let count = place.end.saturating_sub(place.start).min(bytes_max);
    let text = transcript.bytes_at(place.start, count)?;
    let source_bytes = text.len() as u64;
    Ok((source_bytes == count).then_some(NewText { text, source_bytes }))
}

/// Reads whole lines and redacts them.
fn read_redacted(
    transcript: &Transcript,
    Range { start: from, end }: Range<u64>,
    bytes_max: u64,
) -> io::Result<Option<NewText>> {
    let mut new = NewText { text: Vec::new(), source_bytes: 0 };
    let mut pieces = transcript.lines_from(from, LINE_BYTES_MAX)?;
    while new.source_bytes < bytes_max && from + new.source_bytes < end {
        match pieces.next_piece()? {
            Piece::Line(line) => {
                match line.content {
                    Content::Whole(bytes) => new.text.extend(redact_line(bytes)),
                    Content::Head(_) => {
                        new.text.extend(format!("{{\"oversized\":{}}}", line.bytes).bytes());
                    }
                }
                // The newline may have been written after the line was read.
                if line.next <= end {
                    new.text.push(b'\n');
                }
                new.source_bytes = line.next.min(end) - from;
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

/// The next part of an archived text, redacted, up to `end` of the plain text; `None` if the text ends before. Blocking.
pub(super) fn redacted_part(
    plain: &Transcript,
    known: ArchivedTranscript,
    tail: Tail,
    end: u64,
) -> io::Result<Option<NewPart>> {
    let new = read_redacted(plain, known.source_bytes..end, BATCH_BYTES)?;
    Ok(new.filter(|new| new.source_bytes > 0).map(|new| cut(known, tail, new)))
}

pub(super) fn tail_of(NewPart { part, text, chunks, .. }: &NewPart) -> Tail {
    match (part.pieces.last(), chunks.last()) {
        (Some(last), Some((_, place))) => Tail {
            offset: last.offset,
            lines_before: last.lines_before,
            chunk: text[place.clone()].to_vec(),
        },
        _ => Tail::default(),
    }
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
    let part = ArchivedPart { transcript, from, pieces, superseded: Vec::new() };
    NewPart { part, text, chunks, is_whole: false }
}

#[cfg(test)]
mod tests {
    use longhaul_core::digest::Digest128;
    use longhaul_core::thread::Source;

    use super::*;

    fn transcript() -> ArchivedTranscript {
        ArchivedTranscript {
            id: 0,
            path: "/t.jsonl".to_owned(),
            generation: 1,
            thread_id: "t".to_owned(),
            source: Source::Codex,
            cwd: None,
            first_seq: 0,
            source_bytes: 0,
            text_bytes: 0,
            checked_bytes: 0,
            checked_chain: Digest128::default(),
            is_redacted: false,
            updated_ms: 0,
            lived_ms: 0,
            first_pack: 0,
            redaction: 0,
        }
    }

    fn new_text(text: &[u8]) -> NewText {
        NewText { text: text.to_vec(), source_bytes: text.len() as u64 }
    }

    /// Offset, preceding lines and digest of each piece.
    fn places(pieces: &[NewPiece]) -> Vec<(u64, u64, ChunkDigest)> {
        pieces.iter().map(|piece| (piece.offset, piece.lines_before, piece.digest)).collect()
    }

    #[test]
    fn a_text_archived_in_parts_has_the_chunks_of_one_archived_at_once() {
        let text: Vec<u8> = (0..40_000_u32)
            .flat_map(|number| {
                format!("{{\"line\":{number},\"words\":\"{}\"}}\n", number * 7).into_bytes()
            })
            .collect();
        let whole = cut(transcript(), Tail::default(), new_text(&text));
        assert!(whole.part.pieces.len() > 3, "{} pieces", whole.part.pieces.len());
        for at in [1, 70_000, text.len() / 2, text.len() - 1] {
            let (first, second) = text.split_at(at);
            let first = cut(transcript(), Tail::default(), new_text(first));
            let (last, kept) = first.part.pieces.split_last().unwrap();
            let (_, range) = first.chunks.last().unwrap();
            let tail = Tail {
                offset: last.offset,
                lines_before: last.lines_before,
                chunk: first.text[range.clone()].to_vec(),
            };
            let second = cut(first.part.transcript.clone(), tail, new_text(second));
            let joined = [kept, &second.part.pieces].concat();
            assert_eq!(places(&joined), places(&whole.part.pieces), "cut at {at}");
            let (grown, complete) = (second.part.transcript, &whole.part.transcript);
            assert_eq!(grown.text_bytes, complete.text_bytes);
            assert_eq!(grown.source_bytes, complete.source_bytes);
        }
    }

    #[test]
    fn redaction_changes_only_lines_with_a_secret() {
        let plain = br#"{"a": 1,  "b":"words"}"#;
        assert_eq!(redact_line(plain), plain, "not even its spaces");
        let key = ["sk-", "proj-", "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z"].concat();
        let secret = format!(r#"{{"key":"{key}","b":"words"}}"#);
        let line = String::from_utf8(redact_line(secret.as_bytes())).unwrap();
        assert!(!line.contains(&key) && line.contains("words"), "{line}");
        let torn = String::from_utf8(redact_line(&secret.as_bytes()[..secret.len() - 2])).unwrap();
        assert!(!torn.contains(&key), "a line that is not JSON: {torn}");
    }
}
