//! Compares the daemon's answers about each thread at the end of the run with those of a fresh daemon.

use std::path::Path;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::Day;
use crate::daemon::Daemon;
use crate::wire::Wire;

/// Threads per page.
const PAGE: u64 = 200;

/// Members of a listed thread that depend only on its lines.
const MEMBERS: [&str; 9] =
    ["source", "path", "cwd", "title", "items", "tokens", "lines", "bytes", "malformed"];

/// Compares all threads whose transcripts exist; returns their number.
pub(super) fn compare(
    longhauld: &Path,
    soaked: &Daemon,
    day: &Day,
    config: &str,
) -> anyhow::Result<usize> {
    let fresh = Daemon::start_with(longhauld, &day.codex_home, &day.claude_home, config)?;
    fresh.wait_idle(1)?;
    soaked.wait_idle(1)?;
    let (mut fresh_wire, mut soaked_wire) = (fresh.connect()?, soaked.connect()?);
    let threads = fresh_wire.rows("thread/list", json!({ "limit": PAGE }), "threads")?;
    let mut differences = Vec::new();
    for thread in &threads {
        let id = thread["thread_id"].as_str().context("a thread without an id")?;
        let expected = answers(&mut fresh_wire, id)?;
        let found = answers(&mut soaked_wire, id).unwrap_or_else(|error| json!(error.to_string()));
        if expected != found {
            differences.push(format!("{id}:\n  fresh  {expected}\n  soaked {found}"));
        }
    }
    fresh.stop()?;
    ensure!(
        differences.is_empty(),
        "{} of {} threads are not what a fresh daemon reads; the first:\n{}",
        differences.len(),
        threads.len(),
        differences[0]
    );
    ensure!(!threads.is_empty(), "no thread was read");
    Ok(threads.len())
}

/// All answers about a thread.
fn answers(wire: &mut Wire, id: &str) -> anyhow::Result<Value> {
    let params = json!({ "thread_id": id, "max_tokens": 4_000 });
    let view = wire.call("checkpoint/view", &params)?;
    let about = wire.call("thread/get", &json!({ "thread_id": id }))?;
    let about = about.get("thread").unwrap_or(&about);
    let about: Vec<&Value> = MEMBERS.iter().map(|member| &about[*member]).collect();
    Ok(json!({ "about": about, "view": view }))
}
