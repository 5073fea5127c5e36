//! The daemon's integration tests in one binary, a module for each subject.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod agents;
mod agents_project;
mod archive;
mod archive_bounds;
mod archive_damage;
mod archive_forget;
mod archive_lost;
mod archive_readers;
mod archive_rebuild;
mod archive_redact;
mod archive_reports;
mod archive_rest;
mod at_rest;
mod background;
mod checkout;
mod checkpoint;
mod choices;
mod claude;
mod compaction;
mod context;
mod continuation;
mod evicted;
mod examples;
mod failures;
mod faults;
mod focus;
mod fork;
mod gauge;
mod gemini;
mod handles;
mod histories;
mod history;
mod hostile_repository;
mod hostile_text;
mod ingest;
mod install;
mod job_crash;
mod job_simulation;
mod ladder;
mod lifecycle;
mod limits;
mod maintenance;
mod many;
mod max_tokens;
mod memory;
mod memory_agent;
mod memory_lost;
mod memory_model;
mod memory_origin;
mod memory_use;
mod memory_worker;
mod message_history;
mod mid_turn;
mod old_databases;
mod opencode;
mod outcomes;
mod pinned;
mod pinned_remote;
mod policy;
mod policy_compact_only;
mod policy_evidence;
mod policy_sequence;
mod receipt;
mod reload;
mod repository;
mod requests;
mod search;
mod secrets;
mod siege;
mod socket_lost;
mod socket_traps;
mod state_lost;
mod succession;
mod support;
mod systemd;
mod templates;
mod thread_durability;
mod thread_forget;
mod threads;
mod windows;
mod wires;
mod workers;

/// A file in these folders that is not a module of the binary would never run.
#[test]
fn no_test_file_is_forgotten() {
    let tests = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    for (folder, root) in [
        (".", "main.rs"),
        ("faults", "faults.rs"),
        ("support", "support.rs"),
        ("ingest", "ingest.rs"),
    ] {
        let listed = std::fs::read_to_string(tests.join(root)).unwrap();
        for entry in std::fs::read_dir(tests.join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if let Some(module) = name.strip_suffix(".rs").filter(|module| *module != "main") {
                assert!(listed.contains(&format!("mod {module};")), "{name} is not in {root}");
            }
        }
    }
}
