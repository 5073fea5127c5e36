//! The one integration binary of the daemon; one module a subject.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod background;
mod checkpoint;
mod claude;
mod compaction;
mod context;
mod continuation;
mod examples;
mod failures;
mod fork;
mod gemini;
mod histories;
mod history;
mod job_crash;
mod job_simulation;
mod ladder;
mod lifecycle;
mod limits;
mod maintenance;
mod memory;
mod memory_agent;
mod memory_model;
mod pinned;
mod policy;
mod policy_evidence;
mod policy_sequence;
mod provider;
mod reload;
mod rollout;
mod sandbox;
mod search;
mod secrets;
mod socket_traps;
mod succession;
mod support;
mod systemd;
mod templates;
mod threads;
mod wires;
mod workers;

/// A file in this folder that is no module of the binary would be a test that never runs.
#[test]
fn no_test_file_is_forgotten() {
    let listed = include_str!("main.rs");
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if let Some(module) = name.strip_suffix(".rs").filter(|module| *module != "main") {
            assert!(listed.contains(&format!("mod {module};")), "{name} is not in main.rs");
        }
    }
}
