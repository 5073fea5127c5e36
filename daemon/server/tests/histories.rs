//! `history/get` of every real transcript in the folder that `LONGHAUL_CORPUS` names, of Codex and of Claude
//! Code; without one, of the sample session, as it is and compressed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{Client, Daemon};

/// Moments of a thread at which its history is asked for besides now.
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

fn corpus() -> Vec<PathBuf> {
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

/// Copies the corpus to where the agents keep their transcripts, each file in a folder of its own; every tenth
/// plain one of Codex is compressed on the way.
fn copy(corpus: &[PathBuf], home: &Path) -> Vec<PathBuf> {
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

async fn result(client: &mut Client, method: &str, params: Value) -> Value {
    let mut answer = client.call(method, params.clone()).await;
    assert!(answer["error"].is_null(), "{method} {params}: {answer}");
    answer["result"].take()
}

/// Every page of a history, joined; items as they are.
async fn history(client: &mut Client, thread: &Value, as_of: Option<u64>) -> Value {
    let mut params = json!({ "thread_id": thread, "max_bytes": BYTES, "opaque": "as_is" });
    if let Some(as_of) = as_of {
        params["as_of"] = as_of.into();
    }
    let mut whole = result(client, "history/get", params.clone()).await;
    while let Some(cursor) = whole["next_cursor"].take().as_str() {
        params["cursor"] = cursor.into();
        let mut page = result(client, "history/get", params.clone()).await;
        for part in ["items", "origins"] {
            let more = page[part].as_array_mut().unwrap().split_off(0);
            whole[part].as_array_mut().unwrap().extend(more);
        }
        whole["next_cursor"] = page["next_cursor"].take();
    }
    whole
}

fn sum(history: &Value) -> u64 {
    history["origins"].as_array().unwrap().iter().map(|p| p["tokens"].as_u64().unwrap()).sum()
}

async fn check_legal(client: &mut Client, history: &Value) {
    let of = json!({ "items": history["items"] });
    let once = result(client, "context/normalize", of).await;
    let of = json!({ "items": once["items"] });
    let twice = result(client, "context/normalize", of).await;
    assert_eq!(twice["changes"], json!([]), "{}", history["thread_id"]);
    assert!(twice["items"] == once["items"], "{}", history["thread_id"]);
}

/// Places of a history that stand after its base: line, and the number on the line.
fn lines(history: &Value) -> BTreeSet<u64> {
    let base = history["base"]["seq"].as_u64().unwrap();
    let seqs = history["origins"].as_array().unwrap().iter().map(|p| p["seq"].as_u64().unwrap());
    seqs.filter(|seq| *seq > base).collect()
}

/// With one base, what is visible now and stood before was visible then.
async fn check_moments(client: &mut Client, now: &Value) {
    let last = now["seq"].as_u64().unwrap();
    for part in 1..MOMENTS {
        let seq = last * part / MOMENTS;
        let then = history(client, &now["thread_id"], Some(seq)).await;
        let name = format!("{} as of {seq} of {last}", now["thread_id"]);
        assert!(then["seq"].as_u64().unwrap() <= seq, "{name}");
        assert!(lines(&then).iter().all(|line| *line <= seq), "{name}");
        check_legal(client, &then).await;
        if then["base"] == now["base"] {
            let kept: BTreeSet<u64> = lines(now).into_iter().filter(|line| *line <= seq).collect();
            assert!(kept.is_subset(&lines(&then)), "{name}");
        }
        let again = history(client, &now["thread_id"], Some(seq)).await;
        assert!(again == then, "{name}: two answers");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_history_is_answered_legal_and_counted_the_same_everywhere() {
    let home = tempfile::tempdir().unwrap();
    let copies = copy(&corpus(), home.path());
    let daemon = Daemon::over(home, "").await;
    let mut client = daemon.connect().await;
    for path in copies {
        result(&mut client, "thread/sync", json!({ "path": path, "timeout_ms": 15_000 })).await;
    }
    let (mut params, mut threads) = (json!({ "limit": 100 }), Vec::new());
    loop {
        let mut page = result(&mut client, "thread/list", params.clone()).await;
        threads.append(page["threads"].as_array_mut().unwrap());
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        params["cursor"] = cursor.into();
    }
    let mut differing = Vec::new();
    for thread in threads.iter().filter(|thread| thread["items"] != 0) {
        let id = &thread["thread_id"];
        let got = result(&mut client, "thread/get", json!({ "thread_id": id })).await;
        let now = history(&mut client, id, None).await;
        assert_eq!(now["tokens"], got["thread"]["tokens"], "{id}");
        // An old compaction's kept requests are counted without the envelope they get when read back, and the
        // lines of Claude Code in their own form, not in that in which they leave.
        let is_itself = now["base"]["kind"] != "summary" && thread["source"] != "claude";
        if is_itself && sum(&now) != now["tokens"] {
            differing.push(format!("{id}: {} is not {}", sum(&now), now["tokens"]));
        }
        check_legal(&mut client, &now).await;
        check_moments(&mut client, &now).await;
    }
    assert!(differing.is_empty(), "{differing:#?}");
    println!("{} threads", threads.len());
}
