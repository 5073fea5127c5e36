use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use longhaul_core::rollout::compose;
use serde_json::json;
use tempfile::TempDir;

use super::*;

fn recorder() -> (TempDir, Recorder) {
    let folder = tempfile::tempdir().unwrap();
    let recorder = again(&folder);
    (folder, recorder)
}

/// A recorder without a cache, as after a restart.
fn again(folder: &TempDir) -> Recorder {
    Recorder::new(folder.path().join("threads"), Clock::manual(1_763_700_000_000))
}

fn opening() -> Opening {
    Opening { cwd: "/w".into(), originator: "test".into(), ..Opening::default() }
}

async fn open(recorder: &Recorder) -> OpenThread {
    recorder.open(Key::Client("k".into()), opening()).await.unwrap()
}

fn line(id: &str) -> Line {
    line_at(0, id)
}

fn line_at(at_ms: i64, id: &str) -> Line {
    let payload = json!({ "type": "message", "role": "user", "content": id });
    let text = compose::line(at_ms, "response_item", &payload, Some(id));
    Line { client_item_id: id.to_owned(), text, redacted: 0 }
}

async fn append(
    recorder: &Recorder,
    thread: &OpenThread,
    ids: &[&str],
    expected_seq: Option<u64>,
) -> Result<AppendReport, RecorderError> {
    let lines = ids.iter().map(|id| line(id)).collect();
    recorder.append(&thread.thread_id, expected_seq, |_| Ok::<_, RecorderError>(lines)).await
}

fn ids(thread: &OpenThread) -> Vec<String> {
    let text = fs::read_to_string(&thread.path).unwrap();
    assert!(text.ends_with('\n'), "torn");
    text.lines().filter_map(compose::client_item_id).collect()
}

#[tokio::test]
async fn one_key_is_one_thread_after_a_restart_and_for_two_concurrent_calls() {
    let (folder, recorder) = recorder();
    let (first, second) = tokio::join!(open(&recorder), open(&recorder));
    assert_eq!((&first.thread_id, &first.path), (&second.thread_id, &second.path));
    assert!(first.created != second.created);
    let later = open(&again(&folder)).await;
    assert_eq!((later.thread_id.as_str(), later.created), (first.thread_id.as_str(), false));
    let by_id = recorder.open(Key::Thread(first.thread_id.clone()), opening()).await.unwrap();
    assert_eq!(by_id.path, first.path);
    let other = Opening { originator: "another".into(), ..opening() };
    let other = recorder.open(Key::Client("k".into()), other).await.unwrap();
    assert_ne!(other.thread_id, first.thread_id, "a key belongs to its program");
    let part = first.thread_id.rsplit('-').next().unwrap();
    for key in ["nobody", "", "../../x", part, &format!("00-{}", first.thread_id)] {
        let missing = recorder.open(Key::Thread(key.into()), opening()).await;
        assert!(matches!(missing, Err(RecorderError::NotFound(_))), "{key}");
    }
}

#[tokio::test]
async fn files_and_folders_are_private() {
    let (folder, recorder) = recorder();
    let thread = open(&recorder).await;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&thread.path), 0o600);
    for parent in thread.path.ancestors().skip(1).take_while(|path| *path != folder.path()) {
        assert_eq!(mode(parent), 0o700, "{}", parent.display());
    }
    let below = thread.path.strip_prefix(folder.path()).unwrap().display().to_string();
    assert!(below.starts_with("threads/2025/11/21/rollout-2025-11-21T04-40-00-"), "{below}");
}

#[tokio::test]
async fn an_item_is_stored_once_however_often_it_is_sent() {
    let (folder, recorder) = recorder();
    let thread = open(&recorder).await;
    let first = append(&recorder, &thread, &["a", "b"], None).await.unwrap();
    assert_eq!((first.seq, first.appended, first.duplicates), (2, 2, 0));
    let second = append(&recorder, &thread, &["b", "c"], None).await.unwrap();
    assert_eq!((second.seq, second.appended, second.duplicates), (3, 1, 1));
    let restarted = again(&folder);
    let third = append(&restarted, &thread, &["a", "c", "d"], None).await.unwrap();
    assert_eq!((third.seq, third.appended, third.duplicates), (4, 1, 2));
    assert_eq!(third.bytes, fs::metadata(&thread.path).unwrap().len());
    assert_eq!(ids(&thread), ["a", "b", "c", "d"]);
}

