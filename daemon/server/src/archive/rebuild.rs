//! Rebuilds the index from the descriptions in the packs.
//!
//! It is one transaction, because an index with only some of the packs would remove the others. Texts with a missing part
//! are left out; they are archived again from their transcripts, where these exist. An unreadable pack stays, marked as
//! damaged.
//!
//! Packs keep the generation that a text had when they were written. So the texts of a path are told apart, and ordered, by
//! the pack that described them first ([`TranscriptName::identity`]).

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use longhaul_core::archive::chunk::ChunkDigest;
use longhaul_core::archive::pack::{PackContents, PackedPiece, TextIdentity, TranscriptName};
use longhaul_core::digest::Digest128;
use longhaul_store::{
    ArchiveIndex, ArchivedPart, ArchivedTranscript, LIVED_UNKNOWN, NewPack, NewPiece, REPLACED_MAX,
    SOURCE_BYTES_UNKNOWN, StoreError,
};

use super::pack::contents_of_pack;

/// A text as described by the packs.
#[derive(Default)]
struct RebuiltText {
    /// From the newest of its packs.
    name: Option<TranscriptName>,
    pieces: BTreeMap<u64, NewPiece>,
}

/// The texts of one path by what identifies them.
type TextsOfPath = BTreeMap<TextIdentity, RebuiltText>;

pub(super) async fn rebuild(
    folder: &Path,
    index: &ArchiveIndex,
    packs: &[i64],
) -> Result<(), StoreError> {
    let mut texts: HashMap<String, TextsOfPath> = HashMap::new();
    let mut bytes: HashMap<ChunkDigest, u64> = HashMap::new();
    let (mut known, mut damaged) = (Vec::new(), Vec::new());
    for &number in packs {
        let path = super::pack_at(folder, number);
        let on_disk = std::fs::metadata(&path).map_or(0, |meta| meta.len());
        let contents = read(path).await.unwrap_or_else(|| {
            damaged.push(number);
            PackContents::default()
        });
        let text_bytes = contents.chunks.iter().map(|chunk| chunk.bytes).sum();
        bytes.extend(contents.chunks.iter().map(|chunk| (chunk.digest, chunk.bytes)));
        gather(&mut texts, &contents);
        known.push(NewPack { pack: number, bytes: on_disk, text_bytes, chunks: contents.chunks });
    }
    let is_complete = damaged.is_empty();
    let (mut parts, mut left_out) = (Vec::new(), 0_usize);
    for texts in texts.into_values() {
        let count = texts.len();
        let whole =
            texts.into_values().filter_map(|text| part(text, &bytes, is_complete)).collect();
        let states = states(whole);
        left_out += count - states.len();
        parts.extend(states);
    }
    tracing::warn!(texts = parts.len(), left_out, "rebuilt the archive's index");
    index.commit(&known, &parts).await?;
    for pack in damaged {
        index.packs.record_check(pack, 0, false).await?;
    }
    index.packs.sweep().await.map(drop)
}

/// Whether only these packs, newer than the index, have some text.
///
/// A crash leaves one pack that was not committed. The index has its chunks in other packs, or their transcripts exist and
/// are archived again. Otherwise the index is from an older backup, and without these packs their text would be lost.
pub(super) async fn is_needed(
    folder: &Path,
    index: &ArchiveIndex,
    newer: &[i64],
) -> Result<bool, StoreError> {
    let mut with_new_text = 0;
    for &number in newer {
        let Some(contents) = read(super::pack_at(folder, number)).await else { return Ok(true) };
        let digests: Vec<ChunkDigest> = contents.chunks.iter().map(|chunk| chunk.digest).collect();
        let stored = index.packs.stored_chunks(&digests).await?;
        let mut unknown = contents.pieces.iter().filter(|piece| !stored.contains(&piece.digest));
        with_new_text += usize::from(digests.iter().any(|digest| !stored.contains(digest)));
        let is_gone = |piece: &PackedPiece| {
            let name = contents.transcripts.get(piece.transcript);
            name.is_some_and(|name| !Path::new(&name.path).exists())
        };
        if with_new_text > 1 || unknown.any(is_gone) {
            return Ok(true);
        }
    }
    Ok(false)
}

