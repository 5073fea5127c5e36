use super::*;
use crate::context::tokenizer::Tokenizer;
use crate::memory::learning::LearningKind;
use crate::step::Origin;
use crate::tokens;

const FOLDER: &str = "/w/app";

fn command(text: &str, users: u32) -> MapEntry {
    MapEntry {
        text: text.to_owned(),
        kind: NameKind::Command,
        file: None,
        threads: users,
        users,
        openings: 0,
        done: users,
        is_look: false,
        age_threads: 0,
        gain: 1,
    }
}

fn rule(text: &str) -> Entry {
    Entry {
        id: text.to_owned(),
        kind: LearningKind::Constraint,
        text: text.to_owned(),
        origin: Origin::stored("person").unwrap(),
        evidence: Vec::new(),
        threads: 1,
        first_ms: 0,
        last_ms: 0,
        superseded: Vec::new(),
        keywords: Vec::new(),
    }
}

fn task(number: u32, title: &str, outcome: Outcome) -> TaskEntry {
    TaskEntry {
        thread_id: format!("t{number}"),
        title: title.to_owned(),
        outcome,
        updated_at_ms: 1_767_225_600_000,
        summary_path: String::new(),
        keywords: Vec::new(),
    }
}

fn start_text(project: Project, last_words: &[(&str, &str)]) -> String {
    let projects = BTreeMap::from([(FOLDER.to_owned(), project)]);
    let handbook = Handbook { version: Handbook::VERSION, profile: Vec::new(), projects };
    let words = last_words.iter().map(|(id, words)| ((*id).to_owned(), (*words).to_owned()));
    let scope = Scope { project: Some(FOLDER), cwd: None };
    start(&handbook, scope, &words.collect(), START_TOKENS)
}

#[test]
fn it_lists_rules_checks_and_the_last_threads() {
    let project = Project {
        entries: vec![
            rule("No floats for money."),
            Entry { kind: LearningKind::Correction, ..rule("I meant the other file.") },
        ],
        map: vec![
            command("git push -u origin topic", 9),
            command("cargo test -p lexer", 5),
            command("cargo test --workspace 2>&1 | tail -5", 2),
            command("cd /w/app && cargo clippy && git status", 1),
            command("sed -n '1,240p' ROADMAP.md", 4),
        ],
        tasks: vec![
            task(1, "Fix the parser (changed src/a.rs)", Outcome::Success),
            task(2, "Fix the parser", Outcome::Success),
            task(3, "Rename it", Outcome::Uncertain),
            task(4, "Add a month filter", Outcome::Partial),
            task(5, "Older", Outcome::Fail),
        ],
        ..Project::default()
    };
    let words = [("t3", "Renamed; the docs are left."), ("t4", "Never ask the user again.")];
    assert_eq!(
        start_text(project, &words),
        "Rules the user set:\n- No floats for money.\n\
         To build and test here:\n- test: `cargo test --workspace`\n- check: `cargo clippy`\n\
         Last threads here:\n- 2026-01-01 \"Fix the parser\": done\n\
         - 2026-01-01 \"Rename it\": the agent's last words: \"Renamed; the docs are left.\"\n\
         - 2026-01-01 \"Add a month filter\": partly done\n"
    );
}

#[test]
fn it_never_exceeds_its_tokens() {
    let long = "最大化我们项目的可维护性 and keep every amount in whole cents. ".repeat(6);
    let project = Project {
        entries: (0..40).map(|n| rule(&format!("{n} {long}"))).collect(),
        map: vec![command("just test", 3)],
        tasks: (0..9).map(|n| task(n, &format!("{n} {long}"), Outcome::Success)).collect(),
        ..Project::default()
    };
    let text = start_text(project, &[("t1", &long), ("t2", &long)]);
    assert!(
        Tokenizer::O200k.count(&text) <= START_TOKENS && tokens::of_text(&text) <= START_TOKENS
    );
    for heading in HEADINGS {
        assert!(text.contains(heading), "{text}");
    }
    assert_eq!(start_text(Project::default(), &[]), "");
}

#[test]
fn only_plain_checks_of_the_project_are_listed() {
    for (line, expected) in [
        ("cargo test", &["cargo test"][..]),
        (
            "cd src && go build ./... && go test -count=1 ./... | tail -5",
            &["cd src && go build ./...", "cd src && go test -count=1 ./..."],
        ),
        ("cd /w/app/web; npm run lint 2>&1", &["cd web && npm run lint"]),
        ("cd /elsewhere && cargo test", &[]),
        ("cargo test || true", &[]),
        ("which pytest", &[]),
        ("git diff --check", &[]),
        (
            "cd /w/app && python3 -m unittest discover -s tests -p 'test_*.py'",
            &["python3 -m unittest discover -s tests -p 'test_*.py'"],
        ),
        ("pytest tests/test_one.py", &[]),
        ("pytest -k one", &[]),
        ("python3 -m pytest --version", &[]),
        ("cargo test parser::tests::one", &[]),
        ("CHECK=1 make test", &[]),
        ("for f in a b; do make $f; done", &[]),
        ("dotnet build src/App.csproj -v minimal", &["dotnet build src/App.csproj -v minimal"]),
        ("rm -rf build && make build", &["make build"]),
        ("git branch -D topic", &[]),
    ] {
        let found: Vec<String> = checks(FOLDER, line).into_iter().map(|(_, line)| line).collect();
        assert_eq!(found, expected, "{line}");
    }
}
