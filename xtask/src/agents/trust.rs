//! Trust in hooks: the real Codex runs only approved ones, and `longhaul doctor` reports the same.

use std::fs::OpenOptions;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::codex::Codex;
use super::compare::Row;
use super::hooks::ATTEMPTS;
use super::stage::{Stage, TestedAgent as _};

pub(super) fn play(stage: &Stage<Codex>) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    let before = hook_trust(stage)?;
    let is_run = hooks_run(stage, 1)?;
    rows.push(Row::new("untrusted hooks", !is_run && before.contains("not trusted"), before));
    approve(&stage.agent)?;
    let after = hook_trust(stage)?;
    let is_run = hooks_run(stage, ATTEMPTS)?;
    rows.push(Row::new("trusted hooks", is_run && after.contains("all trusted"), after));
    Ok(rows)
}

/// What `longhaul doctor` says about the hooks.
fn hook_trust(stage: &Stage<Codex>) -> anyhow::Result<String> {
    let details = stage.doctor("hooks")?;
    let of_codex = details.iter().find_map(|detail| detail.strip_prefix("codex: "));
    Ok(of_codex.unwrap_or("nothing about hooks").to_owned())
}

/// Whether our hooks run in a new session, without the flag that trusts all hooks.
fn hooks_run(stage: &Stage<Codex>, attempts: usize) -> anyhow::Result<bool> {
    for _ in 0..attempts {
        if Codex::hook_text(&stage.requests(&["a separate task"])?, "memory").is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Approves all hooks, as Codex does for a person: writes the hashes it reports to its configuration.
pub(super) fn approve(codex: &Codex) -> anyhow::Result<()> {
    let listed = hooks_list(codex)?;
    let hooks = listed["data"][0]["hooks"].as_array().context("hooks/list returned no hooks")?;
    let mut config = OpenOptions::new().append(true).open(codex.home().join("config.toml"))?;
    for hook in hooks {
        let (key, hash) = (&hook["key"], &hook["currentHash"]);
        // A JSON string is also a TOML string.
        writeln!(config, "\n[hooks.state.{key}]\ntrusted_hash = {hash}")?;
    }
    Ok(())
}

/// The hooks that `codex app-server` reports.
fn hooks_list(codex: &Codex) -> anyhow::Result<Value> {
    let mut server = codex
        .command("app-server")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut stdin = server.stdin.take().context("no pipe")?;
    let client = json!({ "clientInfo": { "name": "test", "title": "test", "version": "1" } });
    let wanted = json!({ "cwds": [codex.project()] });
    for (id, method, params) in [(1, "initialize", client), (2, "hooks/list", wanted)] {
        writeln!(stdin, "{}", json!({ "id": id, "method": method, "params": params }))?;
    }
    let lines = BufReader::new(server.stdout.take().context("no pipe")?).lines();
    let mut answers =
        lines.map_while(Result::ok).filter_map(|line| serde_json::from_str(&line).ok());
    let answer = answers.find(|answer: &Value| answer["id"] == 2);
    drop(stdin);
    server.wait()?;
    answer.map(|mut it| it["result"].take()).context("codex did not list its hooks")
}
