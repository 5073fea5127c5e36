//! Redacts what was archived before `archive.redact` was on, and again what older rules redacted, from the archived texts
//! themselves. Both are called plain here.
//!
//! A redacted text takes the place of a plain one in one commit, after its packs are on disk, so a kill at any step loses
//! nothing and the next start continues. Finally, packs with unused chunks are rewritten. Only then does
//! the index say that all is redacted, until a plain text is stored again.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use longhaul_core::archive::chunk::ChunkDigest;
use longhaul_core::redact;
use longhaul_store::{
    ArchiveIndex, ArchivedPart, ArchivedTranscript, NewPack, PackRow, SupersededText,
};
use tokio::runtime::Handle;

use super::reading::{NewPart, Tail, redacted_part, tail_of};
use super::shared::{ArchiveShared, BATCH_BYTES};
use super::{publishing, upkeep};
use crate::archive::{ArchivedText, damaged, next_pack};
use crate::service::error::ServiceError;
use crate::transcript::Transcript;

/// Redacts the next plain texts after number `last`, about a batch; returns the number of the last one, or `None` if there
/// is none. The caller has the turn.
pub(super) async fn redact_some(
    shared: &ArchiveShared,
    index: &ArchiveIndex,
    mut last: i64,
) -> Result<Option<i64>, ServiceError> {
    let (mut texts, mut bytes) = (Vec::new(), 0);
    for row in index.transcripts.plain_after(last).await? {
        bytes += row.text_bytes;
        if bytes > BATCH_BYTES && !texts.is_empty() {
            break;
        }
        last = row.id;
        let text = shared.archive.text(index, row.clone()).await?;
        texts.push((row, text));
    }
    if texts.is_empty() {
        return Ok(None);
    }
    let (named, of) = (index.packs.last().await?, index.clone());
    let writing = move |folder: &Path| {
        let mut writer = RedactedWriter::begin(folder, named, of)?;
        let mut damaged = Vec::new();
        for (row, text) in texts {
            let path = row.path.clone();
            match writer.add(row, text) {
                Err(error) if ArchivedText::is_damage(&error) => damaged.push((path, error)),
                added => added?,
            }
        }
        writer.flush()?;
        Ok((writer.packs, writer.parts, damaged))
    };
    let (packs, parts, damaged) = shared.in_folder(writing).await?;
    index.commit(&packs, &parts).await?;
    for (path, error) in damaged {
        tracing::warn!(path, %error, "an archived text cannot be redacted");
        // If its transcript exists, it is archived again.
        shared.hints.hint(&path);
    }
    Ok(Some(last))
}

/// Erases what no text uses any more; returns whether all is redacted now. The caller has the turn.
pub(super) async fn erase(
    shared: &ArchiveShared,
    index: &ArchiveIndex,
) -> Result<bool, ServiceError> {
    index.packs.sweep().await?;
    let has_unused = |pack: &PackRow| pack.used_bytes < pack.text_bytes;
    upkeep::rewrite(shared, index, |pack| has_unused(pack) && !pack.is_damaged).await?;
    index.scrub().await?;
    let is_left = index.packs.all().await?.iter().any(|pack| has_unused(pack) || pack.is_damaged);
    let is_done = !is_left && index.totals().await?.plain_texts == 0;
    if is_done {
        index.packs.record_redacted().await?;
    }
    Ok(is_done)
}

/// Writes redacted texts into packs of a batch, to be committed together.
struct RedactedWriter {
    folder: PathBuf,
    index: ArchiveIndex,
    first: i64,
    packs: Vec<NewPack>,
    parts: Vec<ArchivedPart>,
    /// What the next pack will have.
    pending: Vec<NewPart>,
    pending_bytes: usize,
    written: HashSet<ChunkDigest>,
}

impl RedactedWriter {
    fn begin(folder: &Path, named: i64, index: ArchiveIndex) -> io::Result<Self> {
        Ok(Self {
            folder: folder.to_owned(),
            index,
            first: next_pack(folder, named)?,
            packs: Vec::new(),
            parts: Vec::new(),
            pending: Vec::new(),
            pending_bytes: 0,
            written: HashSet::new(),
        })
    }

    /// Redacts a text, to take the place of its plain row.
    fn add(&mut self, row: ArchivedTranscript, text: ArchivedText) -> io::Result<()> {
        let (id, end) = (row.id, row.text_bytes);
        // The place in its transcript, which a text that was redacted before does not show.
        let source_bytes = row.is_redacted.then_some(row.source_bytes);
        let plain = Transcript::of_archived(text);
        let known = ArchivedTranscript {
            id: 0,
            source_bytes: 0,
            text_bytes: 0,
            is_redacted: true,
            redaction: redact::VERSION,
            ..row
        };
        let superseded = vec![SupersededText::Removed(id)];
        let mut whole = ArchivedPart { transcript: known, from: 0, pieces: Vec::new(), superseded };
        let mut tail = Tail::default();
        while whole.transcript.source_bytes < end {
            let next = redacted_part(&plain, whole.transcript.clone(), tail, end)?;
            let mut new = next.ok_or_else(|| damaged("a part of the text is missing"))?;
            whole.pieces.retain(|piece| piece.offset < new.part.from);
            whole.pieces.extend(&new.part.pieces);
            whole.transcript = new.part.transcript.clone();
            tail = tail_of(&new);
            let described = &mut new.part.transcript;
            described.source_bytes = source_bytes.unwrap_or(described.source_bytes);
            self.pending_bytes += new.text.len();
            self.pending.push(new);
            if self.pending_bytes as u64 >= BATCH_BYTES {
                self.flush()?;
            }
        }
        whole.transcript.source_bytes = source_bytes.unwrap_or(whole.transcript.source_bytes);
        self.parts.push(whole);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        let pending = std::mem::take(&mut self.pending);
        self.pending_bytes = 0;
        let digests: Vec<ChunkDigest> =
            pending.iter().flat_map(|new| new.chunks.iter().map(|(digest, _)| *digest)).collect();
        let stored = Handle::current().block_on(self.index.packs.stored_chunks(&digests));
        let stored = stored.map_err(io::Error::other)?;
        let mut chunks: Vec<(ChunkDigest, &[u8])> = Vec::new();
        for new in &pending {
            for (digest, place) in &new.chunks {
                if !stored.contains(digest) && self.written.insert(*digest) {
                    chunks.push((*digest, &new.text[place.clone()]));
                }
            }
        }
        if pending.is_empty() {
            return Ok(());
        }
        let number = self.packs.last().map_or(self.first, |pack| pack.pack + 1);
        let parts = pending.iter().map(|new| &new.part);
        self.packs.push(publishing::write_pack((&self.folder, number), &chunks, parts)?);
        Ok(())
    }
}
