//! Drives a version through tasks, resumes, a compaction and a fork, and compares histories.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::codex::Codex;
use super::compare::{Row, compare};
use super::stage::{Stage, TestedAgent as _};
use crate::wire::Wire;

/// Below the usage that the mock model reports, so that Codex compacts at once.
pub(super) const COMPACT_AT_ONCE: &str = "model_auto_compact_token_limit=2000";

/// Runs a task with tool calls, resumes it, compacts it, resumes it again, and forks it if the version can.
pub(super) fn play(stage: &Stage<Codex>) -> anyhow::Result<Vec<Row>> {
    let (codex, wire) = (&stage.agent, stage.daemon.connect()?);
    let mut play = Play { stage, wire, rows: Vec::new() };
    codex.run(&["first task"])?;
    // By its id: old versions accept no prompt after `--last`.
    let source = thread_id(&codex.newest()?)?;
    play.check("resume", &["resume", &source, "second task"])?;
    // Not compared: this run also sends the compaction.
    codex.run(&["-c", COMPACT_AT_ONCE, "resume", &source, "third task"])?;
    let compactions = compactions(&codex.newest()?)?;
    play.check("resume after a compaction", &["resume", &source, "fourth task"])?;
    play.rows.extend(
        (compactions == 0).then(|| Row::failed("a compaction", "none was recorded".to_owned())),
    );
    play.check("resume once more", &["resume", &source, "fifth task"])?;
    match play.check("fork", &["fork", &source, "another way"]) {
        Ok(()) => {
            let fork = thread_id(&codex.newest()?)?;
            if fork != source {
                play.check("resume of the fork", &["resume", &fork, "in the fork"])?;
            }
        }
        // Older versions take `fork` as a prompt and reject the arguments after it.
        Err(error) if format!("{error:#}").contains("--help") => {
            println!("    this version has no exec fork");
        }
        Err(error) => return Err(error),
    }
    play.continuation(&source)?;
    Ok(play.rows)
}

struct Play<'a> {
    stage: &'a Stage<Codex>,
    wire: Wire,
    rows: Vec<Row>,
}

impl Play<'_> {
    /// Compares the current history with the first request of a run.
    fn check(&mut self, step: &str, arguments: &[&str]) -> anyhow::Result<()> {
        let history = history(&mut self.wire, &self.stage.agent.newest()?)?;
        self.rows.push(run_row(self.stage, (step, arguments), &history)?);
        Ok(())
    }

    /// Continues a thread in a new transcript of ours. Its first request must contain the view, the person's last
    /// request verbatim, and the current context.
    fn continuation(&mut self, source: &str) -> anyhow::Result<()> {
        const STEP: &str = "a continuation of ours";
        let params = json!({ "thread_id": source, "strategy": "checkpoint", "max_tokens": 1500 });
        let continued = self.wire.call("thread/continue", &params)?;
        let id =
            continued["thread_id"].as_str().context("a continuation without an id")?.to_owned();
        let history =
            history(&mut self.wire, Path::new(continued["path"].as_str().unwrap_or_default()))?;
        let requests = self.stage.requests(&["resume", &id, "go on then"])?;
        let input = requests.first().and_then(|request| request["input"].as_array());
        let Some(input) = input else {
            self.rows.push(Row::failed(STEP, "no request was sent".to_owned()));
            return Ok(());
        };
        self.rows.push(compare(STEP, &history, input));
        let view = continued["compaction"]["view"].as_str().unwrap_or_default().trim();
        let wanted = [
            ("the view", view),
            ("the request", "fifth task"),
            ("context", "<environment_context>"),
        ];
        let texts: Vec<&str> =
            input.iter().filter_map(|item| item.pointer("/content/0/text")?.as_str()).collect();
        for (what, part) in wanted {
            if part.is_empty() || !texts.iter().any(|text| text.contains(part)) {
                self.rows.push(Row::failed(STEP, format!("{what} was not sent")));
            }
        }
        Ok(())
    }
}

/// Compares a history with the first request of a run.
pub(super) fn run_row(
    stage: &Stage<Codex>,
    (step, arguments): (&str, &[&str]),
    history: &[Value],
) -> anyhow::Result<Row> {
    let requests = stage.requests(arguments)?;
    let input = requests.first().and_then(|request| request["input"].as_array());
    Ok(match input {
        Some(input) => compare(step, history, input),
        None => Row::failed(step, "no request was sent".to_owned()),
    })
}

fn compactions(transcript: &Path) -> anyhow::Result<usize> {
    let text = fs::read_to_string(transcript)?;
    Ok(text.lines().filter(|line| line.contains(r#""type":"compacted""#)).count())
}

pub(super) fn thread_id(transcript: &Path) -> anyhow::Result<String> {
    let text = fs::read_to_string(transcript)?;
    let meta: Value = serde_json::from_str(text.lines().next().context("an empty transcript")?)?;
    let id = meta.pointer("/payload/id").or_else(|| meta.get("id"));
    Ok(id.and_then(Value::as_str).context("a transcript without a thread id")?.to_owned())
}

/// The history of a thread, as `history/get` returns it.
pub(super) fn history(wire: &mut Wire, transcript: &Path) -> anyhow::Result<Vec<Value>> {
    let synced = wire.call("thread/sync", &json!({ "path": transcript, "timeout_ms": 10_000 }))?;
    let params =
        json!({ "thread_id": synced["thread_id"], "opaque": "as_is", "max_bytes": 8_000_000 });
    let history = wire.call("history/get", &params)?;
    let normal = wire.call("context/normalize", &json!({ "items": history["items"] }))?;
    Ok(normal["items"].as_array().cloned().unwrap_or_default())
}
