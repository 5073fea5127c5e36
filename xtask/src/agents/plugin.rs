//! Our plugin in the real Claude Code: it compacts without a model and the turn continues. If anything of ours fails, the
//! agent compacts by itself.

use std::fs;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::claude::Claude;
use super::compare::Row;
use super::mock::{FILL, MOST, ask, is_summary_request, unpaired};
use super::stage::{Stage, TestedAgent as _};
use crate::place;
use crate::wire::Wire;

/// The beginnings of every briefing, and of the hook's text, which would repeat it.
const BRIEFING: &str = "The conversation so far was compacted.";
const HOOK_CONTEXT: &str = r#"<longhaul_context about=\"compaction\">"#;
/// A pinned text, and its section in a view.
const PINNED: &str = "Amounts are whole cents.";
const PINS: &str = "[PINNED]";
/// The beginning of the agent's own summary.
const OWN_SUMMARY: &str = "This session is being continued from a previous conversation";

pub(super) fn play(mut stage: Stage<Claude>) -> anyhow::Result<Vec<Row>> {
    let installed = stage.install(&[])?;
    let mut rows = vec![Row::new(
        "the plugin is installed",
        installed.contains("by the plugin"),
        installed.lines().find(|line| line.starts_with("Compactions")).unwrap_or_default().into(),
    )];
    rows.extend(stage.fill_in_turn()?);
    rows.push(stage.doctor_row("doctor counts it", "answered in")?);
    let before = stage.daemon.compactions()?;
    stage.pin()?;
    rows.extend(stage.compact_by_command()?);
    let records = stage.daemon.compactions()? - before;
    rows.push(Row::new("one record of it", records == 1, format!("{records} new")));
    rows.extend(stage.undo_rows()?);
    rows.extend(stage.fill_sub_agent()?);
    rows.push(stage.doctor_row("doctor names the route", "answered in")?);
    rows.extend(stage.excerpt_rows()?);
    rows.push(stage.precomputed_row()?);
    rows.push(stage.other_version_row()?);
    rows.extend(stage.kill_daemon()?);
    Ok(rows)
}

/// The same plugin installed from its folder as a marketplace, without `longhaul install`.
pub(super) fn from_marketplace(mut stage: Stage<Claude>) -> anyhow::Result<Vec<Row>> {
    let Stage { longhaul, agent: claude, daemon, .. } = &mut stage;
    claude.add_programs(longhaul, daemon)?;
    let folder = place::workspace()?.join("clients/claude-plugin");
    claude.plugin(&["marketplace", "add", &folder.to_string_lossy()])?;
    claude.plugin(&["install", "longhaul@longhaul"])?;
    let requests = stage.requests(&[&format!("{FILL}. Never use floats for money.")])?;
    let last = last_messages(&requests)?;
    let wanted = "longhaul@longhaul), without a model; the last one answered";
    let doctor = stage.doctor_row("doctor names it", wanted)?;
    stage.daemon.stop()?;
    Ok(vec![
        no_summary_row("from a marketplace: no model", &requests),
        Row::new(
            "the turn continues",
            last.contains(BRIEFING) && last.contains("floats for money"),
            format!("{} bytes in the next request", last.len()),
        ),
        doctor,
    ])
}

impl Stage<Claude> {
    /// Fills the window in the middle of a turn.
    fn fill_in_turn(&self) -> anyhow::Result<Vec<Row>> {
        let requests = self.requests(&[&format!("{FILL}. Never use floats for money.")])?;
        let last = last_messages(&requests)?;
        let compacted = no_summary_row("a full window: no model", &requests);
        let continues = last.contains(BRIEFING)
            && last.contains("[SESSION_CHECKPOINT v1]")
            && last.contains("tool_result")
            && last.contains("floats for money");
        Ok(vec![
            compacted,
            Row::new(
                "the turn continues",
                continues,
                format!("{} bytes in the next request", last.len()),
            ),
            Row::new(
                "one view",
                !last.contains(HOOK_CONTEXT),
                "the hook's checkpoint is left out".into(),
            ),
            paired_row("calls have their results", &requests),
        ])
    }

    /// Pins a text in the session.
    fn pin(&self) -> anyhow::Result<()> {
        let mut wire = self.daemon.connect()?;
        let listed = wire.call("thread/list", &json!({ "limit": 1 }))?;
        let thread = &listed["threads"][0]["thread_id"];
        let pin = json!({ "thread_id": thread, "action": "pin", "text": PINNED });
        wire.call("checkpoint/choose", &pin)?;
        Ok(())
    }

