//! The index of the archive.

use longhaul_core::archive::chunk::ChunkDigest;
use longhaul_core::archive::eviction::ChunkGroup;
use longhaul_core::archive::pack::PackedChunk;
use longhaul_core::digest::Digest128;
use longhaul_core::thread::Source;
use longhaul_store::{ArchiveIndex, ArchivedPart, ArchivedTranscript, NewPack, NewPiece};
use tempfile::TempDir;

const CHUNK_BYTES: u64 = 100;

/// A pack of these chunks, compressed to a quarter.
fn pack(number: i64, chunks: &[&str]) -> NewPack {
    let text_bytes = chunks.len() as u64 * CHUNK_BYTES;
    let offsets = (0..).map(|at| at * CHUNK_BYTES);
    let chunks = chunks.iter().zip(offsets).map(|(chunk, offset)| PackedChunk {
        digest: ChunkDigest::of(chunk.as_bytes()),
        offset,
        bytes: CHUNK_BYTES,
    });
    NewPack { pack: number, bytes: text_bytes / 4, text_bytes, chunks: chunks.collect() }
}

fn text(thread_id: &str, generation: i64, chunks: &[&str]) -> ArchivedPart {
    let offsets = (0..).map(|at| at * CHUNK_BYTES);
    let pieces = chunks.iter().zip(offsets).map(|(chunk, offset)| NewPiece {
        offset,
        lines_before: 0,
        digest: ChunkDigest::of(chunk.as_bytes()),
    });
    let bytes = chunks.len() as u64 * CHUNK_BYTES;
    let transcript = ArchivedTranscript {
        id: 0,
        path: format!("/{thread_id}.jsonl"),
        generation,
        thread_id: thread_id.to_owned(),
        source: Source::Codex,
        cwd: None,
        first_seq: 0,
        source_bytes: bytes,
        text_bytes: bytes,
        checked_bytes: 0,
        checked_chain: Digest128::default(),
        is_redacted: false,
        updated_ms: generation,
        lived_ms: 0,
        first_pack: 0,
        redaction: 0,
    };
    ArchivedPart { transcript, from: 0, pieces: pieces.collect(), superseded: Vec::new() }
}

async fn opened() -> (TempDir, ArchiveIndex) {
    let folder = tempfile::tempdir().unwrap();
    let index = ArchiveIndex::open(&folder.path().join("index.db")).await.unwrap();
    (folder, index)
}

#[tokio::test]
async fn chunks_are_grouped_by_the_threads_that_use_them() {
    let (_folder, index) = opened().await;
    let packs = [pack(1, &["shared", "both", "a1"]), pack(2, &["a2", "b1"])];
    // A thread that has a chunk twice, once in an older text, uses it once.
    let texts = [
        text("a", 1, &["shared", "both", "a1", "a2"]),
        text("a", -1, &["shared", "a2", "a2"]),
        text("b", 1, &["shared", "both", "b1"]),
    ];
    index.commit(&packs, &texts).await.unwrap();
    let mut bytes = std::collections::BTreeMap::new();
    for ChunkGroup { threads, bytes: own } in index.threads.chunk_groups().await.unwrap() {
        *bytes.entry(threads.join(" ")).or_insert(0) += own;
    }
    let expected = [("a", 50), ("a b", 50), ("b", 25)].map(|(of, own)| (of.to_owned(), own));
    assert_eq!(bytes, expected.into());
}

#[tokio::test]
async fn an_index_knows_the_highest_number_of_a_pack_that_it_has_had() {
    let (_folder, index) = opened().await;
    assert_eq!(index.packs.last().await.unwrap(), 0);
    index.commit(&[pack(3, &["a"]), pack(7, &["b"])], &[]).await.unwrap();
    assert_eq!(index.packs.last().await.unwrap(), 7);
    index.packs.repack(&[7], None).await.unwrap();
    assert_eq!(index.packs.last().await.unwrap(), 7);
    index.packs.repack(&[3], Some(&pack(8, &["a"]))).await.unwrap();
    index.packs.repack(&[8], None).await.unwrap();
    index.packs.repack(&[], None).await.unwrap();
    assert_eq!(index.packs.all().await.unwrap(), []);
    assert_eq!(index.packs.last().await.unwrap(), 8);
    index.commit(&[pack(9, &["c"])], &[]).await.unwrap();
    assert_eq!(index.packs.last().await.unwrap(), 9);
}

#[tokio::test]
async fn repeated_damage_costs_no_undamaged_state_of_a_text() {
    let (_folder, index) = opened().await;
    for number in 1..=10_i64 {
        let chunk = number.to_string();
        index.commit(&[pack(number, &[&chunk])], &[text("a", number, &[&chunk])]).await.unwrap();
        if number > 5 {
            index.packs.record_check(number, 0, false).await.unwrap();
        }
        let row = index.transcripts.get("/a.jsonl", number).await.unwrap().unwrap();
        index.transcripts.replace(&row).await.unwrap();
    }
    let rows = index.transcripts.of_thread("a").await.unwrap();
    let mut kept: Vec<i64> = rows.iter().map(|row| row.updated_ms).collect();
    kept.sort_unstable();
    assert_eq!(kept, [2, 3, 4, 5, 7, 8, 9, 10], "the newest four of each kind");
}
