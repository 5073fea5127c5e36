//! Our plugin in the real Claude Code: it compacts without a model and the turn continues. If anything of ours fails, the
//! agent compacts by itself.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::claude::{self, Claude};
use super::compare::Row;
use super::doctor;
use super::mock::{FILL, MOST, Mock, ask, is_summary_request, unpaired};
use crate::daemon::{self, Daemon};
use crate::place;
use crate::process::{Deadline, POLL};
use crate::wire::Wire;

/// The beginnings of every briefing, and of the hook's text, which would repeat it.
const BRIEFING: &str = "The conversation so far was compacted.";
const HOOK_CONTEXT: &str = r#"<longhaul_context about=\"compaction\">"#;
/// A pinned text, and its section in a view.
const PINNED: &str = "Amounts are whole cents.";
const PINS: &str = "[PINNED]";
/// The beginning of the agent's own summary.
const OWN_SUMMARY: &str = "This session is being continued from a previous conversation";

pub(super) fn play(
    longhaul: &Path,
    claude: &Claude,
    mock: &Mock,
    mut daemon: Daemon,
) -> anyhow::Result<Vec<Row>> {
    let installed = claude.install(longhaul, &daemon)?;
    let mut rows = vec![Row::new(
        "the plugin is installed",
        installed.contains("by the plugin"),
        installed.lines().find(|line| line.starts_with("Compactions")).unwrap_or_default().into(),
    )];
    rows.extend(fill_in_turn(claude, mock)?);
    rows.push(doctor_row("doctor counts it", longhaul, claude, &daemon, "answered in")?);
    let before = daemon.compactions()?;
    pin(&daemon)?;
    rows.extend(compact_by_command(claude, mock)?);
    let records = daemon.compactions()? - before;
    rows.push(Row::new("one record of it", records == 1, format!("{records} new")));
    rows.extend(undo_rows(claude, mock)?);
    rows.extend(fill_sub_agent(claude, mock, &daemon)?);
    rows.push(doctor_row("doctor names the route", longhaul, claude, &daemon, "answered in")?);
    rows.extend(excerpt_rows(longhaul, claude, mock, &daemon)?);
    rows.push(precomputed_row(claude, mock)?);
    rows.push(other_version_row(longhaul, claude, mock, &daemon)?);
    rows.extend(kill_daemon(longhaul, claude, mock, &mut daemon)?);
    Ok(rows)
}