async fn read(path: PathBuf) -> Option<PackContents> {
    let shown = path.display().to_string();
    let read = tokio::task::spawn_blocking(move || contents_of_pack(&path)).await;
    match read.ok()? {
        Ok(contents) => Some(contents),
        Err(error) => {
            tracing::error!(pack = shown, %error, "cannot read a pack of the archive");
            None
        }
    }
}

/// Adds the description of a pack; later packs override earlier ones.
fn gather(texts: &mut HashMap<String, TextsOfPath>, contents: &PackContents) {
    for piece in &contents.pieces {
        let Some(name) = contents.transcripts.get(piece.transcript) else { continue };
        let texts = texts.entry(name.path.clone()).or_default();
        let text = texts.entry(name.identity()).or_default();
        let new = NewPiece {
            offset: piece.offset,
            lines_before: piece.lines_before,
            digest: piece.digest,
        };
        text.pieces.insert(piece.offset, new);
        text.name = Some(name.clone());
    }
}

/// The text of these pieces; `None` if there is a gap.
fn part(
    text: RebuiltText,
    bytes: &HashMap<ChunkDigest, u64>,
    is_complete: bool,
) -> Option<ArchivedPart> {
    let name = text.name?;
    let (mut end, mut pieces) = (0, Vec::new());
    for piece in text.pieces.into_values() {
        if piece.offset != end {
            return None;
        }
        end += bytes.get(&piece.digest)?;
        pieces.push(piece);
    }
    let source_bytes = match (name.is_redacted, name.state.source_bytes) {
        (false, _) => end,
        (true, source_bytes) if is_complete && source_bytes > 0 => source_bytes,
        // Its end may be in a pack that cannot be read.
        (true, _) => SOURCE_BYTES_UNKNOWN,
    };
    let transcript = ArchivedTranscript {
        id: 0,
        path: name.path,
        generation: name.generation,
        thread_id: name.thread_id,
        source: name.source,
        cwd: name.cwd,
        first_seq: name.first_seq,
        source_bytes,
        text_bytes: end,
        checked_bytes: 0,
        checked_chain: Digest128::default(),
        is_redacted: name.is_redacted,
        updated_ms: name.updated_ms,
        lived_ms: LIVED_UNKNOWN,
        first_pack: name.state.first_pack,
        redaction: name.state.redaction,
    };
    Some(ArchivedPart { transcript, from: 0, pieces, superseded: Vec::new() })
}

/// The texts of one path, the newest last. Only the newest can be the current one: packs may still call the others so.
fn states(mut texts: Vec<ArchivedPart>) -> Vec<ArchivedPart> {
    texts.sort_by_key(|ArchivedPart { transcript: text, .. }| {
        // In older packs only the generation says which text is newer. Of the replaced ones the lowest is the newest.
        let generation = if text.first_pack == 0 { text.generation } else { 0 };
        let redaction = (text.is_redacted, text.redaction);
        (text.first_pack, generation >= 0, generation.abs(), redaction)
    });
    // All may have been left out.
    let is_current = texts.last().is_some_and(|newest| newest.transcript.generation >= 0);
    let replaced = texts.len() - usize::from(is_current);
    let mut texts = texts.split_off(replaced.saturating_sub(REPLACED_MAX));
    let replaced = replaced.min(REPLACED_MAX);
    for (number, text) in (1..).zip(&mut texts[..replaced]) {
        text.transcript.generation = -number;
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_which_every_text_has_a_gap_has_no_text() {
        let name = TranscriptName {
            thread_id: "t".to_owned(),
            source: longhaul_core::thread::Source::Codex,
            path: "/t.jsonl".to_owned(),
            generation: 0,
            first_seq: 0,
            cwd: None,
            is_redacted: false,
            updated_ms: 0,
            state: longhaul_core::archive::pack::TextState {
                first_pack: 1,
                source_bytes: 20,
                redaction: 0,
            },
        };
        let piece = PackedPiece {
            transcript: 0,
            offset: 10,
            lines_before: 1,
            digest: ChunkDigest([7; 32]),
        };
        let (mut texts, mut bytes) = (HashMap::new(), HashMap::new());
        bytes.insert(piece.digest, 10);
        let contents =
            PackContents { transcripts: vec![name], chunks: Vec::new(), pieces: vec![piece] };
        gather(&mut texts, &contents);
        let texts = texts.into_values().flatten().map(|(_, text)| text);
        let whole: Vec<_> = texts.filter_map(|text| part(text, &bytes, true)).collect();
        assert!(states(whole).is_empty());
    }
}
