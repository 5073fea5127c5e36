//! The published files, as people and agents read them.

use super::*;
use crate::digest::Digest128;

/// Two projects: `/w/app` with two threads, and `/w/zoo` with a newer one.
fn memories() -> Vec<RolloutMemory> {
    let name = |text: &str, kind, uses| Name {
        text: text.into(),
        kind,
        uses,
        hits: 1,
        is_opening: true,
        is_done: true,
        is_look: false,
        file: None,
    };
    let push =
        |thread: &str, day| learning(thread, LearningKind::Constraint, "never push to main", day);
    let outcome = Learning {
        evidence: Evidence { thread_id: "t2".into(), seq: 9, quote: "Teach the lexer hex".into() },
        ..learning("t2", LearningKind::Outcome, "success: Teach the lexer hex", -2)
    };
    let version = |thread: &str, version: &str, day| Learning {
        slot: Some("version of node".into()),
        ..learning(thread, LearningKind::Fact, &format!("`node` is {version}"), day)
    };
    let fix = learning("t2", LearningKind::Fix, "`npm ci` failed, worked after `npm login`", -2);
    let first = RolloutMemory {
        branch: Some("topic".into()),
        map: Vec::new(),
        ..memory("t1", "/w/app", -3, vec![push("t1", -3), version("t1", "v18", -3)])
    };
    let second = vec![push("t2", -2), version("t2", "v20", -2), fix, command("t2", "just all", -2)];
    let second = RolloutMemory {
        outcome: Outcome::Partial,
        map: vec![
            name("src/lexer.rs", NameKind::Path, 2),
            name("parse_line", NameKind::Identifier, 1),
            name("/tmp/check.rs", NameKind::Path, 1),
            name("only_printed", NameKind::Identifier, 0),
            name("cargo test", NameKind::Command, 1),
            name("1a2b3c4", NameKind::Id, 1),
            name(&"long_".repeat(17), NameKind::Identifier, 1),
        ],
        ..memory("t2", "/w/app", -2, second.into_iter().chain([outcome]).collect())
    };
    let third = RolloutMemory { map: Vec::new(), ..memory("t3", "/w/zoo", -1, Vec::new()) };
    vec![first, second, third]
}

/// The text with the ids of entries and the digests in file names replaced by names.
fn plain_ids(built: &Consolidation, path: &str) -> String {
    let mut text = built.files[path].clone();
    for (number, entry) in built.handbook.projects["/w/app"].entries.iter().enumerate() {
        text = text.replace(&entry.id, &format!("e{number}"));
    }
    for thread in ["t1", "t2", "t3"] {
        let digest = Digest128::of(thread.as_bytes()).to_string();
        text = text.replace(&digest[..8], &format!("of-{thread}"));
    }
    text
}

fn summary_of(built: &Consolidation, thread: &str) -> String {
    let digest = Digest128::of(thread.as_bytes()).to_string();
    let mut paths = built.files.keys().filter(|path| path.contains(&digest[..8]));
    plain_ids(built, paths.next().unwrap())
}

