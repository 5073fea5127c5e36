//! `longhaul eval` with the real daemon.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use longhaul_client::scripted::{field, text_at};

use crate::{program, run};

/// The sample session of the repository.
const SAMPLE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../samples/codex-home/sessions/2026/03/02/",
    "rollout-2026-03-02T09-14-07-019cadd3-8856-71a3-9a01-5e1d9ca001a3.jsonl",
);

/// Builds the daemon beside the program, unless a run of all tests has.
fn build_daemon() {
    let daemon = Path::new(env!("CARGO_BIN_EXE_longhaul")).with_file_name("longhauld");
    if daemon.exists() {
        return;
    }
    let target = daemon.ancestors().nth(2).unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--package", "longhaul-daemon", "--bin", "longhauld", "--target-dir"]);
    assert!(cargo.arg(target).current_dir(env!("CARGO_MANIFEST_DIR")).status().unwrap().success());
    assert!(daemon.exists(), "{}", daemon.display());
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries
        .flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] })
        .collect();
    files.sort();
    files
}

#[test]
fn compressed_session_is_measured_and_no_files_remain() {
    build_daemon();
    let home = tempfile::tempdir().unwrap();
    let (sessions, temporary) = (home.path().join("sessions"), home.path().join("tmp"));
    fs::create_dir_all(&sessions).unwrap();
    fs::create_dir_all(&temporary).unwrap();
    let text = fs::read(SAMPLE).unwrap();
    let packed = sessions.join("rollout-sample.jsonl.zst");
    fs::write(&packed, zstd::encode_all(&text[..], 3).unwrap()).unwrap();

    let mut eval = program(home.path());
    eval.env("HOME", home.path()).env("TMPDIR", &temporary);
    let done = run(eval.args(["eval", "--json", "--budgets", "1000"]).arg(&sessions));
    assert_eq!(done.code, 0, "{done:?}");
    let report = done.json();
    let measures = field(&report, "measures").as_array().unwrap();
    let measure = measures.iter().find(|measure| text_at(measure, "view") == "longhaul").unwrap();
    assert!(field(measure, "bfr").as_f64().unwrap() > 50.0, "{measure}");
    assert_eq!(field(&report, "corpus.cuts"), 1, "only one cut of the sample needs enough names");
    assert_eq!(field(&report, "corpus.failed_view_count"), 0, "{done:?}");

    assert_eq!(files_below(home.path()), [packed], "the daemon's folder is gone");
}
