//! Builds the description of a pack from those of others.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, HashSet};

use longhaul_core::archive::chunk::ChunkDigest;
use longhaul_core::archive::pack::{PackContents, PackedPiece, TranscriptName};
use longhaul_core::digest::DigestStream;
use longhaul_store::{ArchiveIndex, ArchivedTranscript};

use super::publishing;
use super::shared::ArchiveShared;
use crate::archive::{PackError, contents_of_pack};
use crate::service::error::ServiceError;

/// A fixed-size hash of what identifies a text, since there may be very many.
fn text_hash(name: &TranscriptName) -> u128 {
    let mut of = DigestStream::default();
    of.update(name.path.as_bytes());
    let identity = name.identity();
    of.update(&identity.first_pack.to_be_bytes());
    of.update(&identity.generation.to_be_bytes());
    of.update(&[u8::from(identity.is_redacted)]);
    of.update(&identity.redaction.to_be_bytes());
    of.finish().0
}

/// The description for a pack: each text once, each piece once.
#[derive(Default)]
pub(super) struct PackDescription {
    pub(super) names: Vec<TranscriptName>,
    pub(super) pieces: Vec<PackedPiece>,
    places: HashMap<u128, usize>,
    seen: HashSet<(usize, u64)>,
}

impl PackDescription {
    pub(super) fn add(&mut self, contents: PackContents) {
        let mut names: Vec<_> = contents.transcripts.into_iter().map(Some).collect();
        let mut places = vec![0; names.len()];
        for piece in contents.pieces {
            if let Some(name) = names[piece.transcript].take() {
                places[piece.transcript] =
                    *self.places.entry(text_hash(&name)).or_insert_with(|| {
                        self.names.push(name);
                        self.names.len() - 1
                    });
            }
            let transcript = places[piece.transcript];
            if self.seen.insert((transcript, piece.offset)) {
                self.pieces.push(PackedPiece { transcript, ..piece });
            }
        }
    }
}

/// The pieces that these packs describe but whose chunks are in other packs, as far as the index still has them. No other
/// pack describes them.
pub(super) async fn foreign_pieces(
    shared: &ArchiveShared,
    index: &ArchiveIndex,
    packs: &[i64],
) -> Result<PackContents, ServiceError> {
    let mut kept = PackDescription::default();
    let mut known: HashMap<u128, (Option<ArchivedTranscript>, HashMap<u64, ChunkDigest>)> =
        HashMap::new();
    for pack in packs {
        let path = shared.archive.pack(*pack);
        let read = tokio::task::spawn_blocking(move || contents_of_pack(&path)).await?;
        let mut contents = match read {
            Ok(contents) => contents,
            // It is reported when its chunks are read.
            Err(PackError::Damaged(_)) => continue,
            Err(PackError::Io { path, source }) => return Err(ServiceError::file(&path, source)),
        };
        let own: HashSet<ChunkDigest> = contents.chunks.iter().map(|chunk| chunk.digest).collect();
        contents.pieces.retain(|piece| !own.contains(&piece.digest));
        let texts: BTreeSet<usize> = contents.pieces.iter().map(|piece| piece.transcript).collect();
        for text in texts {
            let name = &mut contents.transcripts[text];
            let text = match known.entry(text_hash(name)) {
                Entry::Occupied(text) => text.into_mut(),
                Entry::Vacant(unknown) => {
                    let row = index.transcripts.named(name).await?;
                    let pieces = match &row {
                        Some(row) => index.packs.pieces(row.id).await?,
                        None => Vec::new(),
                    };
                    let places = pieces.into_iter().map(|piece| (piece.offset, piece.digest));
                    unknown.insert((row, places.collect()))
                }
            };
            if let Some(row) = &text.0 {
                *name = publishing::name(row);
            }
        }
        contents.pieces.retain(|piece| {
            let text = known.get(&text_hash(&contents.transcripts[piece.transcript]));
            text.and_then(|(_, places)| places.get(&piece.offset)) == Some(&piece.digest)
        });
        kept.add(contents);
    }
    let PackDescription { names, pieces, .. } = kept;
    Ok(PackContents { transcripts: names, chunks: Vec::new(), pieces })
}
