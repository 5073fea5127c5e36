//! Files of memory, as a person or an agent left them, and what is made of them next.

use std::collections::BTreeMap;

use longhaul_core::memory::agent::{
    Baseline, CheckInputs, carry_over, check as accept, removed_texts, without_dropped,
};
use longhaul_core::memory::consolidate::{
    Bounds, Consolidation, Exclusions, ExtractedThread, Handbook, Inputs, Note, consolidate,
};
use longhaul_core::memory::edits::Edits;
use longhaul_core::memory::own::Own;
use longhaul_core::memory::summary::{START_TOKENS, Scope, injection, start, summary};
use longhaul_core::memory::{
    Caller, Evidence, Files, Learning, LearningKind, Origin, RolloutMemory,
};
use longhaul_core::redact::redact;
use longhaul_core::tokens;

/// When everything happens, Unix milliseconds.
const NOW_MS: i64 = 20_000 * 86_400_000;

/// Tokens of the first page: the fewest that may be configured.
const SUMMARY_TOKENS: u64 = 500;

const BOOK: &str = "MEMORY.md";
const PAGE: &str = "memory_summary.md";

/// The projects that the threads worked in.
const PROJECTS: [&str; 2] = ["/w/app", "/w/other"];

/// What divides an input.
const DIVIDER: &str = "\n%%\n";

/// The input is who left the files, a newline, `MEMORY.md`, the divider, the first page, and then more files
/// by the divider: each a path, a newline and its text. `notes` are a line each.
pub fn check(bytes: &[u8]) {
    let Ok(input) = std::str::from_utf8(bytes) else { return };
    let Some((who, rest)) = input.split_once('\n') else { return };
    match who {
        "person" => by_a_person(&left(rest)),
        "agent" => by_an_agent(&left(rest)),
        "notes" => check_notes(rest),
        _ => {}
    }
}

fn left(text: &str) -> Files {
    let mut parts = text.split(DIVIDER);
    let mut files = Files::new();
    for path in [BOOK, PAGE] {
        files.extend(parts.next().map(|text| (path.to_owned(), text.to_owned())));
    }
    let named = parts.filter_map(|part| part.split_once('\n'));
    files.extend(named.map(|(path, text)| (path.to_owned(), text.to_owned())));
    files
}

fn learning(thread: &str, kind: LearningKind, text: &str) -> Learning {
    Learning {
        kind,
        text: text.into(),
        origin: if kind.is_rule() { Origin::of_edit() } else { Origin::TOOL },
        evidence: Evidence { thread_id: thread.into(), seq: 7, quote: text.into() },
        slot: None,
        is_passing: false,
        keywords: Vec::new(),
        branch: None,
        at_ms: NOW_MS,
    }
}

fn threads() -> Vec<RolloutMemory> {
    let thread = |id: &str, project: &str, learned: &[(LearningKind, &str)]| RolloutMemory {
        thread_id: id.into(),
        project: Some(project.into()),
        cwd: Some(project.into()),
        updated_at_ms: NOW_MS,
        rollout_summary: format!("# work of {id}\nThe tests of `src/{id}.rs` pass."),
        rollout_slug: "work".into(),
        raw_memory: learned.iter().map(|(_, text)| format!("- {text}\n")).collect(),
        learnings: learned.iter().map(|(kind, text)| learning(id, *kind, text)).collect(),
        steps: ["cargo fmt", "cargo clippy", "cargo test"].map(Into::into).to_vec(),
        ..RolloutMemory::default()
    };
    let app = [
        (LearningKind::Constraint, "Never push to main"),
        (LearningKind::Fact, "The server listens on port 8080"),
        (LearningKind::Command, "`cargo test -p server` passes"),
    ];
    let other =
        [(LearningKind::Preference, "Use tabs"), (LearningKind::Fact, "The key file is k9.pem")];
    vec![
        thread("t1", PROJECTS[0], &app),
        thread("t2", PROJECTS[0], &app[1..]),
        thread("t3", PROJECTS[1], &other),
    ]
}

fn consolidated(edits: &Edits, notes: &[Note]) -> Consolidation {
    let threads = threads();
    let stored = |memory| ExtractedThread { memory, uses: 1, last_used_ms: Some(NOW_MS) };
    let mut stored: Vec<_> = threads.iter().map(stored).collect();
    let (bounds, exclusions) =
        (Bounds { summary_tokens: SUMMARY_TOKENS, ..Bounds::default() }, Exclusions::default());
    let make = |threads: &[ExtractedThread<'_>], notes: &[Note]| {
        consolidate(&Inputs { threads, notes, edits, exclusions: &exclusions }, &bounds, NOW_MS)
    };
    let made = make(&stored, notes);
    stored.reverse();
    let turned: Vec<Note> = notes.iter().rev().cloned().collect();
    assert_eq!(make(&stored, &turned), made, "files depend on the order of arrival");
    made
}

