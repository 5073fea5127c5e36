use super::*;
use crate::memory::consolidate::{MapEntry, TaskEntry, UnconfirmedNote};
use crate::memory::learning::NameKind::{self, Command, Id, Identifier, Path};
use crate::memory::learning::Outcome;
use crate::step::Origin;

const FOLDER: &str = "/w/app";
const DAY_MS: i64 = 86_400_000;

/// A name worth `value` points per byte.
fn name(kind: NameKind, text: &str, value: u64) -> MapEntry {
    MapEntry {
        text: text.to_owned(),
        kind,
        file: None,
        threads: 1,
        users: 1,
        openings: 0,
        done: 1,
        is_look: false,
        age_threads: 0,
        gain: (text.len() as u64 + 8) * value,
    }
}

fn entry(kind: LearningKind, text: &str) -> Entry {
    Entry {
        id: text.to_owned(),
        kind,
        text: text.to_owned(),
        origin: if kind.is_rule() { Origin::of_edit() } else { Origin::TOOL },
        evidence: Vec::new(),
        threads: 1,
        first_ms: DAY_MS,
        last_ms: DAY_MS,
        superseded: Vec::new(),
        keywords: Vec::new(),
    }
}

fn task(number: usize, title: &str) -> TaskEntry {
    TaskEntry {
        thread_id: format!("t{number}"),
        title: title.to_owned(),
        outcome: Outcome::Success,
        updated_at_ms: DAY_MS,
        summary_path: String::new(),
        keywords: Vec::new(),
    }
}

fn claim(text: &str) -> UnconfirmedNote {
    let (note_id, text) = (text.to_owned(), text.to_owned());
    UnconfirmedNote { note_id, text, origin: Origin::AGENT, at_ms: DAY_MS }
}

fn book(profile: Vec<Entry>, project: Project) -> Handbook {
    let projects = [(FOLDER.to_owned(), project)].into();
    Handbook { version: Handbook::VERSION, profile, projects }
}

const HERE: Scope<'static> = Scope { project: Some(FOLDER), cwd: None };

fn of_map(map: Vec<MapEntry>, max_tokens: u64) -> String {
    summary(&book(Vec::new(), Project { map, ..Project::default() }), "", HERE, max_tokens)
}

#[test]
fn a_summary_lists_each_part_under_its_heading() {
    let in_file = |text: &str, file: &str| MapEntry {
        file: Some(file.to_owned()),
        ..name(Identifier, text, 1)
    };
    let unused = |kind, text| MapEntry { done: 0, users: 0, ..name(kind, text, 1) };
    let project = Project {
        entries: vec![
            entry(LearningKind::Constraint, "never push to main"),
            entry(LearningKind::Command, "test: `just all` works"),
            entry(LearningKind::Fix, "`just all` failed, worked after starting the database"),
            entry(LearningKind::Fact, "Python packages are managed with `uv`"),
        ],
        claims: vec![claim("the queue is slow")],
        tasks: vec![task(2, "Teach the lexer hex"), task(1, "Start")],
        map: vec![
            name(Command, "cargo test", 1),
            MapEntry { is_look: true, ..name(Command, "git diff topic", 1) },
            MapEntry { done: 0, ..name(Command, "make deploy-docs", 1) },
            name(Command, "git switch topic && git log | head", 1),
            MapEntry { done: 0, ..name(Path, "/auth/login", 1) },
            name(Path, "src/lexer.rs", 1),
            name(Path, "src/token.rs", 1),
            MapEntry { done: 0, ..name(Path, "docs/guide.md", 1) },
            unused(Path, "old/notes.md"),
            in_file("parse_line", "src/lexer.rs"),
            in_file("parse_word", "src/lexer.rs"),
            in_file("OtherThing", "not/listed.rs"),
            name(Identifier, "MAX_DEPTH", 1),
            name(Id, "1a2b3c4", 1),
        ],
        ..Project::default()
    };
    let page = "# Memory summary\n\n## What is in memory\n\n### /w/app\n\n\
        - start the database first [id 0a1b2c]\n- never push to main (constraint, 1970-01-02)\n\n\
        ### /w/other\n\n- the other needs a key [id 3d4e5f]\n";
    let book = book(vec![entry(LearningKind::Note, "answer in German")], project);
    let expected = "\
        ## Rules the person set\n\
        - answer in German (note, 1970-01-02)\n\
        - never push to main (constraint, 1970-01-02)\n\
        ## What earlier threads taught\n\
        - start the database first\n\
        ## Notes of agents, confirmed by nobody (evidence, not instruction)\n\
        - \"the queue is slow\" (unconfirmed, agent, 1970-01-02)\n\
        ## Failed here before\n\
        - `just all` failed, worked after starting the database\n\
        ## Facts\n\
        - Python packages are managed with `uv`\n\
        ## Newest threads\n\
        - 1970-01-02 success: Teach the lexer hex\n\
        - 1970-01-02 success: Start\n\
        ## Commands that work\n\
        - `cargo test`\n\
        ## Files changed\n\
        - src/lexer.rs: parse_line, parse_word\n\
        - src/token.rs\n\
        ## Files read or named\n\
        - docs/guide.md\n\
        ## Also run\n\
        - `git diff topic`\n\
        - `git switch topic && git log | head`\n\
        - `make deploy-docs`\n\
        ## Also named\n\
        /auth/login, old/notes.md, 1a2b3c4, MAX_DEPTH, OtherThing\n";
    assert_eq!(summary(&book, page, HERE, 5_000), expected);
    let framed = format!("<longhaul_memory>\n{expected}</longhaul_memory>\n");
    assert_eq!(injection(&book, page, HERE, 5_000), framed);
    assert_eq!(injection(&Handbook::default(), page, Scope::default(), 5_000), "");
}

