//! The cost of a folder with very many transcripts: first ingestion, growing files, new files, a restart.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::bystander::{self, Bystander};
use super::report::Report;
use crate::codex_lines;
use crate::daemon::{Daemon, pause};
use crate::stopwatch::Stopwatch;

/// Number of transcripts to grow, and of new ones.
const GROWING: u64 = 400;
const PER_DAY: u64 = 2_000;
/// The time of every line.
const TIME: &str = "2026-03-01T00:00:00.000Z";
/// Pause between two writes.
const WRITES_EVERY: Duration = Duration::from_millis(10);
/// How long to time calls at rest: longer than the interval of listings.
const REST: Duration = Duration::from_secs(65);

pub(super) fn measure(longhauld: &Path, many: u64, report: &mut Report) -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let mut bytes = 0;
    for number in 0..many {
        bytes += write(home.path(), number)?;
    }
    let daemon = Daemon::start(longhauld, home.path())?;
    // The newest is read first.
    let newest = path(home.path(), many - 1);
    let sync = json!({ "path": newest, "timeout_ms": 60_000 });
    let thread = daemon.connect()?.call("thread/sync", &sync)?["thread_id"].take();
    let behaving = behaving(&thread);
    let phase = |name: &str, daemon: &Daemon, report: &mut Report, work: &Work<'_>| {
        let name = format!("{many} transcripts, {name}");
        let (watch, core) = (Stopwatch::start(), daemon.cpu_seconds()?);
        bystander::beside(daemon, &name, &behaving, report, || work(daemon))?;
        let took =
            format!("{:.1} s, {:.1} s of a core", watch.seconds(), daemon.cpu_seconds()? - core);
        report.add(format!("{name}: until done"), took, "");
        bystander::memory(daemon, &name, report)
    };
    phase("first reading", &daemon, report, &|daemon| daemon.wait_idle(bytes).map(drop))?;
    phase("indexed", &daemon, report, &Daemon::wait_indexed)?;
    phase("at rest", &daemon, report, &|_| {
        pause(REST);
        Ok(())
    })?;
    phase("some grow", &daemon, report, &|daemon| {
        for number in (0..many).step_by(usize::try_from(many / GROWING).unwrap_or(1).max(1)) {
            grow(&path(home.path(), number))?;
            pause(WRITES_EVERY);
        }
        daemon.wait_idle(bytes).map(drop)
    })?;
    phase("new ones come", &daemon, report, &|daemon| {
        for number in many..many + GROWING {
            write(home.path(), number)?;
            pause(WRITES_EVERY);
        }
        daemon.wait_idle(bytes).map(drop)
    })?;
    let daemon = daemon.start_again(longhauld, home.path())?;
    phase("started again", &daemon, report, &|daemon| {
        daemon.wait_idle(0)?;
        daemon.wait_indexed()
    })?;
    daemon.stop()
}

/// The calls that are timed.
type Work<'a> = dyn Fn(&Daemon) -> anyhow::Result<()> + 'a;

fn behaving(thread: &Value) -> Vec<Bystander> {
    let small = vec![("daemon/status", json!({})), ("thread/get", json!({ "thread_id": thread }))];
    let list = ("thread/list", json!({ "limit": 20 }));
    let in_folder = ("thread/list", json!({ "limit": 20, "cwd": "/home/dev/project7" }));
    let view = json!({ "thread_id": thread, "max_tokens": 2_000 });
    vec![
        Bystander::new("daemon/status, thread/get", small),
        Bystander::new("thread/list", vec![list, in_folder]),
        Bystander::new("checkpoint/view", vec![("checkpoint/view", view)]),
    ]
}

fn path(home: &Path, number: u64) -> PathBuf {
    let day = format!("2026-03-{:02}", number / PER_DAY % 28 + 1);
    codex_lines::path(home, &day, &thread(number))
}

fn thread(number: u64) -> String {
    format!("019d2000-0000-7000-8000-{number:012x}")
}

/// Writes a session of a request and an answer; returns its bytes.
fn write(home: &Path, number: u64) -> anyhow::Result<u64> {
    let path = path(home, number);
    let cwd = format!("/home/dev/project{}", number % 40);
    let request = format!("Why does the importer of table {number} drop its last row?");
    let lines = [
        codex_lines::first(TIME, &thread(number), &cwd) + "\n",
        message("user", &request),
        message("assistant", "It stops one too soon; `read_rows` is mended."),
    ];
    let text = lines.concat();
    fs::create_dir_all(path.parent().context("a path without a folder")?)?;
    fs::write(path, &text)?;
    Ok(text.len() as u64)
}

fn grow(path: &Path) -> anyhow::Result<()> {
    let mut file = fs::OpenOptions::new().append(true).open(path)?;
    Ok(file.write_all(message("user", "And the first one?").as_bytes())?)
}

fn message(role: &str, text: &str) -> String {
    codex_lines::line(TIME, "response_item", &codex_lines::message(role, text)) + "\n"
}
