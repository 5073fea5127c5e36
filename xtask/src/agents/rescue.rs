//! `longhaul rescue` continues a session of the real Codex whose window is full and whose compactions fail.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::codex::Codex;
use super::compare::Row;
use super::mock::Mock;
use super::scenario::thread_id;
use crate::daemon::Daemon;
use crate::process::Deadline;

pub(super) fn play(
    longhauld: &Path,
    binary: &Path,
    deadline: Deadline,
) -> anyhow::Result<Vec<Row>> {
    let mock = Mock::start()?;
    let codex = Codex::new(binary.to_owned(), mock.address(), deadline)?;
    let daemon = Daemon::start(longhauld, &codex.home())?;
    let longhaul = longhauld.with_file_name("longhaul");
    let run = |arguments: &[&str]| -> anyhow::Result<Value> {
        let mut command = Command::new(&longhaul);
        command.arg("--socket").arg(daemon.socket()).args(arguments);
        let output = command.env("CODEX_HOME", codex.home()).output()?;
        let error = String::from_utf8_lossy(&output.stderr);
        ensure!(!output.stdout.is_empty(), "longhaul {}: {error}", arguments.join(" "));
        Ok(serde_json::from_slice(&output.stdout)?)
    };
    codex.exec(&["rename the parser"])?;
    let thread = thread_id(&codex.newest()?)?;
    mock.set_full(true);
    for prompt in ["and the lexer", "and the tests"] {
        let turn = codex.exec(&["resume", &thread, prompt]);
        ensure!(turn.is_err(), "a turn succeeded although the model refused it");
    }
    let path = codex.newest()?;
    daemon
        .connect()?
        .call("thread/sync", &serde_json::json!({ "path": path, "timeout_ms": 10_000 }))?;
    let blocked = run(&["status", "--json"])?["blocked"].take();
    let is_found = blocked[0]["thread_id"] == thread.as_str();
    let mut rows =
        vec![Row::new("a full session is found", is_found, blocked[0]["blocked"].to_string())];
    let rescued = run(&["rescue", "--json"])?;
    let id = rescued["thread_id"].as_str().with_context(|| format!("not rescued: {rescued}"))?;
    mock.set_full(false);
    mock.take();
    codex.exec(&["resume", id, "go on then"])?;
    let sent = mock.take().first().context("no request was sent")?["input"].to_string();
    let wanted = ["[SESSION_CHECKPOINT v1]", "rename the parser", "go on then"];
    let is_complete = wanted.iter().all(|text| sent.contains(text));
    rows.push(Row::new("rescued and resumed", is_complete, format!("{} bytes sent", sent.len())));
    let left = run(&["status", "--json"])?["blocked"].take();
    rows.push(Row::new("no longer blocked", left.is_null(), left.to_string()));
    daemon.stop()?;
    Ok(rows)
}
