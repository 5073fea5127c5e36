//! The account and the record of a thread, and how it is named.

use super::*;

#[test]
fn an_account_tells_what_was_asked_done_and_learned() {
    let memory = rich(Own::default()).finish().unwrap();
    let expected = "\
# Fix the retry bug. Never push to main.

Outcome: success

## What the person asked

- Fix the retry bug. Never push to main.
- No, the limit is 5 retries, not 3
- Perfect, thanks!

## Preference signals

- Never push to main. [person #1]
- No, the limit is 5 retries, not 3 [person #13]

## Files changed

- `src/lib.rs` (2 times)
- `src/retry.rs` (2 times)

## Commands that worked

- test: `cargo test` works (12 tests pass) [tool #19]

## Failures and what fixed them

- `cargo test` failed, worked after changing `src/retry.rs`, `src/lib.rs`; it had said: `error[E0425]: cannot \
find value 'retries'` [tool #3]

## Reusable knowledge

- `rustc` is rustc 1.90.0 (abc 2026-01-01) [tool #11]

## The agent's last words (its own account)

> Now five.
";
    assert_eq!(memory.rollout_summary, expected);
    assert_eq!(last_words(&memory.rollout_summary), Some("Now five."));
    assert_eq!(last_words("# Fix it\n\nOutcome: success\n"), None);
    let (account, _) = expected.split_once("> Now").unwrap();
    assert_eq!(last_words(account), None, "nothing was said");
}

#[test]
fn a_record_lists_the_learnings_by_kind() {
    let mut thread = rich(Own::default());
    thread.user("please make sure the changelog is updated");
    let mut memory = thread.finish().unwrap();
    assert!(
        memory
            .raw_memory
            .contains("- please make sure the changelog is updated [person #22, once]\n")
    );
    memory = rich(Own::default()).finish().unwrap();
    let expected = "\
---
description: \"Fix the retry bug. Never push to main.\"
task_outcome: success
cwd: \"/w/p\"
updated: 2026-05-01
keywords: src/lib.rs, src/retry.rs
---

## User preferences

- Never push to main. [person #1]
- No, the limit is 5 retries, not 3 [person #13]

## Reusable knowledge

- test: `cargo test` works (12 tests pass) [tool #19]
- `rustc` is rustc 1.90.0 (abc 2026-01-01) [tool #11]
- `src/lib.rs` and `src/retry.rs` change together [tool #21]

## Failures and how to do differently

- `cargo test` failed, worked after changing `src/retry.rs`, `src/lib.rs`; it had said: `error[E0425]: cannot \
find value 'retries'` [tool #3]

## Outcome

- success: Fix the retry bug. Never push to main. [tool #21]
";
    assert_eq!(memory.raw_memory, expected);
}

/// The title of a thread with these requests, in which these files were changed.
fn title(requests: &[&str], changed: &[&str]) -> String {
    let mut thread = thread();
    for request in requests {
        thread.user(request);
    }
    for path in changed {
        thread.patch(path);
    }
    thread.run("cargo test", 0, "ok");
    let memory = thread.finish().unwrap();
    let line = memory.rollout_summary.lines().next().unwrap();
    line.trim_start_matches("# ").to_owned()
}

#[test]
fn a_thread_is_named_by_its_purpose() {
    let role = "You are a careful engineer. Do what is asked";
    let prompt =
        "IT IS CRITICAL THAT YOU FOLLOW this: load the plan of the release. Then go on with it";
    let opening = "IT IS CRITICAL THAT YOU FOLLOW this: load the plan of the release";
    for (requests, changed, expected) in [
        (&["fix the retry bug", "add more tests too"][..], &["src/a.rs"][..], "fix the retry bug"),
        (&["ok", "fix the retry bug"], &[], "fix the retry bug"),
        (&["16", "CR", "16"], &[], "16, CR"),
        (&["16", "CR"], &["src/a.rs", "b.rs", "b.rs", "c.rs"], "16, CR (changed b.rs, c.rs)"),
        (&[role, "fix the retry bug"], &[], "fix the retry bug"),
        (&[role], &[], "You are a careful engineer"),
        (&[role], &["src/a.rs", "b.rs", "b.rs"], "changed b.rs, src/a.rs"),
        (&[prompt], &[], opening),
        (
            &[prompt],
            &["src/a.rs"],
            "IT IS CRITICAL THAT YOU FOLLOW this: load the… (changed src/a.rs)",
        ),
    ] {
        assert_eq!(title(requests, changed), expected, "{requests:?} {changed:?}");
    }
}

#[test]
fn the_first_and_the_newest_requests_are_kept() {
    let mut thread = thread();
    let request = |n: usize| format!("please do the task number {n} now");
    for number in 0..30 {
        thread.user(&request(number));
    }
    thread.run("cargo test", 0, "ok");
    let account = thread.finish().unwrap().rollout_summary;
    let (_, asked) = account.split_once("## What the person asked\n\n").unwrap();
    let asked: Vec<&str> = asked.lines().take_while(|line| !line.is_empty()).collect();
    let expected: Vec<String> =
        std::iter::once(0).chain(15..30).map(|n| format!("- {}", request(n))).collect();
    assert_eq!(asked, expected);
}

#[test]
fn temporary_files_are_no_part_of_the_work() {
    let mut thread = thread();
    thread.user("fix the retry bug");
    let temporary = [
        "/tmp/a.rs",
        "/private/tmp/b.rs",
        "/var/folders/x/c.rs",
        "C:\\Users\\u\\AppData\\Local\\Temp\\d.rs",
        "/w/scratchpad/e.rs",
        "$DIR/f.rs",
    ];
    for path in temporary {
        thread.patch(path);
    }
    thread.run("echo x > /dev/null", 0, "").patch("src/tmp/real.rs").patch("tmp/also.rs");
    let memory = thread.finish().unwrap();
    let (_, changed) = memory.rollout_summary.split_once("## Files changed\n\n").unwrap();
    let changed: Vec<&str> = changed.lines().take_while(|line| !line.is_empty()).collect();
    assert_eq!(changed, ["- `src/tmp/real.rs`", "- `tmp/also.rs`"]);
    let (_, keywords) = memory.raw_memory.split_once("keywords: ").unwrap();
    let keywords = keywords.lines().next().unwrap();
    assert!(keywords.contains("src/tmp/real.rs") && !keywords.contains("a.rs,"), "{keywords}");
}

#[test]
fn the_times_of_a_thread_are_those_of_its_lines() {
    let memory = rich(Own::default()).finish().unwrap();
    let second = |ms: i64| ms / 1_000 % 3_600;
    let times = [memory.created_at_ms, memory.begun_at_ms, memory.updated_at_ms].map(second);
    assert_eq!(times, [0, 1, 21], "first line, first request, last line");
    assert_eq!(memory.last_seq, 21);
    assert_eq!((memory.cwd.as_deref(), memory.branch), (Some("/w/p"), None));
}

#[test]
fn a_claude_thread_names_its_folder_and_branch() {
    let thread = ThreadRef { thread_id: "s1".into(), source: Source::Claude, project: None };
    let mut extractor = Extractor::new(thread, Own::default());
    let line = |number: u64, cwd: &str, branch: &str, text: &str| {
        json!({
            "type": "user",
            "sessionId": "s1",
            "uuid": format!("u{number}"),
            "timestamp": format!("2026-05-01T10:00:{number:02}.000Z"),
            "cwd": cwd,
            "gitBranch": branch,
            "message": { "role": "user", "content": text },
        })
        .to_string()
    };
    let lines = [
        line(1, "/w/p", "topic", "Fix the retry bug. Never push to main."),
        line(2, "/w/p", "other", "Thanks, and never push to release either"),
    ];
    for (number, line) in (1..).zip(&lines) {
        let place = Place { line: number, offset: 0, bytes: line.len() as u64 };
        extractor.line(place, line.as_bytes());
    }
    let memory = extractor.finish().unwrap();
    assert_eq!((memory.cwd.as_deref(), memory.branch.as_deref()), (Some("/w/p"), Some("topic")));
    assert_eq!(memory.project.as_deref(), Some("/w/p"));
    assert_eq!(memory.begun_at_ms % 60_000, 1_000);
    assert!(memory.raw_memory.contains("cwd: \"/w/p\"\nbranch: \"topic\"\n"));
}