    /// `/compact TEXT`, then the next request.
    fn compact_by_command(&self) -> anyhow::Result<Vec<Row>> {
        let compacting = self.requests(&["--continue", "/compact keep the lexer in mind"])?;
        let requests = self.requests(&["--continue", "and the lexer"])?;
        let next = last_messages(&requests)?;
        let focus = next.find("keep the lexer in mind").zip(next.find("[SESSION_CHECKPOINT v1]"));
        Ok(vec![
            Row::new(
                "/compact: no model",
                compacting.is_empty(),
                format!("{} requests", compacting.len()),
            ),
            Row::new(
                "its text comes first",
                focus.is_some_and(|(text, view)| text < view),
                "in the next request".into(),
            ),
            Row::new(
                "a pin is kept",
                next.contains(PINS) && next.contains(PINNED),
                "in the next request".into(),
            ),
            Row::new(
                "one briefing",
                next.matches(BRIEFING).count() <= 2,
                format!("{} bytes", next.len()),
            ),
            paired_row("calls have their results", &requests),
        ])
    }

    /// Fills the window so far that Claude Code would summarize ahead of time, which its servers switch on.
    fn precomputed_row(&self) -> anyhow::Result<Row> {
        self.mock.take();
        let features = json!({ "tengu_sepia_moth": true });
        let log = self.agent.run_with(&features, &["--continue", MOST])?;
        let requests =
            self.mock.take().iter().filter(|request| is_summary_request(request)).count();
        let steps = || log.lines().filter(|line| line.contains("precompute"));
        let is_answered = steps().any(|line| line.contains("longhaul answers in time"));
        let last = steps().next_back().unwrap_or("nothing is precomputed").to_owned();
        Ok(Row::new("ahead of time: no model", is_answered && requests == 0, last))
    }

    /// Fills the window of a sub-agent: only its own conversation is compacted.
    fn fill_sub_agent(&self) -> anyhow::Result<Vec<Row>> {
        let prompt = format!("{FILL}. Call the sub-task forty-two.");
        let task = json!({ "description": "a sub-task", "prompt": prompt, "subagent_type": "general-purpose" });
        let requests = self.requests(&["--continue", &ask("Agent", &task)])?;
        let is_compacted = |request: &Value| {
            let opening = request["messages"][0].to_string();
            opening.contains(BRIEFING) && opening.contains("forty-two")
        };
        let continues = requests.iter().any(is_compacted);
        let mut wire = self.daemon.connect()?;
        let listed = wire.call("compaction/list", &json!({ "limit": 1 }))?;
        let params = json!({ "thread_id": listed["compactions"][0]["thread_id"] });
        let thread = wire.call("thread/get", &params)?;
        let file = thread["files"][0]["path"].as_str().unwrap_or_default();
        let detail = format!("the receipt is of {}", file.rsplit('/').next().unwrap_or_default());
        Ok(vec![
            no_summary_row("a sub-agent: no model", &requests),
            Row::new(
                "it continues from its own",
                continues && file.contains("/subagents/agent-"),
                detail,
            ),
            paired_row("calls have their results", &requests),
        ])
    }

    /// `/compact undo` for each of the two compactions; the session has the first request again.
    fn undo_rows(&self) -> anyhow::Result<Vec<Row>> {
        let mut rows = Vec::new();
        for (step, prompt, briefings_left) in [
            ("undo: the view before it", "and the tests", 1),
            ("undo: the whole history", "and the docs", 0),
        ] {
            let model_requests = self.requests(&["--continue", "/compact undo"])?.len();
            let requests = self.requests(&["--continue", prompt])?;
            let next = last_messages(&requests)?;
            let briefings = next.matches(BRIEFING).count();
            let is_restored = model_requests == 0
                && briefings == briefings_left
                && !next.contains(HOOK_CONTEXT)
                && next.contains("and the lexer")
                && next.contains("floats for money");
            let detail = format!(
                "{model_requests} model requests, {briefings} briefings in {} bytes",
                next.len()
            );
            rows.push(Row::new(step, is_restored, detail));
            rows.push(paired_row("calls have their results", &requests));
        }
        let count = self.requests(&["--continue", "/compact undo"])?.len();
        rows.push(Row::new("nothing to undo: no model", count == 0, format!("{count} requests")));
        Ok(rows)
    }

