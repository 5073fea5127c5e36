//! `history/get` for every real transcript of Codex and Claude Code in the folder `LONGHAUL_CORPUS`; without one, for the
//! sample session, plain and compressed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use longhaul_protocol::context::{Normalize, NormalizeParams};
use longhaul_protocol::history::{
    BaseKind, HistoryGet, HistoryGetParams, HistoryGetResult, Opaque,
};
use longhaul_protocol::thread::{ThreadList, ThreadListParams, ThreadSummary};
use serde_json::value::RawValue;

use crate::support::{Client, Daemon};

/// A thread's history is requested as of now and of one earlier moment: another one of these for each thread.
const MOMENTS: u64 = 5;

const BYTES: u64 = 4 << 20;

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files(&path, found),
            false => found.push(path),
        }
    }
}

pub fn corpus() -> Vec<PathBuf> {
    let mut found = Vec::new();
    if let Some(folder) = std::env::var_os("LONGHAUL_CORPUS").map(PathBuf::from) {
        files(&folder.join("codex/genuine"), &mut found);
        files(&folder.join("codex/public"), &mut found);
        files(&folder.join("claude"), &mut found);
    }
    if found.is_empty() {
        files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../samples/codex-home"), &mut found);
    }
    let is_transcript = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        [".jsonl", ".jsonl.zst", ".json"].iter().any(|end| name.ends_with(end))
    };
    found.retain(is_transcript);
    found.sort();
    found
}

/// Copies the corpus to the agents' folders, each file into a separate folder; compresses every tenth plain transcript of
/// Codex.
pub fn copy(corpus: &[PathBuf], home: &Path) -> Vec<PathBuf> {
    let mut copies = Vec::new();
    for (number, file) in corpus.iter().enumerate() {
        let is_claude = file.components().any(|part| part.as_os_str() == "claude");
        let place = if is_claude { ".claude/projects" } else { ".codex/sessions/2026" };
        let folder = home.join(format!("{place}/{number:04}"));
        fs::create_dir_all(&folder).unwrap();
        let name = file.file_name().unwrap().to_str().unwrap();
        if is_claude {
            copies.push(folder.join(name));
            fs::copy(file, folder.join(name)).unwrap();
            continue;
        }
        let name = match name.starts_with("rollout-") {
            true => name.to_owned(),
            false => format!("rollout-{name}"),
        };
        let bytes = fs::read(file).unwrap();
        let (name, bytes) = match number % 10 == 9 && name.ends_with(".jsonl") {
            true => (name + ".zst", zstd::encode_all(&*bytes, 1).unwrap()),
            false => (name, bytes),
        };
        copies.push(folder.join(name));
        fs::write(folder.join(copies.last().unwrap()), bytes).unwrap();
    }
    copies
}

/// All pages of a history, joined.
async fn history(client: &mut Client, thread_id: &str, as_of: Option<u64>) -> HistoryGetResult {
    let mut params = HistoryGetParams {
        thread_id: thread_id.into(),
        as_of,
        max_bytes: Some(BYTES),
        opaque: Some(Opaque::AsIs),
        cursor: None,
    };
    let mut whole = client.call::<HistoryGet>(params.clone()).await.unwrap();
    while let Some(cursor) = whole.next_cursor.take() {
        params.cursor = Some(cursor);
        let page = client.call::<HistoryGet>(params.clone()).await.unwrap();
        whole.items.extend(page.items);
        whole.origins.extend(page.origins);
        whole.next_cursor = page.next_cursor;
    }
    assert_eq!(whole.items.len(), whole.origins.len(), "{thread_id}");
    whole
}

/// The serialized answer, for comparison.
fn bytes(history: &HistoryGetResult) -> String {
    serde_json::to_string(history).unwrap()
}

fn sum(history: &HistoryGetResult) -> u64 {
    history.origins.iter().map(|place| place.tokens).sum()
}

async fn check_legal(client: &mut Client, history: &HistoryGetResult) {
    let mut normalize = async |items: &[Box<RawValue>]| {
        let params = NormalizeParams { items: items.to_vec(), ..Default::default() };
        client.call::<Normalize>(params).await.unwrap()
    };
    let once = normalize(&history.items).await;
    let twice = normalize(&once.items).await;
    assert_eq!(twice.changes, [], "{}", history.thread_id);
    let text = |items: &[Box<RawValue>]| serde_json::to_string(items).unwrap();
    assert!(text(&twice.items) == text(&once.items), "{}", history.thread_id);
}

/// Lines of a history after its base.
fn lines(history: &HistoryGetResult) -> BTreeSet<u64> {
    let seqs = history.origins.iter().map(|place| place.seq);
    seqs.filter(|seq| *seq > history.base.seq).collect()
}

/// With the same base, every line visible now that existed earlier was visible then.
async fn check_moment(client: &mut Client, now: &HistoryGetResult, seq: u64) {
    let then = history(client, &now.thread_id, Some(seq)).await;
    let name = format!("{} as of {seq} of {}", now.thread_id, now.seq);
    assert!(then.seq <= seq, "{name}");
    assert!(lines(&then).iter().all(|line| *line <= seq), "{name}");
    check_legal(client, &then).await;
    if then.base == now.base {
        let kept: BTreeSet<u64> = lines(now).into_iter().filter(|line| *line <= seq).collect();
        assert!(kept.is_subset(&lines(&then)), "{name}");
    }
    let again = history(client, &now.thread_id, Some(seq)).await;
    assert!(bytes(&again) == bytes(&then), "{name}: two answers");
}

pub async fn threads(client: &mut Client) -> Vec<ThreadSummary> {
    let mut params = ThreadListParams { limit: Some(100), ..Default::default() };
    let mut threads = Vec::new();
    loop {
        let page = client.call::<ThreadList>(params.clone()).await.unwrap();
        threads.extend(page.threads);
        let Some(cursor) = page.next_cursor else { return threads };
        params.cursor = Some(cursor);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_history_is_valid_and_counted_consistently() {
    let home = tempfile::tempdir().unwrap();
    let copies = copy(&corpus(), home.path());
    let (_daemon, mut client) = Daemon::with_client(home, "").await;
    for path in copies {
        client.sync_file(&path).await;
    }
    let (mut differing, mut checked) = (Vec::new(), 0);
    for thread in threads(&mut client).await.iter().filter(|thread| thread.items != 0) {
        let id = &thread.thread_id;
        let now = history(&mut client, id, None).await;
        assert_eq!(now.tokens, client.thread(id).await.tokens, "{id}");
        // The requests kept by an old compaction are counted without their envelope, and the lines of Claude Code in
        // their own form instead of the returned one.
        let is_itself = now.base.kind != BaseKind::Summary && thread.source != "claude";
        if is_itself && sum(&now) != now.tokens {
            differing.push(format!("{id}: {} is not {}", sum(&now), now.tokens));
        }
        check_legal(&mut client, &now).await;
        check_moment(&mut client, &now, now.seq * (1 + checked % (MOMENTS - 1)) / MOMENTS).await;
        checked += 1;
    }
    assert!(differing.is_empty(), "{differing:#?}");
    assert!(checked > 0, "no thread was checked");
}
