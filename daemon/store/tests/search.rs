//! The full-text index: matches and their order.

use std::path::Path;

use longhaul_core::digest::Digest128;
use longhaul_core::fold::Source;
use longhaul_core::item::ItemKind;
use longhaul_core::search::query::Query;
use longhaul_core::search::word;
use longhaul_store::{IndexItem, IndexPart, IndexedFile, SearchFilter, SearchIndex};
use sqlx::{Connection as _, SqliteConnection};
use tempfile::TempDir;

fn part(path: &str, first: u64, texts: &[&str]) -> IndexPart {
    let items: Vec<IndexItem> = (first..)
        .zip(texts)
        .map(|(seq, text)| {
            let words = word::spread(text);
            IndexItem {
                seq,
                kind: if seq % 2 == 0 { ItemKind::UserMessage } else { ItemKind::ToolOutput },
                at_ms: 1_000 * seq.cast_signed(),
                digest: seq.cast_signed(),
                pieces: words.pieces,
                names: words.names,
            }
        })
        .collect();
    let file = IndexedFile {
        path: path.into(),
        thread_id: format!("thread {path}"),
        source: Source::Codex,
        cwd: Some(format!("/home/dev{path}")),
        generation: 1,
        next_seq: first + texts.len() as u64,
        last_seq: first,
        last_digest: Digest128::of(path.as_bytes()),
        at_ms: 0,
    };
    IndexPart { file, items }
}

async fn index(folder: &Path) -> SearchIndex {
    SearchIndex::open(&folder.join("search.db")).await.unwrap()
}

async fn opened() -> (TempDir, SearchIndex) {
    let folder = tempfile::tempdir().unwrap();
    let index = index(folder.path()).await;
    (folder, index)
}

async fn seqs(index: &SearchIndex, query: &str, filter: &SearchFilter) -> Vec<u64> {
    let expression = Query::parse(query).unwrap().expression();
    let matches = index.matches(&expression, filter, 100).await.unwrap();
    matches.iter().map(|found| found.candidate.seq).collect()
}

#[tokio::test]
async fn words_names_paths_phrases_and_any_script_are_found() {
    let (_folder, index) = opened().await;
    let texts = [
        "The ParseLine of src/foo_bar.rs",
        "deadlock while waiting; a dead lock",
        "全文检索引擎 in rust",
        "Ecole and café",
        "snake_case_name sha256 a1b2c3",
    ];
    index.commit(&[part("/a", 0, &texts)]).await.unwrap();
    let any = SearchFilter::default();
    for (query, expected) in [
        ("parseline", vec![0]),
        ("ParseLine", vec![0]),
        ("line", vec![0]),
        ("foo_bar.rs", vec![0]),
        ("src/foo_bar", vec![0]),
        ("bar", vec![0]),
        ("\"dead lock\"", vec![1]),
        ("dead*", vec![1]),
        ("全文", vec![2]),
        ("检索引", vec![2]),
        ("擎", vec![2]),
        ("文索", vec![]),
        ("école", vec![3]),
        ("CAFE", vec![3]),
        ("case_name", vec![4]),
        ("a1b2c3 OR rust", vec![4, 2]),
        ("the OR in NOT rust", vec![0]),
        ("scodex", vec![]),
        ("dev", vec![]),
    ] {
        assert_eq!(seqs(&index, query, &any).await, expected, "{query}");
    }
}

#[tokio::test]
async fn no_query_causes_an_index_error() {
    let (_folder, index) = opened().await;
    index.commit(&[part("/a", 0, &["some words"])]).await.unwrap();
    for query in [
        "a\"b",
        "(",
        "a AND",
        "NEAR(a b)",
        "pieces:x",
        "^a",
        "a+b",
        "{a}: b",
        "x* y*",
        "'; DROP",
        "a\0b",
        "\u{a9e0}",
        "🦀 crab",
        "-- x",
        "\\",
        "%",
        "AND OR x",
        "scope : \"s\"",
    ] {
        let Ok(query) = Query::parse(query) else { continue };
        let expression = query.expression();
        index.matches(&expression, &SearchFilter::default(), 10).await.unwrap();
        for term in query.wanted() {
            index.count(&term.expression(), 10).await.unwrap();
            index.relevance(&term.expression(), (0, i64::MAX), 10).await.unwrap();
        }
    }
}

#[tokio::test]
async fn filters_narrow_and_the_newest_come_first() {
    let (_folder, index) = opened().await;
    // The older file is indexed last.
    index.commit(&[part("/new", 10, &["word", "word", "word"])]).await.unwrap();
    index.commit(&[part("/old", 0, &["word", "word"])]).await.unwrap();
    let any = SearchFilter::default;
    let folders = |folders: &[&str]| Some(folders.iter().map(|&folder| folder.into()).collect());
    for (filter, expected) in [
        (any(), vec![12, 11, 10, 1, 0]),
        (SearchFilter { folders: folders(&["/home/dev/old"]), ..any() }, vec![1, 0]),
        (SearchFilter { folders: folders(&["/nowhere", "/home/dev/old"]), ..any() }, vec![1, 0]),
        (SearchFilter { folders: folders(&[]), ..any() }, vec![]),
        (SearchFilter { thread_id: Some("thread /new".into()), ..any() }, vec![12, 11, 10]),
        (SearchFilter { source: Some(Source::Claude), ..any() }, vec![]),
        (SearchFilter { kinds: vec![ItemKind::ToolOutput], ..any() }, vec![11, 1]),
        (SearchFilter { since_ms: Some(1_000), until_ms: Some(11_000), ..any() }, vec![10, 1]),
    ] {
        assert_eq!(seqs(&index, "word", &filter).await, expected, "{filter:?}");
    }
    let newest = index.matches("pieces : \"word\"", &any(), 2).await.unwrap();
    assert_eq!(newest.len(), 2);
    assert_eq!(index.count("pieces : \"word\"", 3).await.unwrap(), 3);
    let relevance =
        index.relevance("pieces : \"word\"", (newest[1].item, newest[0].item), 10).await;
    assert_eq!(relevance.unwrap().len(), 2);
}

