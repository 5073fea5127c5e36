//! Finds the archived text that a transcript continues.
//!
//! A text of the file's generation is its beginning only if one store gave both numbers: after a loss of the store they
//! start again. So each text is compared with the file: by the chain of its lines where the archive has it, else, after a
//! last line without a newline or an interrupted pass, by its chunks, once per process.

use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use longhaul_core::archive::chunk::ChunkDigest;
use longhaul_core::digest::Digest128;
use longhaul_core::redact;
use longhaul_store::{ArchiveIndex, ArchivedTranscript, Cursor, FileRow, SupersededText};

use super::reading;
use crate::ingest::{Compared, Walk, compare};
use crate::service::error::ServiceError;
use crate::transcript::{LINE_BYTES_MAX, Transcript};

pub(super) struct KnownText {
    /// Without an id if nothing.
    pub(super) row: ArchivedTranscript,
    /// Whether its generation differs from the one in the index.
    pub(super) is_relabeled: bool,
    /// What the next part takes the place of. Stored with it, so that a failure in between loses nothing.
    pub(super) superseded: Vec<SupersededText>,
}

#[derive(Default)]
pub(super) struct KnownTexts {
    /// Numbers of the texts whose chunks were compared.
    compared: Mutex<HashSet<i64>>,
}

impl KnownTexts {
    /// The archived text of a file as it is now. If the file was replaced, its old text is kept next to the new one.
    pub(super) async fn of(
        &self,
        index: &ArchiveIndex,
        file: &FileRow,
        is_redacted: bool,
    ) -> Result<KnownText, ServiceError> {
        let generation = i64::try_from(file.cursor.generation).unwrap_or(i64::MAX);
        let mut superseded = Vec::new();
        for row in index.transcripts.at(&file.path).await? {
            let is_fit = row.is_redacted == is_redacted && row.source_bytes <= file.cursor.offset;
            if is_fit
                && row.generation == generation
                && self.is_beginning(index, file, &row).await?
            {
                return Ok(KnownText { row, is_relabeled: false, superseded });
            }
            if is_fit && row.generation != generation && is_unchanged(file, &row).await? {
                // It was ingested again under another generation, with the same text.
                let row = ArchivedTranscript { generation, ..row };
                return Ok(KnownText { row, is_relabeled: true, superseded });
            }
            superseded.push(match row.is_redacted != is_redacted {
                true => SupersededText::Removed(row.id),
                false => SupersededText::Replaced(row.id),
            });
        }
        let head = file.head.as_ref();
        let base = head.and_then(|head| head.history_base.as_ref());
        let row = ArchivedTranscript {
            id: 0,
            path: file.path.clone(),
            generation,
            thread_id: file.thread_id.clone().unwrap_or_default(),
            source: file.source,
            cwd: head.and_then(|head| head.cwd.clone()),
            first_seq: base.map_or(0, |base| base.end_ordinal_exclusive),
            source_bytes: 0,
            text_bytes: 0,
            checked_bytes: 0,
            checked_chain: Digest128::default(),
            is_redacted,
            updated_ms: head.map_or(0, |head| head.updated_at_ms),
            lived_ms: 0,
            first_pack: 0,
            redaction: if is_redacted { redact::VERSION } else { 0 },
        };
        Ok(KnownText { row, is_relabeled: false, superseded })
    }

    /// Whether a text of the file's generation is its beginning, as far as can be told before reading on: what follows a
    /// text with a chain is compared from there.
    async fn is_beginning(
        &self,
        index: &ArchiveIndex,
        file: &FileRow,
        row: &ArchivedTranscript,
    ) -> Result<bool, ServiceError> {
        if row.checked_bytes == row.source_bytes {
            let is_all = row.source_bytes == file.cursor.offset;
            return Ok(!is_all || row.checked_chain == file.cursor.chain);
        }
        // Other rules make other chunks of the same lines; it is redacted again after this pass.
        if row.is_redacted && row.redaction != redact::VERSION {
            return Ok(true);
        }
        let compared = || self.compared.lock().unwrap_or_else(PoisonError::into_inner);
        if compared().contains(&row.id) {
            return Ok(true);
        }
        let pieces = index.packs.pieces(row.id).await?;
        let archived = pieces.into_iter().map(|piece| piece.digest).collect();
        let text = row.clone();
        match tokio::task::spawn_blocking(move || has_chunks(&text, archived)).await? {
            Ok(false) => return Ok(false),
            Ok(true) => drop(compared().insert(row.id)),
            // Reading on fails too.
            Err(error) => tracing::warn!(path = row.path, %error, "cannot compare a transcript"),
        }
        Ok(true)
    }
}

/// Whether the file at the text's path has these chunks in this order. Blocking.
fn has_chunks(text: &ArchivedTranscript, archived: Vec<ChunkDigest>) -> io::Result<bool> {
    let (mut archived, mut is_same) = (archived.into_iter(), true);
    reading::chunks_of(text, |digest, _| is_same &= archived.next() == Some(digest))?;
    Ok(is_same && archived.next().is_none())
}

/// Whether the file still contains the archived lines.
async fn is_unchanged(file: &FileRow, row: &ArchivedTranscript) -> Result<bool, ServiceError> {
    if row.checked_bytes == 0 || row.checked_bytes < row.source_bytes {
        return Ok(false);
    }
    let (source, path) = (file.source, file.path.clone());
    let cursor =
        Cursor { offset: row.checked_bytes, chain: row.checked_chain, ..Cursor::default() };
    let compared = tokio::task::spawn_blocking(move || {
        let transcript = Transcript::open(source, Path::new(&path))?;
        compare(&transcript, &cursor, (Walk::default(), u64::MAX), LINE_BYTES_MAX)
    });
    // A file that cannot be read now is compared later.
    Ok(matches!(compared.await?, Ok(Compared::Same)))
}
