//! What a version is driven through, and what is compared on the way.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::codex::Codex;
use super::compare::{Row, compare};
use super::mock::Mock;
use crate::daemon::Daemon;
use crate::wire::Wire;

/// Lies under the usage that the model reports, so that a compaction is due.
pub(super) const COMPACT_AT_ONCE: &str = "model_auto_compact_token_limit=2000";

/// A task with tool calls, a resume of it, a compaction, resumes of what that left, a fork where the
/// version has one.
pub(super) fn play(codex: &Codex, mock: &Mock, daemon: &Daemon) -> anyhow::Result<Vec<Row>> {
    let mut stage = Stage { codex, mock, wire: daemon.connect()?, rows: Vec::new() };
    codex.exec(&["first task"])?;
    // By its id: `--last` takes no prompt beside it in old versions.
    let source = thread_id(&codex.newest()?)?;
    stage.check("resume", &["resume", &source, "second task"])?;
    // Before each run the history is that of the run before: the compaction is part of what is sent.
    stage.unchecked(&["-c", COMPACT_AT_ONCE, "resume", &source, "third task"])?;
    let compactions = compactions(&codex.newest()?)?;
    stage.check("resume after a compaction", &["resume", &source, "fourth task"])?;
    stage.rows.extend(
        (compactions == 0).then(|| Row::failed("a compaction", "none was written".to_owned())),
    );
    stage.check("resume once more", &["resume", &source, "fifth task"])?;
    match stage.check("fork", &["fork", &source, "another way"]) {
        Ok(()) => {
            let fork = thread_id(&codex.newest()?)?;
            if fork != source {
                stage.check("resume of the fork", &["resume", &fork, "in the fork"])?;
            }
        }
        // To older versions `fork` is a prompt, and what follows it one argument too many.
        Err(error) if format!("{error:#}").contains("--help") => {
            println!("    this version has no exec fork");
        }
        Err(error) => return Err(error),
    }
    stage.continuation(&source)?;
    Ok(stage.rows)
}

struct Stage<'a> {
    codex: &'a Codex,
    mock: &'a Mock,
    wire: Wire,
    rows: Vec<Row>,
}

impl Stage<'_> {
    fn unchecked(&mut self, arguments: &[&str]) -> anyhow::Result<()> {
        self.codex.exec(arguments)?;
        self.mock.take();
        Ok(())
    }

    /// Compares the history as it stands with the first request of a run.
    fn check(&mut self, step: &'static str, arguments: &[&str]) -> anyhow::Result<()> {
        let history = history(&mut self.wire, &self.codex.newest()?)?;
        self.mock.take();
        self.codex.exec(arguments)?;
        let requests = self.mock.take();
        let input = requests.first().and_then(|request| request["input"].as_array());
        let row = match input {
            Some(input) => compare(step, &history, input),
            None => Row::failed(step, "it sent no request".to_owned()),
        };
        self.rows.push(row);
        Ok(())
    }

    /// A thread goes on in a new transcript of ours: its first request holds the view, the last request of
    /// the person word for word, and the context of today.
    fn continuation(&mut self, source: &str) -> anyhow::Result<()> {
        const STEP: &str = "a continuation of ours";
        let of = json!({ "thread_id": source, "strategy": "checkpoint", "max_tokens": 1500 });
        let made = self.wire.call("thread/continue", &of)?;
        let id = made["thread_id"].as_str().context("a continuation without an id")?.to_owned();
        let history =
            history(&mut self.wire, Path::new(made["path"].as_str().unwrap_or_default()))?;
        self.mock.take();
        self.codex.exec(&["resume", &id, "go on then"])?;
        let requests = self.mock.take();
        let input = requests.first().and_then(|request| request["input"].as_array());
        let Some(input) = input else {
            self.rows.push(Row::failed(STEP, "it sent no request".to_owned()));
            return Ok(());
        };
        self.rows.push(compare(STEP, &history, input));
        let view = made["compaction"]["view"].as_str().unwrap_or_default().trim();
        let wanted = [
            ("the view", view),
            ("the request", "fifth task"),
            ("context", "<environment_context>"),
        ];
        let texts: Vec<&str> =
            input.iter().filter_map(|item| item.pointer("/content/0/text")?.as_str()).collect();
        for (what, words) in wanted {
            if words.is_empty() || !texts.iter().any(|text| text.contains(words)) {
                self.rows.push(Row::failed(STEP, format!("{what} was not sent")));
            }
        }
        Ok(())
    }
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

/// What the model is shown of a thread, as we say.
pub(super) fn history(wire: &mut Wire, transcript: &Path) -> anyhow::Result<Vec<Value>> {
    let synced = wire.call("thread/sync", &json!({ "path": transcript, "timeout_ms": 10_000 }))?;
    let of = json!({ "thread_id": synced["thread_id"], "opaque": "as_is", "max_bytes": 8_000_000 });
    let history = wire.call("history/get", &of)?;
    let legal = wire.call("context/normalize", &json!({ "items": history["items"] }))?;
    Ok(legal["items"].as_array().cloned().unwrap_or_default())
}
