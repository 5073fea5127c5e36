//! The contents table at the end of a pack: enough to rebuild the index from the packs.

use serde::{Deserialize, Serialize};

use super::chunk::ChunkDigest;
use crate::digest::Digest128;
use crate::thread::Source;

/// Identifies an archived text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TranscriptName {
    pub thread_id: String,
    pub source: Source,
    pub path: String,
    /// Generation of the file when it was archived; negative if the file was replaced since.
    pub generation: i64,
    /// Index of its first line in the thread's lineage.
    pub first_seq: u64,
    /// Working folder of the thread.
    pub cwd: Option<String>,
    /// It was redacted before it was stored.
    pub is_redacted: bool,
    /// When the transcript last grew, Unix milliseconds.
    pub updated_ms: i64,
    #[serde(skip)]
    pub state: TextState,
}

/// What the index has of a text that its chunks do not show. Zeros in a pack that was written before it was recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TextState {
    /// Number of the pack that described the text first, before it was redacted if that was later. Of the texts of a path
    /// the newest has the highest.
    pub first_pack: i64,
    /// Archived bytes of the transcript.
    pub source_bytes: u64,
    /// Version of the rules that redacted it ([`crate::redact::VERSION`]); 0 also if it is plain.
    #[serde(skip)]
    pub redaction: u32,
}

impl TranscriptName {
    /// Identifies the text together with its path. Its generation changes, so that counts only if nothing else is known.
    pub fn identity(&self) -> TextIdentity {
        let (first_pack, generation) = match self.state.first_pack {
            0 => (0, self.generation),
            first_pack => (first_pack, 0),
        };
        let (is_redacted, redaction) = (self.is_redacted, self.state.redaction);
        TextIdentity { first_pack, generation, is_redacted, redaction }
    }
}

/// See [`TranscriptName::identity`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TextIdentity {
    pub first_pack: i64,
    pub generation: i64,
    pub is_redacted: bool,
    pub redaction: u32,
}

/// A chunk in the pack's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackedChunk {
    pub digest: ChunkDigest,
    pub offset: u64,
    pub bytes: u64,
}

/// Position in a transcript of a chunk, which may be in another pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackedPiece {
    /// Index into [`PackContents::transcripts`].
    pub transcript: usize,
    /// First byte in the transcript's text.
    pub offset: u64,
    /// Lines before it.
    pub lines_before: u64,
    pub digest: ChunkDigest,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackContents {
    pub transcripts: Vec<TranscriptName>,
    pub chunks: Vec<PackedChunk>,
    pub pieces: Vec<PackedPiece>,
}

/// First bytes of a pack, with its version.
pub const MAGIC: &[u8; 8] = b"lhPACK1\n";

/// Bytes after a pack's contents: length of the contents, length of the compressed text, and digest of all bytes before.
pub const TRAILER_BYTES: usize = 8 + 8 + 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trailer {
    pub contents_bytes: u64,
    pub text_bytes: u64,
    /// Of all bytes before itself.
    pub digest: Digest128,
}

impl PackContents {
    /// What was recorded later comes last, so that an older pack can be read.
    pub fn encode(&self) -> Vec<u8> {
        let states = || self.transcripts.iter().map(|name| name.state);
        let redactions: Vec<u32> = states().map(|state| state.redaction).collect();
        // Numbers, strings and arrays: serializing them to memory cannot fail.
        let contents = postcard::to_extend(self, Vec::new()).unwrap_or_default();
        let contents =
            postcard::to_extend(&states().collect::<Vec<_>>(), contents).unwrap_or_default();
        postcard::to_extend(&redactions, contents).unwrap_or_default()
    }

    /// The inverse of [`PackContents::encode`]; `None` for other bytes.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (mut contents, rest): (Self, &[u8]) = postcard::take_from_bytes(bytes).ok()?;
        let (states, rest) = of_each::<TextState>(rest, contents.transcripts.len())?;
        let (redactions, _) = of_each::<u32>(rest, contents.transcripts.len())?;
        for (name, state) in contents.transcripts.iter_mut().zip(states) {
            name.state = state;
        }
        for (name, redaction) in contents.transcripts.iter_mut().zip(redactions) {
            name.state.redaction = redaction;
        }
        let is_sound = |piece: &PackedPiece| piece.transcript < contents.transcripts.len();
        contents.pieces.iter().all(is_sound).then_some(contents)
    }
}

/// Values of all `count` texts, or none in an older pack, and the bytes after them.
fn of_each<T: for<'bytes> Deserialize<'bytes>>(
    bytes: &[u8],
    count: usize,
) -> Option<(Vec<T>, &[u8])> {
    if bytes.is_empty() {
        return Some((Vec::new(), bytes));
    }
    let (values, rest): (Vec<T>, &[u8]) = postcard::take_from_bytes(bytes).ok()?;
    (values.len() == count).then_some((values, rest))
}

impl Trailer {
    /// The encoded lengths, which the digest covers.
    pub fn lengths(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.contents_bytes.to_be_bytes());
        bytes[8..].copy_from_slice(&self.text_bytes.to_be_bytes());
        bytes
    }

    pub fn decode(bytes: &[u8; TRAILER_BYTES]) -> Self {
        let number = |at: usize| {
            bytes[at..at + 8].iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte))
        };
        let digest = u128::from(number(16)) << 64 | u128::from(number(24));
        Self { contents_bytes: number(0), text_bytes: number(8), digest: Digest128(digest) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_and_trailer_read_back_as_written() {
        let digest = ChunkDigest::of(b"a chunk");
        let contents = PackContents {
            transcripts: vec![TranscriptName {
                thread_id: "t".into(),
                source: Source::Claude,
                path: "/a.jsonl".into(),
                generation: -2,
                first_seq: 7,
                cwd: None,
                is_redacted: true,
                updated_ms: 9,
                state: TextState { first_pack: 3, source_bytes: 10, redaction: 2 },
            }],
            chunks: vec![PackedChunk { digest, offset: 0, bytes: 7 }],
            pieces: vec![PackedPiece { transcript: 0, offset: 3, lines_before: 1, digest }],
        };
        let bytes = contents.encode();
        assert_eq!(PackContents::decode(&bytes), Some(contents.clone()));
        assert_eq!(PackContents::decode(&bytes[..bytes.len() - 1]), None);
        let mut older = contents.clone();
        older.transcripts[0].state = TextState::default();
        let without_states = postcard::to_extend(&contents, Vec::new()).unwrap();
        assert_eq!(PackContents::decode(&without_states), Some(older.clone()));
        let state = TextState { redaction: 0, ..contents.transcripts[0].state };
        older.transcripts[0].state = state;
        let without_redactions = postcard::to_extend(&vec![state], without_states).unwrap();
        assert_eq!(PackContents::decode(&without_redactions), Some(older));
        let astray = PackContents { transcripts: Vec::new(), ..contents };
        assert_eq!(PackContents::decode(&astray.encode()), None);

        let trailer =
            Trailer { contents_bytes: 5, text_bytes: 1 << 40, digest: Digest128::of(b"x") };
        let mut bytes = [0; TRAILER_BYTES];
        bytes[..16].copy_from_slice(&trailer.lengths());
        bytes[16..].copy_from_slice(&trailer.digest.0.to_be_bytes());
        assert_eq!(Trailer::decode(&bytes), trailer);
    }
}
