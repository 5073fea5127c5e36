//! Our hooks and our MCP server in the real Codex: installed by `longhaul install codex`, run by Codex.
//!
//! The request after a real compaction must contain our checkpoint; the earlier state must be kept with a receipt; our
//! tools must answer about the calling thread; and our text must not be read back as the person's.

use std::path::Path;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::codex::{Codex, TRUSTED};
use super::compare::Row;
use super::memory;
use super::mock::{ask, is_compaction};
use super::scenario::{COMPACT_AT_ONCE, thread_id};
use super::stage::{Stage, TestedAgent as _};
use super::trust;
use crate::daemon::Daemon;

/// A hook that takes over 150 ms, as on a busy machine, leaves its text out, as designed.
pub(super) const ATTEMPTS: usize = 3;
/// A rule of the person, and the part of it that must appear in requests.
pub(super) const RULE: &str = "Never use floats for money, always whole cents.";
pub(super) const RULE_EXCERPT: &str = "floats for money";
/// The beginning of every text of our hooks.
const MARK: &str = "<longhaul_context about=";

/// Notes the rule as the person's: prompts of a script, such as this one, set no rules.
pub(super) fn note_rule(daemon: &Daemon, folder: &Path) -> anyhow::Result<()> {
    let note = json!({ "text": RULE, "cwd": folder, "origin": "person" });
    let mut wire = daemon.connect()?;
    wire.call("memory/add_note", &note)?;
    wire.call("memory/run", &json!({ "all": true }))?;
    Ok(())
}

pub(super) fn play(stage: &Stage<Codex>) -> anyhow::Result<Vec<Row>> {
    let Stage { agent: codex, daemon, .. } = stage;
    stage.install(&[])?;
    codex.run(&[TRUSTED, &format!("rename the parser. {RULE}")])?;
    let thread = thread_id(&codex.newest()?)?;
    let mut wire = daemon.connect()?;
    wire.call("thread/sync", &json!({ "path": codex.newest()?, "timeout_ms": 10_000 }))?;
    note_rule(daemon, &codex.project())?;
    let mut rows = vec![compaction_row(stage, &thread)?];
    let listed = wire.call("compaction/list", &json!({ "thread_id": thread }))?;
    let receipts = listed["compactions"].as_array().map_or(0, Vec::len);
    rows.push(Row::new("state kept before it", receipts > 0, format!("{receipts} receipts")));
    rows.push(tool_row(stage, &thread)?);
    let path = codex.newest()?;
    wire.call("thread/sync", &json!({ "path": path, "timeout_ms": 10_000 }))?;
    let view = wire.call("checkpoint/view", &json!({ "thread_id": thread }))?;
    let text = view["text"].as_str().unwrap_or_default();
    let is_clean = !text.contains(MARK) && !text.contains("mcp__longhaul");
    rows.push(Row::new(
        "nothing of ours read back",
        is_clean,
        text.lines().last().unwrap_or_default().into(),
    ));
    daemon.wait_idle(1)?;
    daemon.wait_indexed()?;
    rows.extend(memory::play(stage, &mut wire, &thread)?);
    rows.extend(trust::play(stage)?);
    Ok(rows)
}

/// Makes Codex compact the thread and checks its next request.
fn compaction_row(stage: &Stage<Codex>, thread: &str) -> anyhow::Result<Row> {
    let step = "checkpoint and memory after";
    let mut failure = "no compaction was requested".to_owned();
    for _ in 0..ATTEMPTS {
        let arguments = ["-c", COMPACT_AT_ONCE, "resume", thread, "and the lexer"];
        let requests = stage.requests_with_hooks(&arguments)?;
        let Some(at) = requests.iter().position(is_compaction) else { continue };
        let next = requests.get(at + 1).context("nothing was sent after the compaction")?;
        if let Some(text) = injected(next, "compaction") {
            let holds = text.contains("[SESSION_CHECKPOINT v1]")
                && text.contains("rename the parser")
                && text.contains("remembers from earlier threads")
                && text.matches(RULE_EXCERPT).count() > 0;
            return Ok(Row::new(step, holds, format!("{} bytes in the next request", text.len())));
        }
        failure = "the next request does not contain the checkpoint".to_owned();
    }
    Ok(Row::failed(step, failure))
}

/// The text about `about` that our hook put into a request.
pub(super) fn injected<'a>(request: &'a Value, about: &str) -> Option<&'a str> {
    let items = request["input"].as_array()?.iter();
    let texts = items.filter(|item| item["role"] == "developer");
    let texts = texts.filter_map(|item| item["content"].as_array()).flatten();
    let texts = texts.filter_map(|part| part["text"].as_str());
    let mut ours =
        texts.filter(|text| text.starts_with(MARK) && text.contains(&format!("about=\"{about}\"")));
    ours.next_back()
}

/// Makes the model call one of our tools and checks what Codex sends back.
fn tool_row(stage: &Stage<Codex>, thread: &str) -> anyhow::Result<Row> {
    let prompt = ask("checkpoint_view", &json!({}));
    let requests = stage.requests_with_hooks(&["resume", thread, &prompt])?;
    let answer = Codex::tool_answer(&requests).context("the tool was not called")?;
    let holds = answer.contains("[SESSION_CHECKPOINT v1]") && answer.contains(thread);
    Ok(Row::new(
        "tool over MCP",
        holds,
        answer.chars().take(if holds { 60 } else { 400 }).collect(),
    ))
}
