//! Builds the description of a pack from those of others.

use std::collections::{HashMap, HashSet};

use longhaul_core::archive::pack::{PackContents, PackedPiece, TranscriptName};
use longhaul_core::digest::DigestStream;

/// A fixed-size hash of a text's path and generation, since there may be very many.
pub(super) fn text_hash(name: &TranscriptName) -> u128 {
    let mut of = DigestStream::default();
    of.update(name.path.as_bytes());
    of.update(&name.generation.to_be_bytes());
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
