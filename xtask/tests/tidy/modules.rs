//! Every file is part of a crate: tests behind a forgotten `mod` line would never run.

use std::collections::BTreeSet;

use syn::visit::{self, Visit};

use crate::assert_none;
use crate::source::{SOURCES, Source};

#[test]
fn there_is_no_mod_rs() {
    let findings: Vec<_> =
        SOURCES.iter().map(|s| s.path.clone()).filter(|path| path.ends_with("/mod.rs")).collect();
    assert_none("foo.rs and foo/, never foo/mod.rs", &findings);
}

#[test]
fn every_file_is_a_module() {
    let declared: BTreeSet<String> = SOURCES.iter().flat_map(children).collect();
    let findings: Vec<_> = SOURCES
        .iter()
        .map(|source| source.path.clone())
        .filter(|path| !is_crate_root(path) && !declared.contains(path))
        .collect();
    assert_none("every file is declared by its parent", &findings);
}

#[test]
fn a_crate_has_one_test_binary() {
    let mut findings = Vec::new();
    for source in SOURCES.iter() {
        if let Some((folder, file)) = source.path.split_once("/tests/")
            && !folder.contains("/src/")
            && !file.contains('/')
            && file != "main.rs"
            && !is_declared_by_main(folder, file)
        {
            findings.push(source.path.clone());
        }
    }
    assert_none("tests/main.rs is the one test binary; other files are its modules", &findings);
}

fn is_declared_by_main(folder: &str, file: &str) -> bool {
    let main = format!("{folder}/tests/main.rs");
    let child = format!("{folder}/tests/{file}");
    SOURCES.iter().filter(|source| source.path == main).flat_map(children).any(|path| path == child)
}

/// Whether Cargo itself finds the file.
fn is_crate_root(path: &str) -> bool {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    let is_target = ["main.rs", "lib.rs", "build.rs"].contains(&file);
    let is_single =
        ["tests", "benches", "examples", "bin", "fuzz_targets"].iter().any(|f| folder.ends_with(f));
    let is_module = (folder.contains("/src/") && !folder.ends_with("/src/bin")) || has_main(folder);
    is_target || (is_single && !is_module)
}

/// Whether the folder has one root file, whose modules are the others.
fn has_main(folder: &str) -> bool {
    let main = format!("{folder}/main.rs");
    SOURCES.iter().any(|source| source.path == main)
}

/// The files that a file declares by `mod name;`.
fn children(source: &Source) -> Vec<String> {
    let (folder, file) = source.path.rsplit_once('/').unwrap_or(("", &source.path));
    let is_root = is_crate_root(&source.path);
    let base = if is_root {
        folder.to_owned()
    } else {
        format!("{folder}/{}", file.trim_end_matches(".rs"))
    };
    let mut declared = Declared { folder: base, found: Vec::new() };
    declared.visit_file(&source.syntax.tree());
    declared.found
}

struct Declared {
    folder: String,
    found: Vec<String>,
}

impl<'ast> Visit<'ast> for Declared {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let inner = format!("{}/{}", self.folder, item.ident);
        if item.content.is_none() {
            self.found.push(format!("{inner}.rs"));
            return;
        }
        let outer = std::mem::replace(&mut self.folder, inner);
        visit::visit_item_mod(self, item);
        self.folder = outer;
    }
}
