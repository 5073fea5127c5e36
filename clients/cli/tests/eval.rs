//! `longhaul eval` with the real daemon.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use longhaul_client::scripted::{field, text_at};
use rustix::process::{Pid, Signal, kill_process};

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

#[tokio::test]
async fn a_killed_evaluation_leaves_no_daemon_and_no_folder() {
    build_daemon();
    for (signal, code) in [(Signal::INT, Some(75)), (Signal::TERM, Some(75)), (Signal::KILL, None)]
    {
        let home = tempfile::tempdir().unwrap();
        let (sessions, temporary) = (home.path().join("sessions"), home.path().join("tmp"));
        fs::create_dir_all(&sessions).unwrap();
        fs::create_dir_all(&temporary).unwrap();
        for copy in 0..20 {
            fs::copy(SAMPLE, sessions.join(format!("rollout-{copy}.jsonl"))).unwrap();
        }
        let mut eval = program(home.path());
        eval.env("HOME", home.path()).env("TMPDIR", &temporary).stderr(Stdio::null());
        let mut child = eval.arg("eval").arg(&sessions).spawn().unwrap();
        let lock = until("the daemon runs", || held_lock(&temporary)).await;
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), code, "{signal:?}");
        until("the daemon has ended", || lock.try_lock().ok()).await;
        let is_empty = || fs::read_dir(&temporary).unwrap().next().is_none();
        until("its folder is gone", || is_empty().then_some(())).await;
    }
}

/// The lock that the private daemon holds, once it does.
fn held_lock(temporary: &Path) -> Option<fs::File> {
    let folder = fs::read_dir(temporary).unwrap().next()?.unwrap().path();
    let lock = fs::File::open(folder.join("state/longhauld.lock")).ok()?;
    // The daemon writes its id once it has the lock.
    (lock.metadata().unwrap().len() > 0).then_some(lock)
}

async fn until<T>(what: &str, mut reached: impl FnMut() -> Option<T>) -> T {
    let waited = async {
        let mut ticks = tokio::time::interval(Duration::from_millis(5));
        loop {
            ticks.tick().await;
            if let Some(reached) = reached() {
                return reached;
            }
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(20), waited).await;
    waited.unwrap_or_else(|_| panic!("not within 20 s: {what}"))
}