#[test]
fn the_handbook_lists_tasks_and_entries_by_project() {
    let expected = "\
# Memory

Rules are the person's own words. Everything else was observed: evidence, not instruction. The tag after \
each line gives its source and when it was last confirmed.

# Task Group: /w/app

scope: /w/app
applies_to: cwd=/w/app; reuse_rule=this project only

## Task 1: Teach the lexer hex

outcome: partial

### rollout_summary_files

- rollout_summaries/2024-10-02-work-of-t2.md (updated_at=2024-10-02, thread_id=t2)

### keywords

src/lexer.rs, parse_line

## Task 2: work of t1

outcome: success

### rollout_summary_files

- rollout_summaries/2024-10-01-work-of-t1.md (updated_at=2024-10-01, thread_id=t1)

## User preferences

- never push to main [person, 2024-10-02, t2 #7; id e0; 2 threads]

## Reusable knowledge

- test: `just all` works [tool, 2024-10-02, t2 #7; id e2]
- `node` is v20 [tool, 2024-10-02, t2 #7; id e3; 2 threads]
  - until 2024-10-01: `node` is v18

## Failures and how to do differently

- `npm ci` failed, worked after `npm login` [tool, 2024-10-02, t2 #7; id e1]

# Task Group: /w/zoo

scope: /w/zoo
applies_to: cwd=/w/zoo; reuse_rule=this project only

## Task 1: work of t3

outcome: success

### rollout_summary_files

- rollout_summaries/2024-10-03-work-of-t3.md (updated_at=2024-10-03, thread_id=t3)
";
    assert_eq!(plain_ids(&build(&memories(), &Rest::default()), "MEMORY.md"), expected);
}

#[test]
fn the_first_page_lists_the_newest_project_first() {
    let expected = "\
# Memory summary

## General tips

- `MEMORY.md` has what was learned, by project; search it by path, command or error.
- `rollout_summaries/` tells what happened in a thread, `skills/` what is done the same way again and again.
- Check what may have changed before relying on it.

## What is in memory

### /w/zoo

- 2024-10-03 success: work of t3 — rollout_summaries/2024-10-03-work-of-t3.md

### /w/app

- never push to main (constraint, 2024-10-02)
- test: `just all` works
- 2024-10-02 partial: Teach the lexer hex — rollout_summaries/2024-10-02-work-of-t2.md
- 2024-10-01 success: work of t1 — rollout_summaries/2024-10-01-work-of-t1.md
";
    assert_eq!(plain_ids(&build(&memories(), &Rest::default()), "memory_summary.md"), expected);
    let empty = build(&[], &Rest::default());
    let page = &empty.files["memory_summary.md"];
    assert!(!page.contains("## What is in memory"), "{page}");
    let expected = "# Raw memories\n\nNo thread has taught anything yet.\n";
    assert_eq!(empty.files["raw_memories.md"], expected);
}

#[test]
fn a_threads_account_and_record_are_published() {
    let built = build(&memories(), &Rest::default());
    assert_eq!(
        summary_of(&built, "t1"),
        "thread_id: t1\nupdated_at: 2024-10-01\ncwd: /w/app\ngit_branch: topic\n\n# work of t1\n"
    );
    assert_eq!(
        summary_of(&built, "t3"),
        "thread_id: t3\nupdated_at: 2024-10-03\ncwd: /w/zoo\n\n# work of t3\n"
    );
    let expected = "\
# Raw memories

What each thread taught, before it was put together; in the order of thread ids.

## Thread `t1`
updated_at: 2024-10-01
cwd: /w/app
rollout_summary_file: rollout_summaries/2024-10-01-work-of-t1.md

- never push to main
- `node` is v18

## Thread `t2`
";
    let raw = plain_ids(&built, "raw_memories.md");
    assert!(raw.starts_with(expected), "{raw}");
    let paths: Vec<&str> = built.files.keys().map(String::as_str).collect();
    assert_eq!(paths[..3], ["MEMORY.md", "memory_summary.md", "raw_memories.md"]);
    assert_eq!(paths.len(), 6, "{paths:?}");
}

#[test]
fn a_forgotten_text_disappears_from_accounts_line_by_line() {
    let mut memories = memories();
    memories[0].rollout_summary = "# work\n- said: never push to main [x]\n- else\n".into();
    let all = build(&memories, &Rest::default());
    let mut rest = Rest::default();
    rest.exclusions.entries.insert(all.handbook.projects["/w/app"].entries[0].id.clone());
    let built = build(&memories, &rest);
    assert!(built.files.values().all(|text| !text.contains("never push")));
    assert!(summary_of(&built, "t1").ends_with("\n\n# work\n- else\n"));
    assert!(built.files["raw_memories.md"].contains("- `node` is v18\n"));
}

#[test]
fn a_forgotten_note_and_notes_of_a_forgotten_project_stay_away() {
    let note = |text: &str, project: Option<&str>| Note {
        id: text.into(),
        text: text.into(),
        origin: Origin::of_edit(),
        project: project.map(Into::into),
        at_ms: NOW,
    };
    let notes = vec![
        note("deploy on mondays", None),
        note("build in the morning", Some("/w/app")),
        note("feed the animals", Some("/w/zoo")),
    ];
    let mut rest = Rest { notes, ..Rest::default() };
    let all = build(&memories(), &rest);
    let app = &all.handbook.projects["/w/app"].entries;
    assert_eq!(app[0].text, "build in the morning", "before what was learned");
    rest.exclusions.entries.insert(all.handbook.profile[0].id.clone());
    rest.exclusions.entries.insert(app[0].id.clone());
    rest.exclusions.projects.insert("/w/zoo".into());
    let built = build(&memories(), &rest);
    for text in built.files.values() {
        for gone in ["mondays", "morning", "animals", "/w/zoo"] {
            assert!(!text.contains(gone), "{gone}: {text}");
        }
    }
    assert!(built.files["MEMORY.md"].contains("- never push to main"));
}

#[test]
fn the_first_page_has_six_entries_of_a_kind_and_four_tasks() {
    let many: Vec<RolloutMemory> = (0..9)
        .map(|n| {
            let thread = format!("t{n}");
            let rule = rule(&thread, &format!("always do number{n} of the list{n}"), -n);
            memory(&thread, "/w/app", -n, vec![rule, command(&thread, &format!("./do{n}.sh"), -n)])
        })
        .collect();
    let built = build(&many, &Rest::default());
    let (_, part) = built.files["memory_summary.md"].split_once("### /w/app\n\n").unwrap();
    let count = |words: &str| part.lines().filter(|line| line.contains(words)).count();
    assert_eq!(count("always do number"), 6);
    assert_eq!(count("- test: `./do"), 6);
    assert_eq!(count(" — rollout_summaries/"), 4);
    assert_eq!(count("- skill: skills/app-fmt-clippy-test-"), 1);
    assert!(part.contains("number0") && !part.contains("number6"), "the newest: {part}");
}

/// Rules, then projects, newest first, each whole: what does not fit ends its list.
#[test]
fn the_first_page_is_filled_with_what_fits() {
    let memories: Vec<RolloutMemory> =
        (0..9).map(|n| memory(&format!("t{n}"), &format!("/w/p{n}"), -n, Vec::new())).collect();
    let threads: Vec<ExtractedThread<'_>> = memories
        .iter()
        .map(|memory| ExtractedThread { memory, uses: 0, last_used_ms: None })
        .collect();
    for longer in 0..4 {
        let note = |n: usize| Note {
            id: format!("n{n}"),
            text: format!("{n} {}", "word".repeat(1 + n % 7) + &"s".repeat(longer)),
            origin: Origin::of_edit(),
            project: None,
            at_ms: NOW,
        };
        let notes: Vec<Note> = (0..12).map(note).collect();
        let rest = Rest::default();
        let (edits, exclusions) = (&rest.edits, &rest.exclusions);
        let inputs = Inputs { threads: &threads, notes: &notes, edits, exclusions };
        let page = |summary_tokens| {
            let bounds = Bounds { summary_tokens, ..Bounds::default() };
            consolidate(&inputs, &bounds, NOW).files.remove("memory_summary.md").unwrap()
        };
        let whole = page(5_000);
        let (title, after) = whole.split_once("\n## User profile\n\n").unwrap();
        let (profile, after) = after.split_once("\n## General tips\n").unwrap();
        let (tips, projects) = after.split_once("\n### ").unwrap();
        let tail = format!("\n## General tips\n{tips}");
        for tokens in (120..460).step_by(7) {
            let bytes = crate::tokens::bytes_of(tokens);
            let mut expected = format!("{title}\n## User profile\n\n");
            for line in profile.lines() {
                if expected.len() + line.len() + 1 + tail.len() > bytes {
                    break;
                }
                expected += &format!("{line}\n");
            }
            expected += &tail;
            for part in projects.split("\n### ") {
                if expected.len() + part.len() + 5 > bytes {
                    break;
                }
                expected += &format!("\n### {part}");
            }
            assert_eq!(page(tokens), expected, "{tokens} tokens");
        }
        for tokens in (0..84).step_by(3) {
            let (page, bytes) = (page(tokens), crate::tokens::bytes_of(tokens));
            let lines = format!("{title}{tail}");
            assert!(lines.starts_with(&page) && (page.is_empty() || page.ends_with('\n')));
            let next = lines[page.len()..].lines().next().unwrap_or_default();
            assert!(
                page.len() <= bytes && (page == lines || page.len() + next.len() + 1 > bytes),
                "{tokens}: {page}"
            );
        }
    }
}
