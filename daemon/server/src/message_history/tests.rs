use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;

use tempfile::TempDir;

use super::*;

const START_MS: i64 = 1_763_700_000_000;

struct Desk {
    folder: TempDir,
    clock: Clock,
    history: MessageHistory,
}

fn desk(max_bytes: Option<u64>) -> Desk {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("codex")).unwrap();
    let clock = Clock::manual(START_MS);
    let codex = folder.path().join("codex");
    let history = MessageHistory::new(folder.path(), &codex, max_bytes, clock.clone());
    Desk { folder, clock, history }
}

impl Desk {
    async fn keep(&self, text: &str) -> PromptEntry {
        self.clock.advance_ms(1);
        let message =
            Message { at_ms: 0, text: text.to_owned(), thread_id: Some("t".into()), cwd: None };
        self.history.append(message).await.unwrap().unwrap()
    }

    async fn find(&self, filter: Filter) -> Page {
        let limit = if filter.limit == 0 { 50 } else { filter.limit };
        self.history.lookup(Filter { limit, ..filter }).await.unwrap()
    }

    async fn texts(&self, filter: Filter) -> Vec<String> {
        self.find(filter).await.found.into_iter().map(|found| found.message.text).collect()
    }

    fn codex(&self, lines: &str) {
        fs::write(self.folder.path().join("codex/history.jsonl"), lines).unwrap();
    }
}

fn at(kept: &PromptEntry) -> Filter {
    Filter { log_id: Some(kept.log_id.clone()), offset: Some(kept.offset), ..Filter::default() }
}

#[tokio::test]
async fn lookup_by_offset() {
    let desk = desk(Some(1 << 20));
    let (first, second) = (desk.keep("one").await, desk.keep("two").await);
    assert_eq!((first.offset, second.offset), (0, 1));
    assert_eq!(desk.texts(at(&first)).await, ["one"]);
    assert_eq!(desk.texts(at(&second)).await, ["two"]);
    let beyond = Filter { offset: Some(2), ..at(&second) };
    assert!(desk.texts(beyond).await.is_empty());
    let elsewhere = Filter { log_id: Some("another".into()), ..at(&first) };
    assert_eq!(desk.find(elsewhere).await, Page::default());
}

#[tokio::test]
async fn stable_log_id_across_appends_and_trims() {
    let desk = desk(Some(2_000));
    let first = desk.keep(&"a".repeat(100)).await;
    let mut last = first.clone();
    for number in 1..60 {
        last = desk.keep(&format!("{number} {}", "b".repeat(100))).await;
        assert_eq!((&last.log_id, last.offset), (&first.log_id, number));
        let found = desk.texts(at(&last)).await;
        assert!(found[0].starts_with(&format!("{number} ")), "{found:?}");
    }
    assert!(desk.texts(at(&first)).await.is_empty(), "it was trimmed");
    let log = &desk.find(Filter::default()).await.logs[0];
    assert_eq!(log.next, last.offset + 1);
    assert!(log.first > 40, "{log:?}");
}

#[tokio::test]
async fn trim_to_the_cap_keeps_four_fifths_and_whole_lines() {
    let desk = desk(Some(4_000));
    let size = || fs::metadata(desk.history.path()).unwrap().len();
    let mut before = 0;
    for number in 0..200 {
        let kept = desk.keep(&format!("{number:04} {}", "x".repeat(80))).await;
        assert!(size() <= 4_000, "{}", size());
        if kept.trimmed > 0 {
            assert!(before > 3_700, "trimmed when the next line did not fit: {before}");
            assert!((3_000..=3_200).contains(&size()), "{}", size());
        }
        before = size();
    }
    let texts = desk.texts(Filter::default()).await;
    let numbers: Vec<usize> = texts.iter().map(|text| text[..4].parse().unwrap()).collect();
    assert!(numbers.iter().rev().is_sorted() && numbers[0] == 199, "{numbers:?}");
}

