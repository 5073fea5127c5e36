//! The Claude Code plugin: time from the agent's compaction request to the replacing messages.
//!
//! The plugin's hook code runs in Node, with a release daemon behind `longhaul hook`, on the largest transcripts. Each
//! round starts right after a call and its result were written. The engine's own time before the request is excluded.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::report::{Report, Times};
use crate::daemon::Daemon;
use crate::{editors, place, sample};

/// Number of transcripts.
const TRANSCRIPTS: usize = 3;
/// The window whose budgets are the largest: 16,000 tokens of briefing, 24,000 of messages.
const WINDOW: u64 = 1_000_000;

pub(super) fn measure(
    longhauld: &Path,
    corpus: &Path,
    rounds: usize,
    report: &mut Report,
) -> anyhow::Result<()> {
    let program = bundled()?;
    let home = tempfile::tempdir()?;
    let transcripts = copied(corpus, home.path())?;
    let bytes = transcripts.iter().filter_map(|path| fs::metadata(path).ok()).map(|it| it.len());
    let no_codex = Path::new("/nonexistent");
    let daemon = Daemon::start_with(longhauld, no_codex, home.path(), "")?;
    daemon.wait_idle(bytes.sum())?;
    let params = json!({ "transcripts": transcripts, "rounds": rounds, "window": WINDOW });
    let mut node = Command::new("node");
    node.arg(program).env("LONGHAUL_SOCKET", daemon.socket()).env("LONGHAUL_AUTOSTART", "0");
    node.current_dir(home.path()).env("PATH", path_with(longhauld)?);
    let mut child = node.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    child.stdin.take().context("no pipe")?.write_all(params.to_string().as_bytes())?;
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "the plugin did not run; the daemon: {}", daemon.log());
    for line in String::from_utf8(output.stdout)?.lines() {
        add(&serde_json::from_str(line)?, report)?;
    }
    daemon.stop()
}

fn add(measured: &Value, report: &mut Report) -> anyhow::Result<()> {
    let path = measured["transcript"].as_str().context("no transcript")?;
    let mib = fs::metadata(path)?.len() as f64 / f64::from(1 << 20);
    report.add(
        format!("session.compact, {mib:.1} MiB, {} messages", measured["messages"]),
        format!(
            "{}, {} left to Claude Code; {} messages stay",
            times(&measured["ms"])?.show_worst(),
            measured["left"],
            measured["kept"]
        ),
        "p99 <= 150 ms",
    );
    let spared = measured["bytes"].as_f64().context("no bytes")? / f64::from(1 << 20);
    let requests = format!("{} requests, {spared:.1} MiB", measured["answered"]);
    report.add("requests that no model got, and their bytes", requests, "");
    let disk = times(&measured["disk"])?.show_worst();
    report.add("baseline in the same rounds: a page until it is on the disk", disk, "");
    Ok(())
}

fn times(measured: &Value) -> anyhow::Result<Times> {
    let ms = measured.as_array().context("no times")?.iter().filter_map(Value::as_f64);
    Ok(Times::of(ms.map(|ms| Duration::from_secs_f64(ms / 1e3)).collect()))
}

/// Bundles the driver with the hook's code.
fn bundled() -> anyhow::Result<PathBuf> {
    ensure!(editors::install_packages()?, "npm's packages could not be installed");
    let folder = place::workspace()?.join("clients/claude-plugin");
    let program = folder.join("dist/bench/answers.js");
    let mut esbuild = Command::new(folder.join("../node_modules/.bin/esbuild"));
    esbuild
        .current_dir(&folder)
        .arg("bench/answers.ts")
        .arg(format!("--outfile={}", program.display()));
    esbuild.args(["--bundle", "--platform=node", "--log-level=warning"]);
    crate::process::check(&mut esbuild)?;
    Ok(program)
}

/// Copies the largest transcripts of a corpus to a home of Claude Code.
fn copied(corpus: &Path, home: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let size = |path: &PathBuf| fs::metadata(path).map(|it| it.len()).unwrap_or(0);
    let mut files = sample::transcripts(corpus);
    files.sort_by_key(|path| std::cmp::Reverse(size(path)));
    ensure!(!files.is_empty(), "there is no transcript in {}", corpus.display());
    let mut copies = Vec::new();
    for (number, file) in files.iter().take(TRANSCRIPTS).enumerate() {
        let folder = home.join(format!("projects/p{number}"));
        fs::create_dir_all(&folder)?;
        let copy = folder.join(file.file_name().context("a transcript without a name")?);
        let text = fs::read_to_string(file)?;
        let lines = text.lines().map(|line| moved(line, home) + "\n");
        fs::write(&copy, lines.collect::<String>())?;
        copies.push(copy);
    }
    Ok(copies)
}

/// The line with this folder as its working folder, since the daemon answers only for the agent's project.
fn moved(line: &str, folder: &Path) -> String {
    match serde_json::from_str::<Value>(line) {
        Ok(mut value) if value["cwd"].is_string() => {
            value["cwd"] = folder.to_string_lossy().into();
            value.to_string()
        }
        _ => line.to_owned(),
    }
}

/// A `PATH` that begins with the daemon's folder, where the plugin finds `longhaul`.
fn path_with(longhauld: &Path) -> anyhow::Result<std::ffi::OsString> {
    let folder = fs::canonicalize(longhauld.parent().context("a daemon without a folder")?)?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    Ok(std::env::join_paths(std::iter::once(folder).chain(std::env::split_paths(&path)))?)
}
