//! Trust in hooks, by the real Codex: it leaves out what nobody approved, and `longhaul doctor` says the same.

use std::fs::OpenOptions;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context as _;
use serde_json::{Value, json};

use super::codex::Codex;
use super::compare::Row;
use super::hooks::injected;
use super::mock::Mock;
use crate::daemon::Daemon;

/// As `hooks::ATTEMPTS`.
const ATTEMPTS: usize = 3;

pub(super) fn play(
    longhaul: &Path,
    codex: &Codex,
    mock: &Mock,
    daemon: &Daemon,
) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    let before = doctor(longhaul, codex, daemon)?;
    let runs = runs(codex, mock, 1)?;
    rows.push(Row::told("hooks nobody trusted", !runs && before.contains("not trusted"), before));
    approve(codex)?;
    let after = doctor(longhaul, codex, daemon)?;
    let runs = self::runs(codex, mock, ATTEMPTS)?;
    rows.push(Row::told("hooks that are trusted", runs && after.contains("all trusted"), after));
    Ok(rows)
}

/// What our doctor says of the hooks.
fn doctor(longhaul: &Path, codex: &Codex, daemon: &Daemon) -> anyhow::Result<String> {
    let mut doctor = Command::new(longhaul);
    doctor.arg("--socket").arg(daemon.socket()).args(["doctor", "--json"]);
    let output = doctor.env("CODEX_HOME", codex.home()).output()?;
    let page: Value = serde_json::from_slice(&output.stdout).context("doctor gave no JSON")?;
    let checks = page["checks"].as_array().map_or(&[][..], Vec::as_slice);
    let mut told = checks.iter().filter(|check| check["name"] == "hooks");
    let told = told.find_map(|check| check["detail"].as_str()?.strip_prefix("codex: "));
    Ok(told.unwrap_or("nothing about hooks").to_owned())
}

/// Whether a new session is told anything by a hook of ours, without the flag that trusts them all.
fn runs(codex: &Codex, mock: &Mock, attempts: usize) -> anyhow::Result<bool> {
    for _ in 0..attempts {
        mock.take();
        codex.exec(&["a task of its own"])?;
        let requests = mock.take();
        if requests.first().is_some_and(|request| injected(request, "memory").is_some()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Writes down what Codex writes down when a person approves its hooks, with the hashes that Codex tells.
pub(super) fn approve(codex: &Codex) -> anyhow::Result<()> {
    let listed = hooks_list(codex)?;
    let hooks = listed["data"][0]["hooks"].as_array().context("hooks/list told of no hooks")?;
    let mut config = OpenOptions::new().append(true).open(codex.home().join("config.toml"))?;
    for hook in hooks {
        let (key, hash) = (&hook["key"], &hook["currentHash"]);
        // A JSON text is a TOML text, too.
        writeln!(config, "\n[hooks.state.{key}]\ntrusted_hash = {hash}")?;
    }
    Ok(())
}

/// What `codex app-server` says of the hooks it has.
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
    answer.map(|mut it| it["result"].take()).context("codex did not tell its hooks")
}