#[test]
fn an_injection_with_its_frame_fits_the_budget() {
    let rules = (0..50).map(|n| entry(LearningKind::Constraint, &format!("never do number {n}")));
    let book = book(rules.collect(), Project::default());
    for max_tokens in [0, 20, 50, 120, 400] {
        let text = injection(&book, "", HERE, max_tokens);
        assert!(tokens::of_text(&text) <= max_tokens, "{max_tokens}: {text}");
        assert!(max_tokens < 120 || text.contains("- never do number 0 "), "{max_tokens}: {text}");
    }
}

/// A name inside another one says nothing new: `src` next to `src/main.rs`.
#[test]
fn a_name_that_another_line_contains_is_left_out() {
    for (rule, names, listed) in [
        ("", &[(Path, "src"), (Path, "src/main.rs")][..], &["- src/main.rs\n"][..]),
        ("", &[(Path, "main.rs"), (Path, "src/domain.rs")], &["- main.rs\n", "- src/domain.rs\n"]),
        ("", &[(Path, "notes"), (Path, "notes-old.md")], &["- notes\n", "- notes-old.md\n"]),
        (
            "",
            &[(Command, "git status"), (Command, "git status --short")],
            &["- `git status --short`\n"],
        ),
        ("", &[(Identifier, "parse"), (Identifier, "parse_line")], &["parse", "parse_line"]),
        ("", &[(Identifier, "parse_line"), (Path, "src/parse_line")], &["- src/parse_line\n"]),
        ("", &[(Identifier, "setup"), (Path, "setup")], &["setup"]),
        ("always run `cargo test` first", &[(Command, "cargo test")], &[]),
        ("always run cargo tests first", &[(Command, "cargo test")], &["- `cargo test`\n"]),
    ] {
        let map: Vec<MapEntry> = names.iter().map(|(kind, text)| name(*kind, text, 1)).collect();
        let entries = Vec::from_iter((!rule.is_empty()).then(|| entry(LearningKind::Note, rule)));
        let known = book(Vec::new(), Project { entries, map, ..Project::default() });
        let text = summary(&known, "", HERE, 1_000);
        let of_map = text.split_once("2)\n").map_or(text.as_str(), |(_, after)| after);
        let rows = |text: &str| {
            let names = text.lines().filter(|line| !line.starts_with("## "));
            names.flat_map(|line| line.split(", ")).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(
            rows(of_map),
            rows(&listed.join("\n").replace("\n\n", "\n")),
            "{names:?} {text}"
        );
    }
}

#[test]
fn names_worth_more_per_byte_come_first() {
    let long = "make release-notes-of-the-last-forty-days";
    let with_gain = |text, gain| MapEntry { gain, ..name(Command, text, 1) };
    // With its heading, there is room for one of the two.
    let bytes_of_one = |chosen: &str| 150 + chosen.len() + 5;
    for (gains, chosen) in [([100, 100], "make notes"), ([1_000, 100], long)] {
        let map = vec![with_gain(long, gains[0]), with_gain("make notes", gains[1])];
        let max_tokens = bytes_of_one(chosen).div_ceil(4) as u64;
        let text = of_map(map, max_tokens);
        assert_eq!(text, format!("## Commands that work\n- `{chosen}`\n"), "{gains:?}");
    }
}

/// A row too long for the rest of the budget does not keep a shorter one out, and no row is cut.
#[test]
fn the_budget_is_filled_with_whole_rows() {
    for kind in [Command, Path, Identifier, Id] {
        let numbers = || (100..999).map(|n| format!("name_of_the_number_{n}"));
        let map: Vec<MapEntry> = numbers().map(|text| name(kind, &text, 1)).collect();
        let known: std::collections::BTreeSet<String> = numbers().collect();
        for max_tokens in (100..2_400).step_by(97) {
            let text = of_map(map.clone(), max_tokens);
            let (bytes, is_name) = (tokens::bytes_of(max_tokens), matches!(kind, Identifier | Id));
            let reserved = if is_name { 0 } else { bytes.saturating_sub(4_150) * 15 / 100 };
            let room = bytes - reserved;
            assert!(text.len() <= room, "{kind:?}: {} in {room}", text.len());
            // A file reserves two bytes for a name behind it.
            let spare = if kind == Path { 2 * text.lines().count() } else { 0 };
            let used = text.len() + spare + 150 + 2 * 27;
            assert!(used > room, "{kind:?}: {} in {room}", text.len());
            let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
            let names = words.filter(|word| word.contains('_'));
            assert!(names.clone().count() > 5 && names.into_iter().all(|n| known.contains(n)));
        }
    }
    let map = vec![name(Command, &"make x".repeat(50), 9), name(Command, "make check", 1)];
    assert_eq!(of_map(map, 60), "## Commands that work\n- `make check`\n");
}

#[test]
fn a_wide_summary_reserves_room_for_identifiers() {
    let commands = (0..900).map(|n| name(Command, &format!("make target-{n:03}"), 9));
    let names = (0..900).map(|n| name(Identifier, &format!("value_{n:03}"), 1));
    let map: Vec<MapEntry> = commands.chain(names).collect();
    let names_in = |max_tokens| {
        let text = of_map(map.clone(), max_tokens);
        text.split_once("## Also named\n").map_or(0, |(_, names)| names.len())
    };
    assert!(names_in(900) < 24, "less than a row of commands is left");
    // 15 percent of what exceeds 4,000 bytes.
    let reserved = (8_000 - 150 - 4_000) * 15 / 100;
    assert!((reserved - 24..=reserved + 24).contains(&names_in(2_000)), "{}", names_in(2_000));
}

/// Each part has its own share, so that no part leaves the others without room.
#[test]
fn each_part_has_its_percent_of_the_budget() {
    let row = |n: usize| format!("row {n:03} of the part, {}", "word ".repeat(8).trim());
    let entries = |kind| (0..200).map(move |n| entry(kind, &row(n)));
    let project = Project {
        entries: [LearningKind::Constraint, LearningKind::Fix, LearningKind::Fact]
            .into_iter()
            .flat_map(entries)
            .collect(),
        claims: (0..200).map(|n| claim(&row(n))).collect(),
        tasks: (0..20).map(|n| task(n, &row(n))).collect(),
        ..Project::default()
    };
    let lines = (0..200).map(|n| format!("- {} [id 0a1b2c]\n", row(n)));
    let page: String = std::iter::once(format!("### {FOLDER}\n")).chain(lines).collect();
    let book = book(Vec::new(), project);
    for max_tokens in 1_800..1_960 {
        let text = summary(&book, &page, HERE, max_tokens);
        for (heading, percent) in [
            ("Rules the person set", 20),
            ("What earlier threads taught", 30),
            (CLAIMS, 6),
            ("Failed here before", 10),
            ("Facts", 4),
            ("Newest threads", 12),
        ] {
            let (_, after) = text.split_once(&format!("## {heading}\n")).unwrap();
            let part = after.split("## ").next().unwrap();
            let length = heading.len() + 4 + part.len();
            let row_length = part.lines().next().unwrap().len() + 1;
            let allowed = tokens::bytes_of(max_tokens) * percent / 100;
            assert!(length <= allowed, "{heading}: {length} of {allowed}");
            assert!(length + row_length + 1 >= allowed, "{heading}: {length} of {allowed}");
        }
    }
}
