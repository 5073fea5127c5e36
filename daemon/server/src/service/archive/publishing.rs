//! Writes chunks into a pack, then adds them to the index.

use std::collections::HashSet;
use std::io;
use std::path::Path;

use longhaul_core::archive::chunk::ChunkDigest;
use longhaul_core::archive::pack::{PackedPiece, TranscriptName};
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
    let (names, pieces) = describe(&parts);
    let (folder, last) = (shared.archive.folder().to_owned(), index.packs.last().await?);
    let writing = move || {
        let mut chunks: Vec<(ChunkDigest, &[u8])> = Vec::new();
        for (text, places) in &texts {
            chunks.extend(places.iter().map(|(digest, place)| (*digest, &text[place.clone()])));
        }
        write(&folder, last, &chunks, names, pieces)
    };
    let folder = shared.archive.folder();
    let pack = tokio::task::spawn_blocking(writing).await?;
    let pack = pack.map_err(|error| ServiceError::file(folder, error))?;
    Ok(index.commit(pack.as_slice(), &parts).await?)
}

/// Writes a pack with these chunks, numbered after the last pack in the index; `None` if there is nothing to write.
fn write(
    folder: &Path,
    last: i64,
    chunks: &[(ChunkDigest, &[u8])],
    names: Vec<TranscriptName>,
    pieces: Vec<PackedPiece>,
) -> io::Result<Option<NewPack>> {
    if chunks.is_empty() && pieces.is_empty() {
        return Ok(None);
    }
    let text_bytes = chunks.iter().map(|(_, chunk)| chunk.len() as u64).sum();
    let mut pack = PackWriter::begin(folder, next_pack(folder, last)?, text_bytes)?;
    for (digest, chunk) in chunks {
        pack.add(*digest, chunk)?;
    }
    pack.describe(names, pieces);
    pack.finish().map(Some)
}

/// The description of these texts for a pack.
fn describe(parts: &[ArchivedPart]) -> (Vec<TranscriptName>, Vec<PackedPiece>) {
    let names = parts.iter().map(|part| name(&part.transcript)).collect();
    let pieces = parts.iter().enumerate().flat_map(|(transcript, part)| {
        part.pieces.iter().map(move |piece| PackedPiece {
            transcript,
            offset: piece.offset,
            lines_before: piece.lines_before,
            digest: piece.digest,
        })
    });
    (names, pieces.collect())
}

fn name(row: &ArchivedTranscript) -> TranscriptName {
    TranscriptName {
        thread_id: row.thread_id.clone(),
        source: row.source,
        path: row.path.clone(),
        generation: row.generation,
        first_seq: row.first_seq,
        cwd: row.cwd.clone(),
        is_redacted: row.is_redacted,
        updated_ms: row.updated_ms,
    }
}
