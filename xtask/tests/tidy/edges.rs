//! Which crate may know which: the table of ARCHITECTURE.md, against what Cargo sees.

use std::process::Command;

use serde_json::Value;

use crate::assert_none;
use crate::source::root;

/// Each crate with the crates of ours it may depend on; tests of the shell drive it by its client.
const MAY_KNOW: &[(&str, &[&str], &[&str])] = &[
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
    ("xtask", &["longhaul-core", "longhaul-eval"], &[]),
];

#[test]
fn crates_know_only_what_lies_below_them() {
    let mut findings = Vec::new();
    for package in packages() {
        let name = package["name"].as_str().expect("a package has a name").to_owned();
        let Some((_, normal, test)) = MAY_KNOW.iter().find(|(known, ..)| *known == name) else {
            findings.push(format!("{name} is not in the table"));
            continue;
        };
        for dependency in package["dependencies"].as_array().expect("a list") {
            let target = dependency["name"].as_str().expect("a dependency has a name");
            // A crate may take itself with more features, for its own tests.
            let is_ours = target.starts_with("longhaul-") && target != name;
            let is_test = dependency["kind"] == "dev";
            let is_allowed = normal.contains(&target) || (is_test && test.contains(&target));
            if is_ours && !is_allowed {
                findings.push(format!("{name} -> {target}"));
            }
        }
    }
    assert_none("a crate knows only the crates below it", &findings);
}

#[test]
fn every_crate_takes_the_lints_and_versions_of_the_workspace() {
    let mut findings = Vec::new();
    for package in packages() {
        let path = package["manifest_path"].as_str().expect("a manifest");
        let manifest = std::fs::read_to_string(path).expect("a manifest is readable");
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
    assert_none("versions and lints are the workspace's", &findings);
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
