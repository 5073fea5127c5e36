//! Every transcript in a folder of real ones, if there is one.

use std::fs;
use std::path::{Path, PathBuf};

use longhaul_core::fold::Source;
use longhaul_daemon::ingest::{Limits, Root};
use longhaul_store::Store;

use super::rig::{WAIT, ingest, session, thread};

/// A part of the folder `LONGHAUL_CORPUS`, or a few hand-made files.
fn corpus(temp: &Path, part: &str) -> PathBuf {
    if let Some(folder) = std::env::var_os("LONGHAUL_CORPUS") {
        return PathBuf::from(folder).join(part);
    }
    for n in 0..3 {
        fs::write(temp.join(format!("{n}.jsonl")), session(&thread(n), 100)).unwrap();
    }
    temp.to_owned()
}

/// Non-blank lines of a text; an unfinished last one counts only if it is a complete JSON object.
fn lines(text: &[u8]) -> u64 {
    let mut lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    let rest = lines.pop().unwrap_or_default();
    let is_whole = serde_json::from_slice::<serde_json::Map<_, _>>(rest).is_ok();
    let whole = lines.iter().filter(|line| !line.trim_ascii().is_empty()).count();
    whole as u64 + u64::from(is_whole)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_line_of_every_transcript_is_counted() {
    every_line_is_counted("codex", Source::Codex).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_line_of_every_transcript_of_claude_code_is_counted() {
    every_line_is_counted("claude", Source::Claude).await;
}

async fn every_line_is_counted(part: &str, source: Source) {
    let temp = tempfile::tempdir().unwrap();
    let root = corpus(temp.path(), part).canonicalize().unwrap();
    let (store, _) = Store::open(&temp.path().join("store.db"), 1).await.unwrap();
    let roots = vec![Root { source, path: root, archived: false }];
    let ingest = ingest(store.clone(), roots, Limits::default());
    ingest.settle(WAIT).await.unwrap();
    let progress = ingest.progress();
    assert_eq!((progress.errors, progress.stalled), (Vec::new(), None));
    let files = store.files.after(longhaul_store::FileId(0)).await.unwrap();
    assert_eq!(files.len() as u64, progress.sources[0].files);
    assert!(!files.is_empty());
    for file in files {
        let bytes = fs::read(&file.path).unwrap();
        let is_compressed = file.path.ends_with(".zst");
        let text = if is_compressed { zstd::decode_all(&*bytes).unwrap() } else { bytes };
        let head = file.head.unwrap();
        assert_eq!(head.lines, lines(&text), "{}", file.path);
        assert!(head.malformed + head.oversized <= head.lines, "{}", file.path);
        let rest = text.len() as u64 - file.cursor.offset;
        let last = text.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        assert!(rest == 0 || rest == last.len() as u64, "{}: {rest} bytes left", file.path);
    }
}
