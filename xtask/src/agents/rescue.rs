//! `longhaul rescue` continues a session of the real Codex whose window is full and whose compactions fail.

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::codex::Codex;
use super::compare::Row;
use super::scenario::thread_id;
use super::stage::{Stage, TestedAgent as _};

pub(super) fn play(stage: Stage<Codex>) -> anyhow::Result<Vec<Row>> {
    let Stage { agent: codex, mock, daemon, .. } = &stage;
    let run = |arguments: &[&str]| -> anyhow::Result<Value> {
        let output = stage.longhaul(arguments).output()?;
        let error = String::from_utf8_lossy(&output.stderr);
        ensure!(!output.stdout.is_empty(), "longhaul {}: {error}", arguments.join(" "));
        Ok(serde_json::from_slice(&output.stdout)?)
    };
    codex.run(&["rename the parser"])?;
    let thread = thread_id(&codex.newest()?)?;
    mock.set_full(true);
    for prompt in ["and the lexer", "and the tests"] {
        let turn = codex.run(&["resume", &thread, prompt]);
        ensure!(turn.is_err(), "a turn succeeded although the model refused it");
    }
    let sync = json!({ "path": codex.newest()?, "timeout_ms": 10_000 });
    daemon.connect()?.call("thread/sync", &sync)?;
    let blocked = run(&["status", "--json"])?["blocked"].take();
    let is_found = blocked[0]["thread_id"] == thread.as_str();
    let mut rows =
        vec![Row::new("a full session is found", is_found, blocked[0]["blocked"].to_string())];
    let rescued = run(&["rescue", "--json"])?;
    let id = rescued["thread_id"].as_str().with_context(|| format!("not rescued: {rescued}"))?;
    mock.set_full(false);
    let sent = stage.first_request(&["resume", id, "go on then"])?["input"].to_string();
    let wanted = ["[SESSION_CHECKPOINT v1]", "rename the parser", "go on then"];
    let is_complete = wanted.iter().all(|text| sent.contains(text));
    rows.push(Row::new("rescued and resumed", is_complete, format!("{} bytes sent", sent.len())));
    let left = run(&["status", "--json"])?["blocked"].take();
    rows.push(Row::new("no longer blocked", left.is_null(), left.to_string()));
    stage.daemon.stop()?;
    Ok(rows)
}