fn on(made: &Consolidation) -> CheckInputs<'_> {
    CheckInputs { draft: &made.files, book: &made.handbook, summary_tokens: SUMMARY_TOKENS }
}

/// What is made next of files that a person changed.
fn by_a_person(found: &Files) {
    let published = consolidated(&Edits::default(), &[]);
    // The files that are not in the input are as they were published.
    let found: Files = published.files.clone().into_iter().chain(found.clone()).collect();
    let mut edits = Edits::default();
    edits.merge(&published.files, &found, NOW_MS);
    for text in removed_texts(&published.files, &found, &published.handbook) {
        edits.take_out(BOOK, text);
    }
    let made = consolidated(&edits, &[]);
    for line in &edits.removed {
        assert!(edits.removes(&line.text));
    }
    held(&made, &edits);
}

/// Files written by an agent: either rejected, or published as accepted.
fn by_an_agent(found: &Files) {
    let made = consolidated(&Edits::default(), &[]);
    let found: Files = made.files.clone().into_iter().chain(found.clone()).collect();
    match accept(&found, on(&made)) {
        Err(refusal) => assert!(!refusal.to_string().is_empty()),
        Ok(files) => {
            assert_eq!(accept(&files, on(&made)).as_ref(), Ok(&files), "accepted once");
            assert!(tokens::of_text(&files[PAGE]) <= SUMMARY_TOKENS);
            for rule in made.handbook.projects.values().flat_map(|project| &project.entries) {
                assert!(!rule.kind.is_rule() || files[BOOK].contains(&rule.text), "{rule:?}");
            }
            told_from(&without_dropped(made.handbook.clone(), &files), &files);
        }
    }
    let baseline = Baseline { files: found, ..Baseline::default() };
    let files = carry_over(&baseline, on(&made));
    assert!(accept(&files, on(&made)).is_ok(), "what is carried over is refused");
}

/// Notes, a line each: `*` before one that an agent wrote, `@` before one for a project.
fn check_notes(text: &str) {
    let note = |(number, line): (i64, &str)| {
        let (caller, line) = match line.strip_prefix('*') {
            Some(line) => (Caller::Agent, line),
            None => (Caller::Person, line),
        };
        let (project, text) = match line.strip_prefix('@') {
            Some(line) => (Some(PROJECTS[0].to_owned()), line),
            None => (None, line),
        };
        let origin = Origin::of_caller(caller);
        let (id, text) = (format!("n{number}"), text.to_owned());
        Note { id, text, origin, project, at_ms: NOW_MS + number }
    };
    let notes: Vec<Note> = (0..).zip(text.lines()).map(note).collect();
    let edits = Edits::default();
    let made = consolidated(&edits, &notes);
    held(&made, &edits);
}

/// What holds of all that is published.
fn held(made: &Consolidation, edits: &Edits) {
    let files = &made.files;
    assert!(tokens::of_text(&files[PAGE]) <= SUMMARY_TOKENS, "{}", files[PAGE]);
    let mut again = edits.clone();
    again.merge(files, files, NOW_MS + 1);
    assert_eq!(&again, edits, "untouched files are no edits");
    // What a person's own files hold is theirs.
    if edits.files.is_empty() {
        let accepted = accept(files, on(made));
        assert_eq!(accepted.as_ref(), Ok(files), "the draft itself is refused");
        for (path, text) in files {
            assert_eq!(redact(text).hits, 0, "a secret in {path}: {text}");
        }
    }
    told_from(&made.handbook, files);
}

/// The memory shown to threads: within its budget, and never learned from.
fn told_from(book: &Handbook, files: &Files) {
    let page = &files[PAGE];
    for project in PROJECTS.into_iter().map(Some).chain([None]) {
        let scope = Scope { project, cwd: project };
        for budget in [0, 30, 300] {
            let text = summary(book, page, scope, budget);
            assert!(tokens::of_text(&text) <= budget, "{text}");
            let text = injection(book, page, scope, budget);
            assert!(tokens::of_text(&text) <= budget, "{text}");
            assert_eq!(Own::default().strip(&text), "", "we learn from ourselves");
        }
        let begun = start(book, scope, &BTreeMap::new(), START_TOKENS);
        assert!(tokens::of_text(&begun) <= START_TOKENS, "{begun}");
    }
}
