//! Writes chunks into a pack, then adds them to the index.

use std::collections::HashSet;
use std::io;
use std::path::Path;

use longhaul_core::archive::chunk::ChunkDigest;
use longhaul_core::archive::pack::{PackedPiece, TextState, TranscriptName};
use longhaul_store::{ArchiveIndex, ArchivedPart, ArchivedTranscript, NewPack};

use super::reading::NewPart;
use super::shared::ArchiveShared;
use crate::archive::{PackWriter, next_pack};
use crate::service::error::ServiceError;

/// Stores the new parts of some transcripts, durably.
///
/// # Errors
/// The disk is full, or the index rejects the write; then nothing is stored.
pub(super) async fn publish(
    shared: &ArchiveShared,
    index: &ArchiveIndex,
    reads: Vec<NewPart>,
) -> Result<(), ServiceError> {
    let digests: Vec<ChunkDigest> =
        reads.iter().flat_map(|read| read.chunks.iter().map(|(digest, _)| *digest)).collect();
    let mut seen: HashSet<ChunkDigest> = index.packs.stored_chunks(&digests).await?;
    let (mut parts, mut texts) = (Vec::new(), Vec::new());
    for NewPart { part, text, mut chunks, .. } in reads {
        chunks.retain(|(digest, _)| seen.insert(*digest));
        parts.push(part);
        texts.push((text, chunks));
    }
    let last = index.packs.last().await?;
    let writing = move |folder: &Path| {
        let mut chunks: Vec<(ChunkDigest, &[u8])> = Vec::new();
        for (text, places) in &texts {
            chunks.extend(places.iter().map(|(digest, place)| (*digest, &text[place.clone()])));
        }
        write((folder, last), &chunks, &mut parts).map(|pack| (pack, parts))
    };
    let (pack, parts) = shared.in_folder(writing).await?;
    Ok(index.commit(pack.as_slice(), &parts).await?)
}

/// Writes a pack with these chunks, numbered after the last pack in the index; `None` if there is nothing to write. New
/// texts get its number.
fn write(
    (folder, last): (&Path, i64),
    chunks: &[(ChunkDigest, &[u8])],
    parts: &mut [ArchivedPart],
) -> io::Result<Option<NewPack>> {
    if chunks.is_empty() && parts.iter().all(|part| part.pieces.is_empty()) {
        return Ok(None);
    }
    let number = next_pack(folder, last)?;
    for part in parts.iter_mut().filter(|part| part.transcript.id == 0) {
        part.transcript.first_pack = number;
    }
    write_pack((folder, number), chunks, parts.iter()).map(Some)
}

/// Writes a pack with these chunks and the description of these texts.
pub(super) fn write_pack<'part>(
    (folder, number): (&Path, i64),
    chunks: &[(ChunkDigest, &[u8])],
    parts: impl Iterator<Item = &'part ArchivedPart> + Clone,
) -> io::Result<NewPack> {
    let text_bytes = chunks.iter().map(|(_, chunk)| chunk.len() as u64).sum();
    let mut pack = PackWriter::begin(folder, number, text_bytes)?;
    for (digest, chunk) in chunks {
        pack.add(*digest, chunk)?;
    }
    let names = parts.clone().map(|part| name(&part.transcript)).collect();
    let pieces = parts.enumerate().flat_map(|(transcript, part)| {
        part.pieces.iter().map(move |piece| PackedPiece {
            transcript,
            offset: piece.offset,
            lines_before: piece.lines_before,
            digest: piece.digest,
        })
    });
    pack.describe(names, pieces.collect());
    pack.finish()
}

pub(super) fn name(row: &ArchivedTranscript) -> TranscriptName {
    TranscriptName {
        thread_id: row.thread_id.clone(),
        source: row.source,
        path: row.path.clone(),
        generation: row.generation,
        first_seq: row.first_seq,
        cwd: row.cwd.clone(),
        is_redacted: row.is_redacted,
        updated_ms: row.updated_ms,
        state: TextState {
            first_pack: row.first_pack,
            source_bytes: row.source_bytes,
            redaction: row.redaction,
        },
    }
}