#[tokio::test]
async fn an_expected_seq_is_stale_after_others_but_not_after_an_earlier_try() {
    let (_folder, recorder) = recorder();
    let thread = open(&recorder).await;
    append(&recorder, &thread, &["a"], Some(0)).await.unwrap();
    append(&recorder, &thread, &["a"], Some(0)).await.unwrap();
    let stale = append(&recorder, &thread, &["b"], Some(0)).await;
    assert!(matches!(stale, Err(RecorderError::Stale { expected: 0, present: 1 })), "{stale:?}");
    // The first half of the batch is in the file, as after a crash.
    let half = append(&recorder, &thread, &["a", "b"], Some(0)).await.unwrap();
    assert_eq!((half.appended, half.duplicates), (1, 1));
    let ahead = append(&recorder, &thread, &["c"], Some(9)).await;
    assert!(matches!(ahead, Err(RecorderError::Stale { expected: 9, present: 2 })));
    let done = append(&recorder, &thread, &["a", "b"], Some(0)).await.unwrap();
    assert_eq!(
        (done.appended, done.duplicates),
        (0, 2),
        "without lines to write it is never stale"
    );
    assert_eq!(ids(&thread), ["a", "b"]);
}

#[tokio::test]
async fn a_torn_tail_is_repaired_at_every_byte() {
    let (folder, recorder) = recorder();
    let thread = open(&recorder).await;
    append(&recorder, &thread, &["a"], None).await.unwrap();
    let whole = fs::read(&thread.path).unwrap();
    let torn = line("b").text;
    for cut in 1..torn.len() {
        fs::write(&thread.path, [&whole, &torn.as_bytes()[..cut]].concat()).unwrap();
        let appended = append(&again(&folder), &thread, &["a", "b", "c"], None).await.unwrap();
        // Without only its newline, the line is complete.
        let expected = if cut == torn.len() - 1 { (1, 2) } else { (2, 1) };
        assert_eq!((appended.appended, appended.duplicates), expected, "{cut}");
        assert_eq!(ids(&thread), ["a", "b", "c"], "{cut}");
    }
}

/// A power cut while a batch is written may lose any part of it, such as the time of a line and not its id.
#[tokio::test]
async fn a_batch_with_a_hole_is_cut_off_and_can_be_sent_again() {
    let (folder, recorder) = recorder();
    let thread = open(&recorder).await;
    append(&recorder, &thread, &["a"], None).await.unwrap();
    let whole = fs::read(&thread.path).unwrap();
    let batch = [line_at(5, "b").text, line_at(5, "c").text].concat().into_bytes();
    for start in 0..batch.len() {
        for length in [2, 40, 200] {
            let mut torn = batch.clone();
            let end = torn.len().min(start + length);
            torn[start..end].fill(0);
            fs::write(&thread.path, [&*whole, &torn].concat()).unwrap();
            append(&again(&folder), &thread, &["a", "b", "c"], None).await.unwrap();
            assert_eq!(ids(&thread), ["a", "b", "c"], "{length} bytes at {start}");
            let text = fs::read_to_string(&thread.path).unwrap();
            let is_whole = |line: &str| serde_json::from_str::<serde_json::Value>(line).is_ok();
            assert!(text.lines().all(is_whole), "{length} bytes at {start}: {text}");
        }
    }
}

#[tokio::test]
async fn lines_of_later_batches_behind_a_torn_one_stay() {
    let (folder, recorder) = recorder();
    let thread = open(&recorder).await;
    let whole = fs::read(&thread.path).unwrap();
    let torn = line_at(5, "b").text.replacen("1970", "\0\0\0\0", 1);
    let later = [line_at(5, "c").text, line_at(9, "d").text].concat();
    let file = [&*whole, torn.as_bytes(), later.as_bytes()].concat();
    fs::write(&thread.path, &file).unwrap();
    let appended = append(&again(&folder), &thread, &["b", "c", "d"], None).await.unwrap();
    assert_eq!((appended.appended, appended.duplicates), (1, 2), "b is not in the file");
    assert!(fs::read(&thread.path).unwrap().starts_with(&file));
}

