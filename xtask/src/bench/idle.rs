//! Measures an idle daemon.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use serde_json::json;

use super::corpus::Corpus;
use super::report::Report;
use crate::daemon::{Daemon, Memory, pause};

/// Time to finish work and release memory before the daemon counts as idle.
const SETTLE: Duration = Duration::from_secs(4);
/// How long to watch the idle daemon; long enough to show polling.
const WATCH: Duration = Duration::from_secs(10);
/// Threads to request from a busy daemon, and how often.
const THREADS: usize = 20;
const ROUNDS: usize = 5;
/// The search query.
const QUERIES: [&str; 4] = ["error", "test failed", "cargo build", "fix the parser"];

pub(super) fn measure(
    longhauld: &Path,
    corpus: &Corpus,
    report: &mut Report,
) -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let fresh = Daemon::start(longhauld, home.path())?;
    pause(SETTLE);
    let memory = fresh.memory()?;
    report.add("idle, empty store: memory", show(memory), "<= 20 MiB");
    watch("idle, empty store: processor", &fresh, report)?;
    fresh.stop()?;

    corpus.copy_to(home.path())?;
    let filled = Daemon::start(longhauld, home.path())?;
    filled.wait_idle(1)?;
    filled.wait_indexed()?;
    pause(SETTLE);
    let memory = filled.memory()?;
    let peak = format!("{}, peak {:.1}", show(memory), memory.peak);
    report.add("idle, corpus ingested: memory", peak, "<= 20 MiB");
    work(&filled)?;
    pause(SETTLE);
    let memory = filled.memory()?;
    report.add("idle, after compactions, searches, memory", show(memory), "");
    watch("idle, after work: processor", &filled, report)?;
    filled.stop()
}

fn show(memory: Memory) -> String {
    format!("{:.1} MiB, {:.1} of it the program", memory.held, memory.program)
}

/// Adds the processor time of a period to the report.
fn watch(measure: &str, daemon: &Daemon, report: &mut Report) -> anyhow::Result<()> {
    let before = daemon.cpu_seconds()?;
    pause(WATCH);
    let share = (daemon.cpu_seconds()? - before) / WATCH.as_secs_f64() * 100.0;
    report.add(measure, format!("{share:.2} % of one core"), "none");
    Ok(())
}

/// Makes a mix of typical calls of agents.
fn work(daemon: &Daemon) -> anyhow::Result<()> {
    let mut wire = daemon.connect()?;
    let listed = wire.call("thread/list", &json!({"limit": THREADS}))?;
    let threads = listed["threads"].as_array().context("thread/list has no threads")?;
    for _ in 0..ROUNDS {
        for thread in threads {
            let thread = &thread["thread_id"];
            let compact = json!({"thread_id": thread, "strategy": "checkpoint"});
            wire.call("compaction/run", &compact)?;
            wire.call("context/usage", &json!({"thread_id": thread}))?;
        }
        for query in QUERIES {
            wire.call("thread/search", &json!({"query": query}))?;
            wire.call("memory/search", &json!({"query": query}))?;
        }
        wire.call("memory/summary", &json!({}))?;
    }
    Ok(())
}
