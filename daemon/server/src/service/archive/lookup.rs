//! Finds the lines of a handle in the archive, whatever the store knows of the thread: its transcript may have been
//! replaced since, or the database lost.

use std::ops::RangeInclusive;
use std::sync::Arc;

use longhaul_core::compaction::handle::Handle;
use longhaul_core::fold::Fold;
use longhaul_core::item::ItemRow;
use longhaul_core::thread::Source;

use super::shared::ArchiveShared;
use crate::archive::ArchivedText;
use crate::service::error::ServiceError;
use crate::transcript::{LINE_BYTES_MAX, Line, LineReader, Piece, Transcript};

pub struct ArchiveLookup {
    pub(super) shared: Arc<ArchiveShared>,
}

/// Lines of a thread, and the fold of its text up to the last of them.
pub struct ArchivedLines {
    pub fold: Fold,
    pub source: Source,
    pub path: String,
    pub rows: Vec<ItemRow>,
    pub lines: LineReader,
}

impl ArchiveLookup {
    /// The lines of a thread from line `from` to the last of a handle, from the archived text that has its first one. Of a
    /// thread that continues another transcript the archived text is only the rest, so earlier lines are not found.
    ///
    /// # Errors
    /// [`ServiceError::ArchiveDamaged`] if a damaged text may have had them; [`ServiceError::IndexNotOpen`].
    pub async fn find(
        &self,
        handle: &Handle,
        from: u64,
    ) -> Result<Option<ArchivedLines>, ServiceError> {
        let index = self.shared.archive.index().ok_or(ServiceError::IndexNotOpen)?;
        let mut is_damaged = false;
        for row in index.transcripts.of_thread(&handle.of).await? {
            // Redacted text has other digests, so it cannot be verified.
            if row.is_redacted || from < row.first_seq {
                continue;
            }
            let (source, path, first_seq) = (row.source, row.path.clone(), row.first_seq);
            let text = self.shared.archive.text(&index, row).await?;
            let wanted = from..=handle.last;
            let reading = tokio::task::spawn_blocking(move || {
                let transcript = Transcript::of_archived(text);
                let rows = rows_of(&transcript, source, first_seq, wanted);
                (rows, transcript)
            });
            let (rows, transcript) = reading.await?;
            let is_first = |row: &&ItemRow| row.seq >= handle.first;
            match rows {
                Ok((fold, rows))
                    if rows.iter().find(is_first).is_some_and(|row| handle.fits(row.digest)) =>
                {
                    let lines = LineReader::of_archived(source, transcript);
                    return Ok(Some(ArchivedLines { fold, source, path, rows, lines }));
                }
                Ok(_) => {}
                Err(error) => {
                    is_damaged |= ArchivedText::is_damage(&error);
                    tracing::warn!(path, %error, "cannot read an archived text");
                }
            }
        }
        match is_damaged {
            true => Err(ServiceError::ArchiveDamaged(handle.of.clone())),
            false => Ok(None),
        }
    }
}

/// Folds the lines again, which gives the same rows as their ingestion.
fn rows_of(
    transcript: &Transcript,
    source: Source,
    first_seq: u64,
    wanted: RangeInclusive<u64>,
) -> std::io::Result<(Fold, Vec<ItemRow>)> {
    let mut pieces = transcript.lines_from(0, LINE_BYTES_MAX)?;
    let (mut fold, mut rows, mut seq) = (Fold::new(source), Vec::new(), first_seq);
    while seq <= *wanted.end() {
        let line = match pieces.next_piece()? {
            Piece::Line(line) => line,
            Piece::End { offset, rest } => {
                let rest = Line::of_rest(offset, rest);
                rows.extend(rest.and_then(|line| line.fold(&mut fold, seq)));
                break;
            }
        };
        rows.extend(line.fold(&mut fold, seq));
        seq += 1;
    }
    rows.retain(|row| wanted.contains(&row.seq));
    Ok((fold, rows))
}