#[tokio::test]
async fn a_flipped_bit_at_rest_costs_only_its_line() {
    let (folder, recorder) = recorder();
    let thread = open(&recorder).await;
    let whole = fs::read(&thread.path).unwrap();
    // One bit of a space is a zero.
    let first = line_at(5, "a b").text;
    let batch = [first.as_str(), &line_at(5, "c").text].concat().into_bytes();
    let at_edge = |at: usize| [0, 511].contains(&((whole.len() + at) % 512));
    let mut checked = 0;
    for (at, bit) in (0..batch.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
        let mut damaged = batch.clone();
        damaged[at] ^= 1 << bit;
        // At the edge of a sector, one zero may be a hole.
        if damaged[at] == 0 && at_edge(at) {
            continue;
        }
        let file = [&*whole, &damaged].concat();
        fs::write(&thread.path, &file).unwrap();
        let mut log = Log::at(thread.thread_id.clone(), thread.path.clone());
        let known = ["a b", "c"].map(|id| log.seq_of(id).unwrap().is_some());
        let (in_first, in_second) = (at < first.len(), at + 1 >= first.len());
        assert!(known[0] || in_first, "a b, with bit {bit} of byte {at}");
        assert!(known[1] || in_second, "c, with bit {bit} of byte {at}");
        let is_kept = at + 1 == damaged.len() || fs::read(&thread.path).unwrap() == file;
        assert!(is_kept, "bit {bit} of byte {at}");
        checked += 1;
    }
    assert!(checked > 0);
    append(&again(&folder), &thread, &["a b", "c"], None).await.unwrap();
    assert_eq!(ids(&thread), ["a b", "c"], "a flipped newline at the end is written again");
}

#[tokio::test]
async fn changes_of_the_file_by_others_are_noticed() {
    let (_folder, recorder) = recorder();
    let thread = open(&recorder).await;
    append(&recorder, &thread, &["a"], None).await.unwrap();
    let mut file = fs::OpenOptions::new().append(true).open(&thread.path).unwrap();
    file.write_all(format!("{}{{\"torn", line("x").text).as_bytes()).unwrap();
    let appended = append(&recorder, &thread, &["x", "b"], None).await.unwrap();
    assert_eq!((appended.seq, appended.duplicates), (3, 1));
    assert_eq!(ids(&thread), ["a", "x", "b"]);
    fs::remove_file(&thread.path).unwrap();
    let gone = append(&recorder, &thread, &["c"], None).await;
    assert!(matches!(gone, Err(RecorderError::NotFound(_))), "{gone:?}");
    let back = open(&recorder).await;
    assert!(back.created);
    append(&recorder, &back, &["c"], None).await.unwrap();
    assert_eq!(ids(&back), ["c"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_writers_of_one_thread_are_ordered() {
    let (folder, recorder) = recorder();
    let (thread, recorder) = (open(&recorder).await, Arc::new(recorder));
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..8 {
        let (recorder, thread) = (recorder.clone(), thread.clone());
        writers.spawn(async move {
            for number in 0..20 {
                let id = format!("{writer}-{number}");
                append(&recorder, &thread, &[&id], None).await.unwrap();
            }
        });
    }
    while let Some(done) = writers.join_next().await {
        done.unwrap();
    }
    let ids = ids(&thread);
    assert_eq!(ids.len(), 160);
    for writer in 0..8 {
        let own: Vec<_> = ids.iter().filter(|id| id.starts_with(&format!("{writer}-"))).collect();
        assert!(own.iter().enumerate().all(|(n, id)| **id == format!("{writer}-{n}")), "{own:?}");
    }
    let close = again(&folder).close(&thread.thread_id).await.unwrap();
    assert_eq!(close.seq, 160);
}

#[tokio::test]
async fn a_crash_while_a_thread_is_created_leaves_no_file() {
    let (_folder, recorder) = recorder();
    let thread = open(&recorder).await;
    let day = thread.path.parent().unwrap();
    for (key, files) in [(Key::New, 2), (Key::Thread(thread.thread_id.clone()), 2)] {
        fs::write(day.join(".rollout-x.jsonl.new"), "{\"half").unwrap();
        recorder.open(key, opening()).await.unwrap();
        let names: Vec<_> = fs::read_dir(day).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names.len(), files, "{names:?}");
    }
}

#[tokio::test]
async fn the_number_of_open_logs_is_bounded() {
    let (_folder, recorder) = recorder();
    let mut threads = Vec::new();
    for number in 0..70 {
        let thread = recorder.open(Key::Client(number.to_string()), opening()).await.unwrap();
        append(&recorder, &thread, &["a"], None).await.unwrap();
        threads.push(thread);
    }
    for thread in &threads {
        let appended = append(&recorder, thread, &["a", "b"], None).await.unwrap();
        assert_eq!((appended.appended, appended.duplicates), (1, 1));
    }
    let open = threads.iter().filter(|thread| recorder.logs.get(&thread.thread_id).is_some());
    assert!(open.count() <= 65);
}
