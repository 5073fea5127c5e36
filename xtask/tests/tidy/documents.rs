//! Documents only promise what exists.

use std::collections::BTreeSet;
use std::fs;

use crate::assert_none;
use crate::source::{SOURCES, files, root};

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn every_dependency_has_a_reason() {
    let manifest = read("Cargo.toml");
    let (_, rest) =
        manifest.split_once("[workspace.dependencies]").expect("a table of dependencies");
    let table = rest.split("\n[").next().expect("split gives one piece at least");
    let architecture = read("ARCHITECTURE.md");
    let findings: Vec<_> = table
        .lines()
        .filter_map(|line| line.split_once(" = "))
        .map(|(name, _)| name)
        .filter(|name| !name.starts_with('#') && !name.starts_with("longhaul-"))
        .filter(|name| !architecture.contains(&format!("`{name}`")))
        .map(str::to_owned)
        .collect();
    assert_none("each dependency has a line in ARCHITECTURE.md that says why", &findings);
}

/// Documents whose links are checked, beside [`NAMING`].
const LINKING: [&str; 2] = ["README.md", ".github/CONTRIBUTING.md"];

/// Documents that name source files without a link.
const NAMING: [&str; 3] = ["ARCHITECTURE.md", "docs/transcripts.md", "docs/compaction.md"];

#[test]
fn source_files_named_by_the_documents_exist() {
    let sources = files(&["rs", "ts"]);
    let mut findings = Vec::new();
    for document in NAMING {
        let text = read(document);
        let names = text.split('`').skip(1).step_by(2).map(str::trim);
        let is_source = |name: &&str| name.ends_with(".rs") || name.ends_with(".ts");
        for name in names.filter(is_source).filter(|name| !name.contains("NAME")) {
            let is_it = |path: &String| path == name || path.ends_with(&format!("/{name}"));
            if !sources.iter().any(is_it) {
                findings.push(format!("{document}: {name}"));
            }
        }
    }
    assert_none("a source file that a document names exists", &findings);
}

#[test]
fn links_in_the_documents_lead_somewhere() {
    let mut findings = Vec::new();
    for document in LINKING.iter().chain(&NAMING) {
        let text = read(document);
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = target.split('#').next().unwrap_or(target);
            let is_address = target.contains("://") || path.is_empty();
            let folder = root().join(document);
            let beside = folder.parent().expect("a document lies in a folder").join(path);
            if !is_address && !beside.exists() {
                findings.push(format!("{document}: {target}"));
            }
        }
    }
    assert_none("a link leads somewhere", &findings);
}

/// Words that begin with `defect_` and a number, as tests are named.
fn defects(text: &str) -> BTreeSet<String> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words =
        text.split(|c| !is_word(c)).filter(|word| word.len() > 9 && word.starts_with("defect_7_"));
    words.map(str::to_owned).collect()
}

#[test]
fn absent_defects_and_their_tests_match() {
    let listed = defects(&read("daemon/core/src/policy/DEFECTS.md"));
    let tests = SOURCES.iter().flat_map(|source| source.text.lines());
    let tests = tests.filter_map(|line| line.trim_start().split_once("fn defect_7_"));
    let tests: BTreeSet<String> =
        tests.flat_map(|(_, rest)| defects(&format!("defect_7_{rest}"))).collect();
    assert!(tests.len() > 30, "the tests are found: {}", tests.len());
    let apart: Vec<String> = listed.symmetric_difference(&tests).cloned().collect();
    assert_none("DEFECTS.md names the tests that there are", &apart);
}

#[test]
fn every_pinned_behavior_names_a_test() {
    check_names_of_tests("daemon/server/tests/PINNED.md", 40);
}

#[test]
fn every_promise_of_security_names_a_test() {
    check_names_of_tests("SECURITY.md", 10);
}

/// Every test that a document names exists, and it names more than `named_min`.
fn check_names_of_tests(document: &str, named_min: usize) {
    let text = read(document);
    let quoted = text.split('`').skip(1).step_by(2);
    let is_name = |word: &&str| {
        word.len() > 12 && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let named: BTreeSet<&str> = quoted.filter(is_name).collect();
    assert!(named.len() > named_min, "the names are found: {}", named.len());
    let is_missing = |name: &&&str| {
        let open = format!("fn {name}(");
        !SOURCES.iter().any(|source| source.text.contains(&open))
    };
    let missing: Vec<String> = named.iter().filter(is_missing).map(ToString::to_string).collect();
    assert_none(&format!("{document} names tests that there are"), &missing);
}

#[test]
fn readme_begins_with_the_two_main_commands() {
    let readme = read("README.md");
    let up = readme.find("cargo xtask up").expect("README names cargo xtask up");
    let test = readme.find("cargo xtask test").expect("README names cargo xtask test");
    let block = readme.find("```").expect("README has a code block");
    assert!(block < up && up < test, "README opens with `cargo xtask up` and `cargo xtask test`");
}