/// The same plugin installed from its folder as a marketplace, without `longhaul install`.
pub(super) fn from_marketplace(
    longhauld: &Path,
    binary: PathBuf,
    deadline: Deadline,
) -> anyhow::Result<Vec<Row>> {
    let (claude, mock, daemon) = claude::set_up(longhauld, binary, deadline, "")?;
    let longhaul = longhauld.with_file_name("longhaul");
    let claude = claude.with_our_programs(&longhaul, &daemon)?;
    let folder = place::workspace()?.join("clients/claude-plugin");
    claude.plugin(&["marketplace", "add", &folder.to_string_lossy()])?;
    claude.plugin(&["install", "longhaul@longhaul"])?;
    claude.print(&[&format!("{FILL}. Never use floats for money.")])?;
    let requests = mock.take();
    let last = requests.last().context("no request was sent")?["messages"].to_string();
    let wanted = "longhaul@longhaul), without a model; the last one answered";
    let doctor = doctor_row("doctor names it", &longhaul, &claude, &daemon, wanted)?;
    daemon.stop()?;
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

/// Fills the window in the middle of a turn.
fn fill_in_turn(claude: &Claude, mock: &Mock) -> anyhow::Result<Vec<Row>> {
    mock.take();
    claude.print(&[&format!("{FILL}. Never use floats for money.")])?;
    let requests = mock.take();
    let last = requests.last().context("no request was sent")?["messages"].to_string();
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
fn pin(daemon: &Daemon) -> anyhow::Result<()> {
    let mut wire = daemon.connect()?;
    let listed = wire.call("thread/list", &json!({ "limit": 1 }))?;
    let thread = &listed["threads"][0]["thread_id"];
    let pin = json!({ "thread_id": thread, "action": "pin", "text": PINNED });
    wire.call("checkpoint/choose", &pin)?;
    Ok(())
}

/// `/compact TEXT`, then the next request.
fn compact_by_command(claude: &Claude, mock: &Mock) -> anyhow::Result<Vec<Row>> {
    claude.print(&["--continue", "/compact keep the lexer in mind"])?;
    let compacting = mock.take();
    claude.print(&["--continue", "and the lexer"])?;
    let requests = mock.take();
    let next = requests.last().context("no request was sent")?["messages"].to_string();
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
fn precomputed_row(claude: &Claude, mock: &Mock) -> anyhow::Result<Row> {
    mock.take();
    let features = json!({ "tengu_sepia_moth": true });
    let log = claude.print_with(&features, &["--continue", MOST])?;
    let requests = mock.take().iter().filter(|request| is_summary_request(request)).count();
    let steps = || log.lines().filter(|line| line.contains("precompute"));
    let is_answered = steps().any(|line| line.contains("longhaul answers in time"));
    let last = steps().next_back().unwrap_or("nothing is precomputed").to_owned();
    Ok(Row::new("ahead of time: no model", is_answered && requests == 0, last))
}

/// Fills the window of a sub-agent: only its own conversation is compacted.
fn fill_sub_agent(claude: &Claude, mock: &Mock, daemon: &Daemon) -> anyhow::Result<Vec<Row>> {
    let prompt = format!("{FILL}. Call the sub-task forty-two.");
    let task = json!({ "description": "a sub-task", "prompt": prompt, "subagent_type": "general-purpose" });
    claude.print(&["--continue", &ask("Agent", &task)])?;
    let requests = mock.take();
    let is_compacted = |request: &Value| {
        let opening = request["messages"][0].to_string();
        opening.contains(BRIEFING) && opening.contains("forty-two")
    };
    let continues = requests.iter().any(is_compacted);
    let mut wire = daemon.connect()?;
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
fn undo_rows(claude: &Claude, mock: &Mock) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (step, prompt, briefings_left) in [
        ("undo: the view before it", "and the tests", 1),
        ("undo: the whole history", "and the docs", 0),
    ] {
        claude.print(&["--continue", "/compact undo"])?;
        let model_requests = mock.take().len();
        claude.print(&["--continue", prompt])?;
        let requests = mock.take();
        let next = requests.last().context("no request was sent")?["messages"].to_string();
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
    claude.print(&["--continue", "/compact undo"])?;
    let count = mock.take().len();
    rows.push(Row::new("nothing to undo: no model", count == 0, format!("{count} requests")));
    Ok(rows)
}

/// With `--excerpts`, long results are sent as excerpts, and their handles return the whole text.
fn excerpt_rows(
    longhaul: &Path,
    claude: &Claude,
    mock: &Mock,
    daemon: &Daemon,
) -> anyhow::Result<Vec<Row>> {
    claude.install_with(longhaul, daemon, &["--excerpts"])?;
    mock.take();
    let count = json!({ "command": "seq 1 5000", "description": "count" });
    claude.print(&["--continue", &ask("Bash", &count)])?;
    let sent = mock.take().last().context("no request was sent")?["messages"].to_string();
    let is_short = !sent.contains("\\n2500\\n") && sent.contains("\\n4999\\n5000");
    let mut wire = daemon.connect()?;
    let (handle, whole) = behind(&sent, &mut wire)?;
    let detail = format!("{} bytes sent, {} behind {handle}", sent.len(), whole.len());
    let is_whole = whole.contains("\\n2500\\n");
    let output = Row::new("a long output as an excerpt", is_short && is_whole, detail);
    let file = read_file_row(claude, mock, &mut wire)?;
    let counted =
        doctor_row("the saving is counted", longhaul, claude, daemon, "2 results as excerpts")?;
    claude.install(longhaul, daemon)?;
    Ok(vec![output, file, counted])
}

/// Reads a long file whole, which is sent as an excerpt, and then a part of it, which is not.
fn read_file_row(claude: &Claude, mock: &Mock, wire: &mut Wire) -> anyhow::Result<Row> {
    let path = claude.project().join("long.txt");
    let lines: Vec<String> = (1..=1_500).map(|line| format!("this is line {line} of it")).collect();
    fs::write(&path, lines.join("\n"))?;
    let read = |arguments: Value| -> anyhow::Result<String> {
        mock.take();
        claude.print(&["--continue", &ask("Read", &arguments)])?;
        Ok(mock.take().last().context("no request was sent")?["messages"].to_string())
    };
    let all = read(json!({ "file_path": path }))?;
    let part = read(json!({ "file_path": path, "offset": 700, "limit": 3 }))?;
    let (handle, whole) = behind(&all, wire)?;
    let middle = "this is line 701 of it";
    let agrees = !all.contains(middle) && whole.contains(middle) && part.contains(middle);
    let detail = format!("{} bytes behind {handle}, a part is sent whole", whole.len());
    Ok(Row::new("a long file as an excerpt", agrees, detail))
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

/// A plugin of another protocol version: the agent must compact by itself, and doctor must say why.
fn other_version_row(
    longhaul: &Path,
    claude: &Claude,
    mock: &Mock,
    daemon: &Daemon,
) -> anyhow::Result<Row> {
    let file = claude.home().join("skills/longhaul/hooks/answer.ts");
    let text = fs::read_to_string(&file)?;
    fs::write(&file, text.replace("PROTOCOL = 1", "PROTOCOL = 2"))?;
    let step = "a plugin of another version";
    let is_by_agent = is_compacted_by_agent(claude, mock)?;
    fs::write(&file, text)?;
    let row = doctor_row(step, longhaul, claude, daemon, "protocol is version 2")?;
    Ok(if is_by_agent { row } else { Row::failed(step, "the agent did not compact itself".into()) })
}

/// Kills the daemon during a turn that fills the window.
fn kill_daemon(
    longhaul: &Path,
    claude: &Claude,
    mock: &Mock,
    daemon: &mut Daemon,
) -> anyhow::Result<Vec<Row>> {
    mock.take();
    let turn = thread::scope(|scope| {
        let turn = scope.spawn(|| claude.print(&["--continue", &format!("once more: {FILL}")]));
        while mock.count() == 0 && !turn.is_finished() {
            daemon::pause(POLL);
        }
        daemon.kill()?;
        turn.join().map_err(|_| anyhow::anyhow!("the turn panicked"))?
    });
    turn?;
    let requests = mock.take();
    let last = requests.last().context("no request was sent")?["messages"].to_string();
    let continues = requests.iter().any(is_summary_request) && last.contains(OWN_SUMMARY);
    Ok(vec![
        Row::new("killed: the agent compacts", continues, format!("{} requests", requests.len())),
        paired_row("calls have their results", &requests),
        doctor_row("doctor names the fallback", longhaul, claude, daemon, "left to Claude Code")?,
    ])
}

/// Whether `/compact` asks the model for a summary, as Claude Code does without us.
fn is_compacted_by_agent(claude: &Claude, mock: &Mock) -> anyhow::Result<bool> {
    mock.take();
    claude.print(&["--continue", "/compact"])?;
    Ok(mock.take().iter().any(is_summary_request))
}

fn no_summary_row(step: &'static str, requests: &[Value]) -> Row {
    let count = requests.iter().filter(|request| is_summary_request(request)).count();
    Row::new(step, count == 0, format!("{count} summaries in {} requests", requests.len()))
}

fn paired_row(step: &'static str, requests: &[Value]) -> Row {
    match requests.iter().find_map(unpaired) {
        Some(why) => Row::failed(step, why),
        None => Row::new(step, true, format!("in {} requests", requests.len())),
    }
}

fn doctor_row(
    step: &'static str,
    longhaul: &Path,
    claude: &Claude,
    daemon: &Daemon,
    text: &str,
) -> anyhow::Result<Row> {
    let mut program = Command::new(longhaul);
    program.arg("--socket").arg(daemon.socket());
    doctor::compaction_row(step, claude.environment(&mut program), text)
}
