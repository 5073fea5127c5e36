//! What the documents promise is there.

use std::fs;

use crate::assert_none;
use crate::source::root;

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn every_dependency_has_its_reason() {
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

#[test]
fn files_named_by_the_documents_exist() {
    let mut findings = Vec::new();
    for document in ["README.md", "ARCHITECTURE.md", ".github/CONTRIBUTING.md"] {
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

#[test]
fn the_first_commands_of_the_readme_are_the_two_that_matter() {
    let readme = read("README.md");
    let up = readme.find("cargo xtask up").expect("README names cargo xtask up");
    let test = readme.find("cargo xtask test").expect("README names cargo xtask test");
    let block = readme.find("```").expect("README has a code block");
    assert!(block < up && up < test, "README opens with `cargo xtask up` and `cargo xtask test`");
}