#[tokio::test]
async fn the_newest_prompt_stays_even_if_it_exceeds_the_cap() {
    let desk = desk(Some(1_024));
    desk.keep("small").await;
    let kept = desk.keep(&"long ".repeat(1_000)).await;
    assert_eq!((kept.offset, kept.trimmed), (1, 1));
    assert_eq!(desk.texts(Filter::default()).await.len(), 1);
    desk.keep("next").await;
    assert_eq!(desk.texts(Filter::default()).await, ["next"]);
}

#[tokio::test]
async fn mode_is_0600_and_set_again_at_every_append() {
    let desk = desk(Some(1 << 20));
    let mode = || fs::metadata(desk.history.path()).unwrap().permissions().mode() & 0o777;
    desk.keep("one").await;
    assert_eq!(mode(), 0o600);
    fs::set_permissions(desk.history.path(), fs::Permissions::from_mode(0o644)).unwrap();
    desk.keep("two").await;
    assert_eq!(mode(), 0o600);
}

#[tokio::test]
async fn persistence_none_writes_nothing() {
    let desk = desk(None);
    let message = Message { at_ms: 0, text: "x".into(), thread_id: None, cwd: None };
    assert_eq!(desk.history.append(message).await.unwrap(), None);
    assert!(!desk.history.path().exists());
    assert_eq!(desk.find(Filter::default()).await, Page::default());
}

#[tokio::test]
async fn a_crash_loses_no_prompt() {
    let desk = desk(Some(1_500));
    desk.keep("one").await;
    // In the middle of a line.
    let mut file = fs::OpenOptions::new().append(true).open(desk.history.path()).unwrap();
    file.write_all(b"{\"ts\":1,\"text\":\"torn").unwrap();
    assert_eq!(desk.texts(Filter::default()).await, ["one"]);
    assert_eq!(desk.keep("two").await.offset, 1);
    assert_eq!(desk.texts(Filter::default()).await, ["two", "one"]);
    // In the middle of a trim: the new file is half written, the old one still exists.
    fs::write(desk.history.path().with_extension("jsonl.new"), "{\"log_id\":\"ha").unwrap();
    for number in 0..40 {
        desk.keep(&format!("{number} {}", "y".repeat(60))).await;
    }
    assert!(desk.texts(Filter::default()).await.len() > 5);
    assert!(!desk.history.path().with_extension("jsonl.new").exists());
}

#[tokio::test]
async fn codex_s_prompts_are_merged_by_time_and_never_written() {
    let desk = desk(Some(1 << 20));
    let seconds = START_MS / 1_000;
    let lines = format!(
        "{{\"session_id\":\"c1\",\"ts\":{},\"text\":\"older\"}}\nno json\n{{\"session_id\":\"c1\",\"ts\":{},\"text\":\"newer\"}}\n{{\"session_id\":\"c1\",\"ts\":1,\"text\":\"torn",
        seconds - 10,
        seconds + 10
    );
    desk.codex(&lines);
    desk.keep("ours").await;
    let page = desk.find(Filter::default()).await;
    let shown: Vec<_> = page.found.iter().map(|f| (f.place.origin, f.place.offset)).collect();
    assert_eq!(shown, [(LogOwner::Codex, 2), (LogOwner::Longhaul, 0), (LogOwner::Codex, 0)]);
    let only = Filter { origin: Some(LogOwner::Codex), ..Filter::default() };
    assert_eq!(desk.texts(only).await, ["newer", "older"]);
    let log_id = page.logs.iter().find(|log| log.source == "codex").unwrap().log_id.clone();
    let place = Filter { log_id: Some(log_id), offset: Some(0), ..Filter::default() };
    assert_eq!(desk.texts(place).await, ["older"]);
    let path = desk.folder.path().join("codex/history.jsonl");
    assert_eq!(fs::read_to_string(path).unwrap(), lines);
}

