//! A deleted transcript is restored from the archive, and its agent continues it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::claude;
use super::codex::{self, Codex};
use super::compare::Row;
use super::mock::Mock;
use super::scenario;
use crate::daemon::{self, Daemon};
use crate::process::{Deadline, POLL};
use crate::wire::Wire;

const RESTORED: &str = "restored and resumed";
const CONTINUED: &str = "continued from the archive";

pub(super) fn with_codex(
    longhauld: &Path,
    binary: &Path,
    deadline: Deadline,
) -> anyhow::Result<Vec<Row>> {
    let mock = Mock::start()?;
    let codex = Codex::new(binary.to_owned(), mock.address(), deadline)?;
    let daemon = Daemon::start(longhauld, &codex.home())?;
    let mut wire = daemon.connect()?;
    codex.exec(&["first task"])?;
    let path = codex.newest()?;
    let id = scenario::thread_id(&path)?;
    let history = scenario::history(&mut wire, &path)?;
    delete_archived(&mut wire, &path, deadline)?;
    restore(longhauld, &daemon, &id)?;
    let mut rows = vec![scenario::run_row(
        &codex,
        &mock,
        (RESTORED, &["resume", &id, "second task"]),
        &history,
    )?];
    delete_archived(&mut wire, &path, deadline)?;
    let continued =
        wire.call("thread/continue", &json!({ "thread_id": id, "strategy": "checkpoint" }))?;
    let (id, path) = (text(&continued, "thread_id")?, text(&continued, "path")?);
    let history = scenario::history(&mut wire, Path::new(&path))?;
    let mut row =
        scenario::run_row(&codex, &mock, (CONTINUED, &["resume", &id, "second task"]), &history)?;
    row.agrees &= history.iter().any(|item| item.to_string().contains("second task"));
    rows.push(row);
    daemon.stop()?;
    Ok(rows)
}

pub(super) fn with_claude(
    longhauld: &Path,
    binary: PathBuf,
    deadline: Deadline,
) -> anyhow::Result<Vec<Row>> {
    let (claude, mock, daemon) = claude::set_up(longhauld, binary, deadline, "")?;
    let mut wire = daemon.connect()?;
    claude.print(&["rename the parser"])?;
    let path = codex::newest_in(&claude.home().join("projects"))?;
    let id = path.file_stem().and_then(|name| name.to_str()).context("a session without a name")?;
    mock.take();
    claude.print(&["--resume", id, "and the lexer"])?;
    let before = sent_texts(&mock)?;
    delete_archived(&mut wire, &path, deadline)?;
    restore(longhauld, &daemon, id)?;
    claude.print(&["--resume", id, "and the tests"])?;
    let after = sent_texts(&mock)?;
    let kept = before.iter().filter(|text| after.contains(text)).count();
    let detail = format!("{kept} of {} texts, {} sent", before.len(), after.len());
    let mut rows = vec![Row::new(RESTORED, kept == before.len() && kept > 1, detail)];
    delete_archived(&mut wire, &path, deadline)?;
    let params = json!({ "thread_id": id, "to": "claude", "strategy": "checkpoint" });
    let continued = wire.call("thread/continue", &params)?;
    claude.print(&["--resume", &text(&continued, "thread_id")?, "go on then"])?;
    let sent = sent_texts(&mock)?.join("\n");
    let is_continued = sent.contains("[SESSION_CHECKPOINT v1]") && sent.contains("and the tests");
    rows.push(Row::new(CONTINUED, is_continued, format!("{} bytes sent", sent.len())));
    daemon.stop()?;
    Ok(rows)
}

/// Deletes a transcript once the archive holds all of it.
fn delete_archived(wire: &mut Wire, path: &Path, deadline: Deadline) -> anyhow::Result<()> {
    wire.call("thread/sync", &json!({ "path": path, "timeout_ms": 10_000 }))?;
    loop {
        let archive = wire.call("archive/status", &json!({}))?;
        if archive["state"] == "idle" && archive["transcripts"].as_u64() > Some(0) {
            break;
        }
        ensure!(!deadline.is_over(), "the archive is not up to date: {archive}");
        daemon::pause(POLL);
    }
    Ok(fs::remove_file(path)?)
}

fn restore(longhauld: &Path, daemon: &Daemon, id: &str) -> anyhow::Result<()> {
    let mut restore = Command::new(longhauld.with_file_name("longhaul"));
    restore.arg("--socket").arg(daemon.socket()).args(["archive", "restore", id]);
    let output = restore.output()?;
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "longhaul archive restore failed: {error}");
    Ok(())
}

/// The texts of Claude Code's last request, without its own reminders.
fn sent_texts(mock: &Mock) -> anyhow::Result<Vec<String>> {
    let messages: Value = serde_json::from_str(&claude::sent(mock))?;
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
