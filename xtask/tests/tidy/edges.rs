//! Allowed dependencies between crates: this table, Cargo's metadata and the codemap of ARCHITECTURE.md agree.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::assert_none;
use crate::source::root;

/// Each crate, our crates that it may depend on, and those that only its tests may use.
const MAY_DEPEND_ON: &[(&str, &[&str], &[&str])] = &[
    ("longhaul-confine", &[], &[]),
    ("longhaul-printable", &[], &[]),
    ("longhaul-protocol", &["longhaul-printable"], &[]),
    ("longhaul-core", &["longhaul-printable"], &[]),
    ("longhaul-store", &["longhaul-core"], &[]),
    (
        "longhaul-daemon",
        &[
            "longhaul-confine",
            "longhaul-core",
            "longhaul-store",
            "longhaul-protocol",
            "longhaul-printable",
        ],
        &["longhaul-client", "longhaul-curator"],
    ),
    (
        "longhaul-curator",
        &["longhaul-client", "longhaul-confine", "longhaul-protocol"],
        &["longhaul-daemon"],
    ),
    ("longhaul-client", &["longhaul-protocol", "longhaul-printable"], &[]),
    ("longhaul-gateway", &["longhaul-client", "longhaul-protocol", "longhaul-printable"], &[]),
    (
        "longhaul-cli",
        &["longhaul-client", "longhaul-protocol", "longhaul-eval", "longhaul-printable"],
        &[],
    ),
    ("longhaul-mcp", &["longhaul-client", "longhaul-protocol", "longhaul-printable"], &[]),
    ("longhaul-eval", &[], &[]),
    ("longhaul-properties", &["longhaul-core", "longhaul-protocol", "longhaul-daemon"], &[]),
    ("xtask", &["longhaul-eval"], &[]),
];

#[test]
fn crates_depend_only_on_crates_below_them() {
    let mut findings = Vec::new();
    for package in packages() {
        let name = package["name"].as_str().expect("a package has a name").to_owned();
        let Some((_, normal, test)) = MAY_DEPEND_ON.iter().find(|(known, ..)| *known == name)
        else {
            findings.push(format!("{name} is not in the table"));
            continue;
        };
        for dependency in package["dependencies"].as_array().expect("a list") {
            let target = dependency["name"].as_str().expect("a dependency has a name");
            // A crate's tests may depend on the crate itself with more features.
            let is_ours = target.starts_with("longhaul-") && target != name;
            let is_test = dependency["kind"] == "dev";
            let is_allowed = normal.contains(&target) || (is_test && test.contains(&target));
            if is_ours && !is_allowed {
                findings.push(format!("{name} -> {target}"));
            }
        }
    }
    assert_none("a crate depends only on the crates below it", &findings);
}

#[test]
fn the_codemap_lists_the_same_dependencies() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("a document");
    let mut listed = BTreeSet::new();
    let mut findings = Vec::new();
    for line in text.lines().filter(|line| line.starts_with("| [`")) {
        let columns: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, _, name, _, dependencies, _] = columns.as_slice() else {
            findings.push(format!("not four columns: {line}"));
            continue;
        };
        let name = name.trim_matches('`');
        let Some((_, normal, test)) = MAY_DEPEND_ON.iter().find(|(known, ..)| *known == name)
        else {
            if !name.is_empty() {
                findings.push(format!("{name} is no crate of ours"));
            }
            continue;
        };
        listed.insert(name);
        if dependency_sets(dependencies) != [names(normal), names(test)] {
            findings.push(format!("{name}: the codemap says \"{dependencies}\""));
        }
    }
    let missing =
        MAY_DEPEND_ON.iter().map(|(name, ..)| *name).filter(|name| !listed.contains(name));
    findings.extend(missing.map(|name| format!("{name} is not in the codemap")));
    assert_none("the codemap has the dependencies of each crate", &findings);
}

/// Parses the last column of the codemap: `core, store; tests: client`, without `longhaul-`.
fn dependency_sets(column: &str) -> [BTreeSet<String>; 2] {
    let (normal, test) = column.split_once("; tests: ").unwrap_or((column, ""));
    [normal, test].map(|list| {
        let names = list.split(", ").filter(|name| !matches!(*name, "" | "none"));
        names.map(|name| format!("longhaul-{name}")).collect()
    })
}

fn names(list: &[&str]) -> BTreeSet<String> {
    list.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn every_crate_uses_the_lints_and_versions_of_the_workspace() {
    let mut findings = Vec::new();
    for package in packages() {
        let path = package["manifest_path"].as_str().expect("a manifest");
        let manifest = fs::read_to_string(path).expect("a manifest is readable");
        if !manifest.contains("[lints]\nworkspace = true") {
            findings.push(format!("{path} has no [lints] workspace = true"));
        }
        let mut section = "";
        for line in manifest.lines() {
            if line.starts_with('[') {
                section = line;
                continue;
            }
            let is_dependency = section.ends_with("dependencies]") && line.contains('=');
            let is_itself = line.contains("path = \".\"");
            if is_dependency && !is_itself && !line.contains("workspace = true") {
                findings.push(format!("{path}: {line}"));
            }
        }
    }
    assert_none("a crate uses the workspace's versions and lints", &findings);
}

fn packages() -> Vec<Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(root())
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline", "--locked"])
        .output()
        .expect("cargo metadata runs");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");
    metadata["packages"].as_array().expect("a list of packages").clone()
}
