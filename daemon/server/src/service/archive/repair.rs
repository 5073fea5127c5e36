//! Replaces the chunks of a damaged pack, from what can still be read of it and from the transcripts that have them.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;

use longhaul_core::archive::chunk::ChunkDigest;
use longhaul_core::archive::pack::PackContents;
use longhaul_store::{ArchiveIndex, ArchivedTranscript, NewPack};

use super::description::PackDescription;
use super::reading;
use super::shared::ArchiveShared;
use crate::archive::{PackWriter, next_pack, readable_chunks};
use crate::service::error::ServiceError;

/// Stores the used chunks of a pack that is marked as damaged in a new one, if they can be read there or in a transcript.
pub(super) async fn replace_chunks(
    shared: &ArchiveShared,
    index: &ArchiveIndex,
    pack: i64,
) -> Result<(), ServiceError> {
    let contents = index.packs.contents(pack).await?;
    let rows = index.transcripts.in_pack(pack).await?;
    let (path, last) = (shared.archive.pack(pack), index.packs.last().await?);
    let writing = move |folder: &Path| {
        let found = find(&path, &contents, &rows);
        write((folder, last), contents, &found)
    };
    if let Some(written) = shared.in_folder(writing).await? {
        index.commit(&[written], &[]).await?;
    }
    Ok(())
}

/// The chunks of the pack at `path` that are readable there or in the transcripts of these texts. Blocking.
fn find(
    path: &Path,
    contents: &PackContents,
    rows: &[ArchivedTranscript],
) -> HashMap<ChunkDigest, Vec<u8>> {
    let mut found = HashMap::new();
    readable_chunks(path, contents.chunks.clone(), |digest, chunk| {
        found.insert(digest, chunk);
    });
    let chunks = contents.chunks.iter().map(|chunk| chunk.digest);
    let mut wanted: HashSet<ChunkDigest> =
        chunks.filter(|digest| !found.contains_key(digest)).collect();
    for row in rows {
        if wanted.is_empty() {
            break;
        }
        let read = reading::chunks_of(row, |digest, chunk| {
            if wanted.remove(&digest) {
                found.insert(digest, chunk.to_vec());
            }
        });
        if let Err(error) = read {
            tracing::warn!(path = row.path, %error, "cannot repair the archive from a transcript");
        }
    }
    found
}

/// Writes a pack of these chunks of another one; `None` if there are none.
fn write(
    (folder, last): (&Path, i64),
    mut contents: PackContents,
    chunks: &HashMap<ChunkDigest, Vec<u8>>,
) -> io::Result<Option<NewPack>> {
    if chunks.is_empty() {
        return Ok(None);
    }
    let text_bytes = chunks.values().map(|chunk| chunk.len() as u64).sum();
    let mut pack = PackWriter::begin(folder, next_pack(folder, last)?, text_bytes)?;
    for packed in std::mem::take(&mut contents.chunks) {
        if let Some(chunk) = chunks.get(&packed.digest) {
            pack.add(packed.digest, chunk)?;
        }
    }
    contents.pieces.retain(|piece| chunks.contains_key(&piece.digest));
    let mut description = PackDescription::default();
    description.add(contents);
    pack.describe(description.names, description.pieces);
    pack.finish().map(Some)
}
