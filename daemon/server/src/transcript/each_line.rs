//! Rereads a transcript from its beginning, for callers that need all lines, not only the indexed ones.

use std::io;
use std::path::Path;
use std::sync::Arc;

use longhaul_core::fold::Place;
use longhaul_store::FileRow;

use super::lines::LINE_BYTES_MAX;
use super::open::{Fallback, Transcript};
use super::piece::{Content, Piece};
use crate::archive::Archive;

/// Passes the stored lines of a transcript, or of its archived text if it cannot be opened, to `see`, in order, until
/// it returns false; skips lines over the bound.
/// Returns the line after the last stored one.
///
/// Lines of a transcript that this one continues are not included: they are another thread's.
///
/// # Errors
/// The transcript cannot be read. One that was truncated since ends early.
pub fn each_line(
    file: &FileRow,
    archive: &Arc<Archive>,
    mut see: impl FnMut(Place, &[u8]) -> bool,
) -> io::Result<u64> {
    let fallback = Fallback::of(Arc::clone(archive), file);
    let path = Path::new(&file.path);
    let transcript = Transcript::open_or_archived(file.source, path, &fallback)?;
    let mut pieces = transcript.lines_from(0, LINE_BYTES_MAX)?;
    let base = file.head.as_ref().and_then(|head| head.history_base.as_ref());
    let mut line = base.map_or(0, |base| base.end_ordinal_exclusive);
    // The archive has stored lines only, maybe at other offsets.
    let is_archived = transcript.archived_text().is_some();
    let is_stored = |offset: u64| is_archived || offset < file.cursor.offset;
    loop {
        match pieces.next_piece()? {
            Piece::Line(found) if is_stored(found.offset) => {
                let place = Place { line, offset: found.offset, bytes: found.bytes };
                if let Content::Whole(bytes) = found.content
                    && !see(place, bytes)
                {
                    break;
                }
            }
            Piece::End { offset, rest } if !rest.is_empty() && is_stored(offset) => {
                see(Place { line, offset, bytes: rest.len() as u64 }, rest);
                break;
            }
            Piece::Line(_) | Piece::End { .. } => break,
        }
        line += 1;
    }
    Ok(file.cursor.next_seq)
}
