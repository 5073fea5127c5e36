//! Continues a thread of one real agent in the other: the first request there contains the view.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use serde_json::json;

use super::claude::{Claude, messages};
use super::codex::{Codex, newest_in};
use super::compare::Row;
use super::mock::Mock;
use super::stage::TestedAgent as _;
use crate::daemon::Daemon;
use crate::process::Deadline;
use crate::wire::Wire;

const VIEW: &str = "[SESSION_CHECKPOINT v1]";

pub(super) fn play(
    longhauld: &Path,
    (codex, claude): (&Path, &Path),
    limit: Duration,
) -> anyhow::Result<Vec<Row>> {
    let mock = Mock::start()?;
    let codex = Codex::new(codex, mock.address(), Deadline::after(limit))?;
    let claude = Claude::new(claude, mock.address(), Deadline::after(limit))?;
    let daemon = Daemon::start_with(longhauld, &codex.home(), &claude.home(), "")?;
    let mut wire = daemon.connect()?;
    claude.run(&["rename the parser"])?;
    let id = continue_in(&mut wire, &newest_in(&claude.home().join("projects"))?, "codex")?;
    mock.take();
    codex.run(&["resume", &id, "go on then"])?;
    let sent = mock.take().first().context("Codex sent no request")?["input"].to_string();
    let mut rows = vec![row("claude to codex", &sent, "rename the parser")];
    // Claude Code finds only the sessions of the folder it starts in.
    let folder = claude.project();
    codex.run(&["-C", &folder.to_string_lossy(), "sort the imports"])?;
    let id = continue_in(&mut wire, &codex.newest()?, "claude")?;
    mock.take();
    claude.run(&["--resume", &id, "go on then"])?;
    rows.push(row("codex to claude", &messages(&mock.take()), "sort the imports"));
    daemon.stop()?;
    Ok(rows)
}

/// Continues a transcript's thread in another agent; returns the new thread's id.
fn continue_in(wire: &mut Wire, transcript: &Path, to: &str) -> anyhow::Result<String> {
    let synced = wire.call("thread/sync", &json!({ "path": transcript, "timeout_ms": 10_000 }))?;
    let params = json!({ "thread_id": synced["thread_id"], "to": to, "strategy": "checkpoint" });
    let continued = wire.call("thread/continue", &params)?;
    Ok(continued["thread_id"].as_str().context("a continuation without an id")?.to_owned())
}

fn row(step: &'static str, sent: &str, request: &str) -> Row {
    let holds = sent.contains(VIEW) && sent.contains(request) && sent.contains("go on then");
    Row::new(step, holds, format!("{} bytes in its first request", sent.len()))
}
