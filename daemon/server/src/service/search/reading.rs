//! Reads items of a transcript and splits them into words.

use std::io;
use std::path::Path;

use longhaul_core::item::{ItemKind, ItemRow};
use longhaul_core::search::{item, word};
use longhaul_store::{IndexItem, IndexPart, IndexedFile};

use crate::transcript::{Fallback, LineError, LineReader};

/// Longest line that is indexed; longer ones hold images and data.
const LINE_BYTES_MAX: u64 = 4 << 20;

/// The words read, and whether all requested rows were read.
pub(super) struct Read {
    /// Words and the cursor after them.
    pub(super) part: IndexPart,
    pub(super) bytes: usize,
    pub(super) is_whole: bool,
}

/// Reads the items of `rows`, which follow the cursor of `file`, up to about `bytes_max` bytes of words.
///
/// Stops at a line that does not match its row: the file has changed, and ingestion will report it.
pub(super) fn read(
    mut file: IndexedFile,
    rows: &[ItemRow],
    fallback: Fallback,
    bytes_max: usize,
) -> io::Result<Read> {
    let mut lines = LineReader::open(file.source, Path::new(&file.path), Some(fallback))?;
    let (mut items, mut bytes, mut is_whole) = (Vec::new(), 0, true);
    for row in rows {
        if bytes >= bytes_max {
            is_whole = false;
            break;
        }
        if has_words(row) {
            let line = match lines.read(row) {
                Ok(line) => line,
                Err(LineError::Changed) => break,
                Err(LineError::Io(error)) => return Err(error),
            };
            if let Some(found) = item::read(file.source, row.kind, &line) {
                file.at_ms = found.at_ms.unwrap_or(file.at_ms);
                let words = word::spread(&found.text);
                bytes += words.pieces.len() + words.names.len();
                items.push(IndexItem {
                    seq: row.seq,
                    kind: row.kind,
                    at_ms: file.at_ms,
                    digest: found.digest(),
                    pieces: words.pieces,
                    names: words.names,
                });
            }
        }
        (file.next_seq, file.last_seq, file.last_digest) = (row.seq + 1, row.seq, row.digest);
    }
    Ok(Read { part: IndexPart { file, items }, bytes, is_whole })
}

fn has_words(row: &ItemRow) -> bool {
    !matches!(row.kind, ItemKind::Reasoning | ItemKind::Oversized) && row.bytes <= LINE_BYTES_MAX
}