    /// With `--excerpts`, long results are sent as excerpts, and their handles return the whole text.
    fn excerpt_rows(&self) -> anyhow::Result<Vec<Row>> {
        self.install(&["--excerpts"])?;
        let count = json!({ "command": "seq 1 5000", "description": "count" });
        let sent = last_messages(&self.requests(&["--continue", &ask("Bash", &count)])?)?;
        let is_short = !sent.contains("\\n2500\\n") && sent.contains("\\n4999\\n5000");
        let mut wire = self.daemon.connect()?;
        let (handle, whole) = behind(&sent, &mut wire)?;
        let detail = format!("{} bytes sent, {} behind {handle}", sent.len(), whole.len());
        let is_whole = whole.contains("\\n2500\\n");
        let output = Row::new("a long output as an excerpt", is_short && is_whole, detail);
        let file = self.read_file_row(&mut wire)?;
        let counted = self.doctor_row("the saving is counted", "2 results as excerpts")?;
        self.install(&[])?;
        Ok(vec![output, file, counted])
    }

    /// Reads a long file whole, which is sent as an excerpt, and then a part of it, which is not.
    fn read_file_row(&self, wire: &mut Wire) -> anyhow::Result<Row> {
        let path = self.agent.project().join("long.txt");
        let lines: Vec<String> =
            (1..=1_500).map(|line| format!("this is line {line} of it")).collect();
        fs::write(&path, lines.join("\n"))?;
        let read = |arguments: Value| {
            last_messages(&self.requests(&["--continue", &ask("Read", &arguments)])?)
        };
        let all = read(json!({ "file_path": path }))?;
        let part = read(json!({ "file_path": path, "offset": 700, "limit": 3 }))?;
        let (handle, whole) = behind(&all, wire)?;
        let middle = "this is line 701 of it";
        let agrees = !all.contains(middle) && whole.contains(middle) && part.contains(middle);
        let detail = format!("{} bytes behind {handle}, a part is sent whole", whole.len());
        Ok(Row::new("a long file as an excerpt", agrees, detail))
    }

    /// A plugin of another protocol version: the agent must compact by itself, and doctor must say why.
    fn other_version_row(&self) -> anyhow::Result<Row> {
        let file = self.agent.home().join("skills/longhaul/hooks/answer.ts");
        let text = fs::read_to_string(&file)?;
        fs::write(&file, text.replace("PROTOCOL = 1", "PROTOCOL = 2"))?;
        let step = "a plugin of another version";
        let requests = self.requests(&["--continue", "/compact"])?;
        // As without us.
        let is_by_agent = requests.iter().any(is_summary_request);
        fs::write(&file, text)?;
        let row = self.doctor_row(step, "protocol is version 2")?;
        Ok(if is_by_agent {
            row
        } else {
            Row::failed(step, "the agent did not compact itself".into())
        })
    }

    /// Kills the daemon during a turn that fills the window.
    fn kill_daemon(&mut self) -> anyhow::Result<Vec<Row>> {
        let words = format!("once more: {FILL}");
        let requests = self.killed_during(|claude| claude.run(&["--continue", &words]))?;
        let last = last_messages(&requests)?;
        let continues = requests.iter().any(is_summary_request) && last.contains(OWN_SUMMARY);
        Ok(vec![
            Row::new(
                "killed: the agent compacts",
                continues,
                format!("{} requests", requests.len()),
            ),
            paired_row("calls have their results", &requests),
            self.doctor_row("doctor names the fallback", "left to Claude Code")?,
        ])
    }
}

/// The newest handle in what was sent, and the text behind it.
fn behind(sent: &str, wire: &mut Wire) -> anyhow::Result<(String, String)> {
    let handle = sent.rsplit_once("with handle #").and_then(|(_, rest)| rest.split_once(' '));
    let handle = handle.map(|(call, _)| format!("#{call}")).unwrap_or_default();
    let listed = wire.call("thread/list", &json!({ "limit": 1 }))?;
    let params = json!({ "handle": handle, "thread_id": listed["threads"][0]["thread_id"] });
    let whole = wire.call("history/expand", &params)?.to_string();
    Ok((handle, whole))
}

fn no_summary_row(step: &str, requests: &[Value]) -> Row {
    let count = requests.iter().filter(|request| is_summary_request(request)).count();
    Row::new(step, count == 0, format!("{count} summaries in {} requests", requests.len()))
}

fn paired_row(step: &str, requests: &[Value]) -> Row {
    match requests.iter().find_map(unpaired) {
        Some(why) => Row::failed(step, why),
        None => Row::new(step, true, format!("in {} requests", requests.len())),
    }
}

fn last_messages(requests: &[Value]) -> anyhow::Result<String> {
    Ok(requests.last().context("no request was sent")?["messages"].to_string())
}
