//! Reads lines back from a transcript: exact bytes, checked against their digest.
//!
//! Transcripts belong to other programs: they are opened read-only, and may have changed or become unreadable since. A
//! line that cannot be read or whose digest differs is read from the archive or not returned.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use longhaul_core::digest::Digest128;
use longhaul_core::item::{ItemKind, ItemRow};
use longhaul_core::rollout;
use longhaul_core::thread::Source;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};

use super::open::{Fallback, Text, Transcript};
use super::piece::{Content, Piece};
use crate::archive::ArchivedText;

/// Longest line that is returned, in bytes; a longer one is named by its place.
const LINE_BYTES_MAX: u64 = 8 << 20;

/// Reads lines of one transcript in increasing order.
pub struct LineReader {
    source: Source,
    path: PathBuf,
    /// `None` if it is gone or cannot be read on.
    transcript: Option<Transcript>,
    /// Why it cannot be read; `None` if it is gone, and once it is returned.
    unreadable: Option<io::Error>,
    /// The text and the current offset, if it cannot be entered in the middle.
    text: Option<(Text, u64)>,
    fallback: Option<Fallback>,
    archived: Option<Transcript>,
    lines_from_archive: u64,
}

/// Why a line cannot be returned.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// Its bytes have changed.
    #[error("the line has changed")]
    Changed,
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl LineReader {
    /// Opens a transcript of `source`, plain or compressed; one that is gone or cannot be opened is read from the
    /// archive.
    pub fn open(source: Source, path: &Path, fallback: Option<Fallback>) -> io::Result<Self> {
        let mut reader = Self::new(source, path.to_owned());
        match (Transcript::open(source, path), &fallback) {
            (Ok(transcript), _) => reader.transcript = Some(transcript),
            (Err(error), Some(fallback)) => match Transcript::archived(path, fallback) {
                Ok(text) => {
                    reader.archived = Some(text);
                    reader.unreadable =
                        Some(error).filter(|why| why.kind() != io::ErrorKind::NotFound);
                }
                Err(_) => return Err(error),
            },
            (Err(error), None) => return Err(error),
        }
        Ok(Self { fallback, ..reader })
    }

    fn new(source: Source, path: PathBuf) -> Self {
        Self {
            source,
            path,
            transcript: None,
            unreadable: None,
            text: None,
            fallback: None,
            archived: None,
            lines_from_archive: 0,
        }
    }

    /// Reads an archived text, regardless of its transcript.
    pub(crate) fn of_archived(source: Source, archived: Transcript) -> Self {
        Self { archived: Some(archived), ..Self::new(source, PathBuf::new()) }
    }

    /// Whether any line came from the archive.
    pub fn is_from_archive(&self) -> bool {
        self.lines_from_archive > 0
    }

    /// The bytes of a line, without its newline.
    ///
    /// # Errors
    /// [`LineError::Changed`] if the digest differs or the file ends before it; [`LineError::Io`] if the transcript cannot
    /// be read and the archive does not have the line.
    pub fn read(&mut self, row: &ItemRow) -> Result<Vec<u8>, LineError> {
        let found = match &self.transcript {
            Some(transcript) if transcript.compressed => self.read_on(row),
            Some(transcript) => transcript.bytes_at(row.offset, row.bytes),
            None => Ok(Vec::new()),
        };
        match found {
            Ok(line) if Digest128::of(&line) == row.digest => return Ok(line),
            Ok(_) => {}
            Err(error) => {
                // Compressed text behind the damage cannot be read; of a plain file, other lines can.
                self.transcript = self.transcript.take().filter(|text| !text.compressed);
                self.unreadable = Some(error);
            }
        }
        let archived = self.read_archived(row);
        archived.map_err(|error| self.unreadable.take().map_or(error, LineError::Io))
    }

    fn read_archived(&mut self, row: &ItemRow) -> Result<Vec<u8>, LineError> {
        if self.archived.is_none()
            && let Some(fallback) = &self.fallback
        {
            self.archived = Transcript::archived(&self.path, fallback).ok();
        }
        let archived = self.archived.as_ref().ok_or(LineError::Changed)?;
        let line = match archived.archived_text().map(ArchivedText::transcript) {
            Some(text) if text.is_redacted => {
                redacted_line(archived, row.seq.saturating_sub(text.first_seq))?
            }
            _ => {
                let line = archived.bytes_at(row.offset, row.bytes)?;
                (Digest128::of(&line) == row.digest).then_some(line)
            }
        };
        self.lines_from_archive += u64::from(line.is_some());
        line.ok_or(LineError::Changed)
    }

    fn read_on(&mut self, row: &ItemRow) -> io::Result<Vec<u8>> {
        let (mut text, at) = match (self.text.take(), &self.transcript) {
            (Some((text, at)), _) if at <= row.offset => (text, at),
            (_, Some(transcript)) => (transcript.text_from(0)?, 0),
            (_, None) => return Ok(Vec::new()),
        };
        let mut line = Vec::new();
        let skipped = io::copy(&mut text.by_ref().take(row.offset - at), &mut io::sink())?;
        if skipped == row.offset - at {
            text.by_ref().take(row.bytes).read_to_end(&mut line)?;
        }
        self.text = Some((text, at + skipped + line.len() as u64));
        Ok(line)
    }

    /// The items on a line, byte for byte where it is Unicode; several if a torn write left two.
    pub fn items(&mut self, row: &ItemRow) -> Result<Vec<Box<RawValue>>, LineError> {
        if row.kind == ItemKind::Oversized || row.bytes > LINE_BYTES_MAX {
            return Ok(place(row).into_iter().collect());
        }
        Ok(items_of(&self.read(row)?))
    }

    /// The items on a line in history form: byte for byte if the line has them in the Responses form, else
    /// converted to it.
    pub fn history_items(&mut self, row: &ItemRow) -> Result<Vec<Box<RawValue>>, LineError> {
        let is_read = row.kind != ItemKind::Oversized && row.bytes <= LINE_BYTES_MAX;
        match self.source.spec().responses {
            Some(responses) if is_read => {
                let items = responses(&self.read(row)?);
                Ok(items.iter().filter_map(|item| to_raw_value(item).ok()).collect())
            }
            _ => self.items(row),
        }
    }
}