#[tokio::test]
async fn any_number_of_items_of_one_moment_is_found() {
    let (_folder, index) = opened().await;
    let at_once = |path: &str, items: u64| {
        let texts = vec!["word"; usize::try_from(items).unwrap()];
        let mut part = part(path, 0, &texts);
        part.items.iter_mut().for_each(|item| item.at_ms = 1_772_442_900_000);
        part
    };
    index.commit(&[at_once("/a", 700), at_once("/b", 300)]).await.unwrap();
    index.commit(&[at_once("/c", 900)]).await.unwrap();
    index.commit(&[at_once("/d", 1)]).await.unwrap();
    assert_eq!(index.count("pieces : \"word\"", 10_000).await.unwrap(), 1_901);
    let matches =
        index.matches("pieces : \"word\"", &SearchFilter::default(), 10_000).await.unwrap();
    assert_eq!(matches.len(), 1_901);
    assert!(matches.iter().all(|found| found.candidate.at_ms == 1_772_442_900_000));
}

#[tokio::test]
async fn a_dropped_file_is_hidden_at_once_and_deleted_in_batches() {
    let (_folder, index) = opened().await;
    index.commit(&[part("/a", 0, &["word"; 5]), part("/b", 0, &["word"])]).await.unwrap();
    index.drop_file("/a").await.unwrap();
    let any = SearchFilter::default();
    assert_eq!(seqs(&index, "word", &any).await, [0]);
    index.commit(&[part("/a", 7, &["word"])]).await.unwrap();
    let mut sweeps = 0;
    while index.sweep(2).await.unwrap() {
        sweeps += 1;
    }
    assert_eq!((sweeps, index.items().await.unwrap()), (3, 2));
    assert_eq!(seqs(&index, "word", &any).await, [7, 0]);
    assert_eq!(index.count("pieces : \"word\"", 10).await.unwrap(), 2, "its words are deleted");
    index.move_file("/b", "/c").await.unwrap();
    assert!(index.files_after(0).await.unwrap().iter().any(|(_, file)| file.path == "/c"));
}

#[tokio::test]
async fn a_damaged_or_foreign_index_is_rebuilt() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("search.db");
    std::fs::write(&path, "no database at all, and long enough to be taken for one".repeat(40))
        .unwrap();
    let fresh = index(folder.path()).await;
    fresh.commit(&[part("/a", 0, &["word"])]).await.unwrap();
    fresh.rebuild().await.unwrap();
    assert_eq!(fresh.items().await.unwrap(), 0);
    fresh.close().await;
    let other = stamp(&path, 99);
    assert!(other, "the version could not be changed");
    let fresh = index(folder.path()).await;
    assert!(fresh.files_after(0).await.unwrap().is_empty());
}

/// Stamps the header's `user_version` (bytes 60 to 63).
fn stamp(path: &Path, version: u8) -> bool {
    let mut bytes = std::fs::read(path).unwrap();
    let changed = bytes.get(63) != Some(&version);
    bytes[63] = version;
    std::fs::write(path, bytes).unwrap();
    changed
}

/// Whether the bytes of the index have a word, also of deleted items, which the vocabulary hides. Without its first letter,
/// which the word before may share.
async fn has_bytes(folder: &Path, word: &str) -> bool {
    let url = format!("sqlite://{}", folder.join("search.db").display());
    let mut connection = SqliteConnection::connect(&url).await.unwrap();
    let blocks = "SELECT count(*) FROM item_text_data WHERE instr(block, CAST(?1 AS BLOB)) > 0";
    let (blocks,): (i64,) =
        sqlx::query_as(blocks).bind(&word[1..]).fetch_one(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    blocks > 0
}

#[tokio::test]
async fn an_erased_thread_leaves_no_word_in_any_segment() {
    let (folder, index) = opened().await;
    let all = [("/a", "zirconia"), ("/b", "turbine"), ("/c", "compressor"), ("/d", "governor")];
    // In one segment: FTS5 drops one of which everything is deleted.
    index.commit(&all.map(|(path, word)| part(path, 0, &[word, word]))).await.unwrap();
    // Its transcript was deleted long ago.
    index.drop_file("/b").await.unwrap();
    while index.sweep(100).await.unwrap() {}
    assert!(has_bytes(folder.path(), "turbine").await, "deleted, but still there");
    for (path, word) in [("/a", "zirconia"), ("/c", "compressor"), ("/b", "turbine")] {
        index.erase_thread(&format!("thread {path}")).await.unwrap();
        assert!(!has_bytes(folder.path(), word).await, "{word}");
    }
    assert!(has_bytes(folder.path(), "governor").await);
}
