//! Long-term memory over a corpus: the time of the first build, of a build without changes and of one after a note, and
//! the response times of a summary and a search.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::corpus::Corpus;
use super::report::{Report, Times};
use crate::daemon::Daemon;
use crate::sample;
use crate::stopwatch::Stopwatch;
use crate::wire::Wire;

/// Includes threads of any age; no background builds.
const CONFIG: &str = "[memory]\nenabled = false\nmax_unused_days = 3650\n";

/// Queries that fit any project.
const QUERIES: [&str; 8] = [
    "cargo test",
    "how do I run the tests",
    "config",
    "what failed in the build before",
    "never",
    "\"git push\"",
    "src/config.rs parse error",
    "release pipeline documentation",
];

pub(super) fn measure(
    longhauld: &Path,
    corpus: &Corpus,
    rounds: usize,
    report: &mut Report,
) -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let (codex, claude) = (home.path().join("codex"), home.path().join("claude"));
    let copies = corpus.copy_to(&codex)?;
    copy_beside(corpus, &claude)?;
    let bytes = copies.iter().filter_map(|path| fs::metadata(path).ok()).map(|meta| meta.len());
    let daemon = Daemon::start_with(longhauld, &codex, &claude, CONFIG)?;
    daemon.wait_idle(bytes.sum())?;
    let mut wire = daemon.connect()?;

    let (ran, seconds) = run(&mut wire)?;
    let count = |key: &str| ran[key].as_u64().unwrap_or(0);
    ensure!(ran["state"] == "done", "memory was not built: {ran}");
    let read =
        format!("first build of {} threads ({} failed)", count("extracted"), count("failed"));
    report.add(read, format!("{seconds:.2} s"), "");
    report.add("a run with nothing to do", format!("{:.3} s", run(&mut wire)?.1), "");
    let watch = Stopwatch::start();
    wire.call("memory/add_note", &json!({ "text": "Deploy on Tuesdays.", "origin": "person" }))?;
    report.add("a note until it is published", format!("{:.3} s", watch.seconds()), "");

    let searches: Vec<Value> = QUERIES.iter().map(|query| json!({ "query": query })).collect();
    let times = Times::of_calls(&mut wire, ("memory/search", &searches), rounds)?;
    report.add("memory/search", times.show(), "p99 <= 20 ms");
    let folders = folders(&mut wire)?;
    let params: Vec<Value> = folders.iter().map(|cwd| json!({ "cwd": cwd })).collect();
    let times = Times::of_calls(&mut wire, ("memory/summary", &params), rounds)?;
    report.add("memory/summary of 5,000 tokens", times.show(), "p99 <= 20 ms");
    daemon.stop()
}

/// Copies the transcripts of Claude Code beside the corpus, if any.
fn copy_beside(corpus: &Corpus, claude_home: &Path) -> anyhow::Result<()> {
    let beside = corpus.folder.parent().map(|parent| parent.join("claude"));
    let Some(beside) = beside.filter(|folder| folder.is_dir()) else { return Ok(()) };
    for (number, file) in sample::transcripts(&beside).iter().enumerate() {
        let folder = claude_home.join("projects").join(format!("p{number}"));
        fs::create_dir_all(&folder)?;
        fs::copy(file, folder.join(file.file_name().context("a transcript without a name")?))?;
    }
    Ok(())
}

fn run(wire: &mut Wire) -> anyhow::Result<(Value, f64)> {
    let watch = Stopwatch::start();
    let ran = wire.call("memory/run", &json!({ "all": true }))?;
    Ok((ran, watch.seconds()))
}

/// Working folders of threads, except those of other systems.
fn folders(wire: &mut Wire) -> anyhow::Result<Vec<String>> {
    let threads = wire.call("thread/list", &json!({ "limit": 200 }))?;
    let folders = threads["threads"].as_array().into_iter().flatten();
    let folders = folders.filter_map(|thread| thread["cwd"].as_str());
    let folders: BTreeSet<&str> = folders.filter(|cwd| Path::new(cwd).is_absolute()).collect();
    ensure!(!folders.is_empty(), "no thread has a folder");
    Ok(folders.into_iter().map(str::to_owned).collect())
}