/// A line of a text with replaced secrets: its place and digest differ from the original's.
fn redacted_line(archived: &Transcript, number: u64) -> io::Result<Option<Vec<u8>>> {
    let Some(text) = archived.archived_text() else { return Ok(None) };
    let offset = text.line_offset(number)?;
    let bytes_max = usize::try_from(LINE_BYTES_MAX).unwrap_or(usize::MAX);
    Ok(match archived.lines_from(offset, bytes_max)?.next_piece()? {
        Piece::Line(line) => match line.content {
            Content::Whole(bytes) => Some(bytes.to_vec()),
            Content::Head(_) => None,
        },
        Piece::End { rest, .. } => (!rest.is_empty()).then(|| rest.to_vec()),
    })
}

/// A line's envelope, with its payload as bytes.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
}

/// The items of a line: an envelope's payload, or the bare object.
fn items_of(line: &[u8]) -> Vec<Box<RawValue>> {
    let text = rollout::text_of(line);
    let text = text.trim_start_matches('\u{feff}');
    let objects = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    let mut items = Vec::new();
    for object in objects.map_while(Result::ok) {
        let payload = match serde_json::from_str::<Envelope<'_>>(object.get()) {
            Ok(Envelope { payload: Some(payload), kind }) => {
                let is_item = matches!(kind.as_deref(), Some("response_item" | "compacted"));
                is_item.then(|| payload.to_owned())
            }
            _ => Some(object.to_owned()),
        };
        items.extend(payload);
    }
    items
}

/// A placeholder for a line that is too long to send.
fn place(row: &ItemRow) -> Option<Box<RawValue>> {
    let place = serde_json::json!({
        "type": "oversized",
        "offset": row.offset,
        "bytes": row.bytes,
        "digest": row.digest,
    });
    to_raw_value(&place).ok()
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write as _;

    use super::*;

    fn row(offset: u64, line: &str) -> ItemRow {
        ItemRow {
            seq: 0,
            offset,
            bytes: line.len() as u64,
            kind: ItemKind::Other,
            tokens: 1,
            digest: Digest128::of(line.as_bytes()),
            excerpt: String::new(),
            call_id: None,
        }
    }

    /// As in a Claude Code transcript whose tool cut a text in the middle of an emoji.
    #[test]
    fn items_are_json_that_every_client_can_parse() {
        for (line, expected) in [
            (&br#"{"type":"message","content":"half \ud83d"}"#[..], "half \u{fffd}"),
            (b"{\"type\":\"message\",\"content\":\"bytes \xff\"}", "bytes \u{fffd}"),
            (br#"{"type":"message","content":"whole \ud83d\ude00"}"#, "whole \u{1f600}"),
        ] {
            let items = items_of(line);
            let item: serde_json::Value = serde_json::from_str(items[0].get()).unwrap();
            assert_eq!(item["content"], expected);
        }
    }

    #[test]
    fn items_are_read_byte_for_byte_from_plain_and_compressed_files() {
        let first =
            r#"{"timestamp":"t","type":"response_item","payload":{"type":"message", "b":1,"a":2}}"#;
        let second = r#"{"type":"message","role":"user"}"#;
        let content = format!("{first}\n{second}\n");
        let temp = tempfile::tempdir().unwrap();
        let (plain, packed) = (temp.path().join("a.jsonl"), temp.path().join("a.jsonl.zst"));
        std::fs::write(&plain, &content).unwrap();
        let mut encoder = zstd::Encoder::new(File::create(&packed).unwrap(), 1).unwrap();
        encoder.write_all(content.as_bytes()).unwrap();
        encoder.finish().unwrap();
        for path in [&plain, &packed] {
            let mut lines = LineReader::open(Source::Codex, path, None).unwrap();
            let items = lines.items(&row(0, first)).unwrap();
            assert_eq!(items[0].get(), r#"{"type":"message", "b":1,"a":2}"#);
            let items = lines.items(&row(first.len() as u64 + 1, second)).unwrap();
            assert_eq!(items[0].get(), second);
        }
        let changed = LineReader::open(Source::Codex, &plain, None)
            .unwrap()
            .items(&row(0, &first.replace('2', "3")));
        assert!(matches!(changed, Err(LineError::Changed)));
    }
}
