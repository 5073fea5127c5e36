//! A deleted transcript is restored from the archive, and its agent continues it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::claude::{Claude, messages};
use super::codex::{self, Codex};
use super::compare::Row;
use super::scenario;
use super::stage::{Stage, TestedAgent};
use crate::daemon::{self, Daemon};
use crate::process::{self, Deadline, POLL};

const RESTORED: &str = "restored and resumed";
const CONTINUED: &str = "continued from the archive";
/// The time until the archive has a transcript.
const ARCHIVE_TIMEOUT: Duration = Duration::from_secs(60);

pub(super) fn with_codex(stage: Stage<Codex>) -> anyhow::Result<Vec<Row>> {
    let codex = &stage.agent;
    let mut wire = stage.daemon.connect()?;
    codex.run(&["first task"])?;
    let path = codex.newest()?;
    let id = scenario::thread_id(&path)?;
    let history = scenario::history(&mut wire, &path)?;
    delete_archived(&stage.daemon, &path)?;
    restore(&stage, &id)?;
    let resumed: (&str, &[&str]) = (RESTORED, &["resume", &id, "second task"]);
    let mut rows = vec![scenario::run_row(&stage, resumed, &history)?];
    delete_archived(&stage.daemon, &path)?;
    let continued =
        wire.call("thread/continue", &json!({ "thread_id": id, "strategy": "checkpoint" }))?;
    let (id, path) = (text(&continued, "thread_id")?, text(&continued, "path")?);
    let history = scenario::history(&mut wire, Path::new(&path))?;
    let resumed: (&str, &[&str]) = (CONTINUED, &["resume", &id, "second task"]);
    let mut row = scenario::run_row(&stage, resumed, &history)?;
    row.agrees &= history.iter().any(|item| item.to_string().contains("second task"));
    rows.push(row);
    stage.daemon.stop()?;
    Ok(rows)
}

pub(super) fn with_claude(stage: Stage<Claude>) -> anyhow::Result<Vec<Row>> {
    stage.agent.run(&["rename the parser"])?;
    let path = codex::newest_in(&stage.agent.home().join("projects"))?;
    let id = path.file_stem().and_then(|name| name.to_str()).context("a session without a name")?;
    let resumed = |id: &str, prompt: &str| sent_texts(&stage.requests(&["--resume", id, prompt])?);
    let before = resumed(id, "and the lexer")?;
    delete_archived(&stage.daemon, &path)?;
    restore(&stage, id)?;
    let after = resumed(id, "and the tests")?;
    let kept = before.iter().filter(|text| after.contains(text)).count();
    let detail = format!("{kept} of {} texts, {} sent", before.len(), after.len());
    let mut rows = vec![Row::new(RESTORED, kept == before.len() && kept > 1, detail)];
    delete_archived(&stage.daemon, &path)?;
    let params = json!({ "thread_id": id, "to": "claude", "strategy": "checkpoint" });
    let continued = stage.daemon.connect()?.call("thread/continue", &params)?;
    let sent = resumed(&text(&continued, "thread_id")?, "go on then")?.join("\n");
    let is_continued = sent.contains("[SESSION_CHECKPOINT v1]") && sent.contains("and the tests");
    rows.push(Row::new(CONTINUED, is_continued, format!("{} bytes sent", sent.len())));
    stage.daemon.stop()?;
    Ok(rows)
}

/// Deletes a transcript once the archive holds all of it.
fn delete_archived(daemon: &Daemon, path: &Path) -> anyhow::Result<()> {
    let sync = json!({ "path": path, "timeout_ms": 10_000 });
    daemon.connect()?.call("thread/sync", &sync)?;
    let until = Deadline::after(ARCHIVE_TIMEOUT);
    while daemon.wait_archived()?["transcripts"].as_u64() == Some(0) {
        ensure!(!until.is_over(), "the archive has no transcript");
        daemon::pause(POLL);
    }
    Ok(fs::remove_file(path)?)
}

fn restore<A: TestedAgent>(stage: &Stage<A>, id: &str) -> anyhow::Result<()> {
    process::check(&mut stage.longhaul(&["archive", "restore", id]))
}

/// The texts of Claude Code's last request, without its own reminders.
fn sent_texts(requests: &[Value]) -> anyhow::Result<Vec<String>> {
    let messages: Value = serde_json::from_str(&messages(requests))?;
    let contents = messages.as_array().into_iter().flatten().map(|message| &message["content"]);
    let texts = contents.flat_map(|content| match content.as_array() {
        Some(parts) => parts.iter().map(|part| &part["text"]).collect(),
        None => vec![content],
    });
    let texts =
        texts.filter_map(Value::as_str).filter(|text| !text.starts_with("<system-reminder>"));
    Ok(texts.map(str::to_owned).collect())
}

fn text(of: &Value, field: &str) -> anyhow::Result<String> {
    Ok(of[field].as_str().with_context(|| format!("no {field}"))?.to_owned())
}