#[tokio::test]
async fn pages_follow_each_other_without_gap_or_repetition() {
    let desk = desk(Some(1 << 20));
    desk.codex(
        &(0..20)
            .map(|n| format!("{{\"session_id\":\"c\",\"ts\":7,\"text\":\"c{n}\"}}\n"))
            .collect::<String>(),
    );
    for number in 0..20 {
        desk.keep(&format!("o{number}")).await;
    }
    let (mut seen, mut before) = (Vec::new(), None);
    loop {
        let page = desk.find(Filter { limit: 7, before, ..Filter::default() }).await;
        seen.extend(page.found.into_iter().map(|found| found.message.text));
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    let expected: Vec<String> = (0..20)
        .rev()
        .map(|n| format!("o{n}"))
        .chain((0..20).rev().map(|n| format!("c{n}")))
        .collect();
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn words_match_in_any_case_and_order() {
    let desk = desk(Some(1 << 20));
    for text in ["Fix the PARSER now", "parse it", "Größe ändern"] {
        desk.keep(text).await;
    }
    let words = |words: &[&str]| Filter {
        words: words.iter().map(|word| (*word).to_owned()).collect(),
        ..Filter::default()
    };
    assert_eq!(desk.texts(words(&["now", "parser"])).await, ["Fix the PARSER now"]);
    assert_eq!(desk.texts(words(&["parse"])).await.len(), 2);
    assert_eq!(desk.texts(words(&["GRÖSSE"])).await.len(), 0);
    assert_eq!(desk.texts(words(&["größe"])).await.len(), 1);
    let thread = Filter { thread_id: Some("another".into()), ..Filter::default() };
    assert!(desk.texts(thread).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_of_another_process_is_waited_for_up_to_a_bound() {
    let desk = desk(Some(1 << 20));
    let held = Lock::take(&desk.folder.path().join("message_history.lock")).unwrap();
    let message = Message { at_ms: 0, text: "x".into(), thread_id: None, cwd: None };
    let refused = desk.history.append(message).await;
    assert!(matches!(refused, Err(MessageHistoryError::Busy)), "{refused:?}");
    drop(held);
    desk.keep("x").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn several_writers_lose_nothing() {
    let desk = desk(Some(1 << 20));
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..4 {
        // Separate handles share only the lock file, as separate processes do.
        let other = MessageHistory::new(
            desk.folder.path(),
            &desk.folder.path().join("codex"),
            Some(1 << 20),
            desk.clock.clone(),
        );
        writers.spawn(async move {
            for number in 0..10 {
                let text = format!("{writer}-{number}");
                let message = Message { at_ms: 0, text, thread_id: None, cwd: None };
                other.append(message).await.unwrap().unwrap();
            }
        });
    }
    while let Some(done) = writers.join_next().await {
        done.unwrap();
    }
    let page = desk.find(Filter::default()).await;
    assert_eq!((page.found.len(), page.logs[0].next), (40, 40));
}

#[tokio::test]
async fn a_prompt_sent_again_after_a_failure_is_stored_once() {
    let desk = desk(Some(1 << 20));
    desk.keep("one").await;
    let two = Message { at_ms: 1, text: "two".into(), thread_id: Some("t".into()), cwd: None };
    // It was written, but the folder could not be synced, so the caller got an error.
    let kept = desk.keep("two").await;
    *desk.history.turn.lock().await = Some(two);
    assert_eq!(desk.keep("two").await, kept);
    assert_eq!(desk.texts(Filter::default()).await, ["two", "one"]);
    desk.keep("two").await;
    assert_eq!(desk.texts(Filter::default()).await, ["two", "two", "one"], "sent twice");
}

#[tokio::test]
async fn an_unfinished_file_is_removed_unless_a_process_holds_the_lock() {
    let desk = desk(Some(1 << 20));
    let left = desk.folder.path().join("message_history.jsonl.new");
    fs::write(&left, "half").unwrap();
    let lock = Lock::take(&desk.folder.path().join(LOCK)).unwrap();
    desk.history.sweep();
    assert!(left.exists(), "another process is writing it");
    drop(lock);
    desk.history.sweep();
    assert!(!left.exists());
}
