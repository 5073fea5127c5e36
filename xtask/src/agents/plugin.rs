//! Our plugin in the real Claude Code: a compaction asks no model, the turn goes on, and whatever is wrong with us, the
//! agent compacts in its own way.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::claude::{self, Claude};
use super::compare::Row;
use super::mock::{FILL, MOST, Mock, ask, is_summary_asked, unpaired};
use crate::daemon::{self, Daemon};
use crate::place;
use crate::process::{Deadline, POLL};
use crate::wire::Wire;

/// How every briefing begins, and what a hook of ours would add beside it.
const BRIEFING: &str = "The conversation so far was compacted.";
const HOOK_CONTEXT: &str = r#"<longhaul_context about=\"compaction\">"#;
/// What the person pins, and where it stands in a view.
const PINNED: &str = "Amounts are whole cents.";
const PINS: &str = "[PINNED]";
/// What the agent writes in place of a model's summary.
const OWN_SUMMARY: &str = "This session is being continued from a previous conversation";

pub(super) fn play(
    longhaul: &Path,
    claude: &Claude,
    mock: &Mock,
    mut daemon: Daemon,
) -> anyhow::Result<Vec<Row>> {
    let installed = claude.install(longhaul, &daemon)?;
    let mut rows = vec![Row::told(
        "the plugin is installed",
        installed.contains("by the plugin"),
        installed.lines().find(|line| line.starts_with("Compactions")).unwrap_or_default().into(),
    )];
    rows.extend(in_a_turn(claude, mock)?);
    rows.push(said_by_doctor("and doctor says so", longhaul, claude, &daemon, "answered in")?);
    let before = records(&daemon)?;
    pin(&daemon)?;
    rows.extend(by_hand(claude, mock)?);
    let made = records(&daemon)? - before;
    rows.push(Row::told("one record of it", made == 1, format!("{made} more in the list")));
    rows.extend(undone(claude, mock)?);
    rows.extend(in_a_sub_agent(claude, mock, &daemon)?);
    rows.push(said_by_doctor("doctor names the route", longhaul, claude, &daemon, "answered in")?);
    rows.extend(excerpted(longhaul, claude, mock, &daemon)?);
    rows.push(precomputed(claude, mock)?);
    rows.push(of_another_version(longhaul, claude, mock, &daemon)?);
    rows.extend(killed(longhaul, claude, mock, &mut daemon)?);
    Ok(rows)
}

/// The same plugin from its folder as a marketplace, without `longhaul install`.
pub(super) fn from_marketplace(
    longhauld: &Path,
    binary: PathBuf,
    deadline: Deadline,
) -> anyhow::Result<Vec<Row>> {
    let (claude, mock, daemon) = claude::on_stage(longhauld, binary, deadline, "")?;
    let longhaul = longhauld.with_file_name("longhaul");
    let claude = claude.beside(&longhaul, &daemon)?;
    let folder = place::workspace()?.join("clients/claude-plugin");
    claude.plugin(&["marketplace", "add", &folder.to_string_lossy()])?;
    claude.plugin(&["install", "longhaul@longhaul"])?;
    claude.print(&[&format!("{FILL}. Never use floats for money.")])?;
    let requests = mock.take();
    let last = requests.last().context("no request was sent")?["messages"].to_string();
    let wanted = "longhaul@longhaul), without a model; the last one answered";
    let named = said_by_doctor("and doctor names it", &longhaul, &claude, &daemon, wanted)?;
    daemon.stop()?;
    Ok(vec![
        no_model("from a marketplace: no model", &requests),
        Row::told(
            "and the turn goes on",
            last.contains(BRIEFING) && last.contains("floats for money"),
            format!("{} bytes in the next request", last.len()),
        ),
        named,
    ])
}

/// The window fills in the middle of a turn.
fn in_a_turn(claude: &Claude, mock: &Mock) -> anyhow::Result<Vec<Row>> {
    mock.take();
    claude.print(&[&format!("{FILL}. Never use floats for money.")])?;
    let requests = mock.take();
    let last = requests.last().context("no request was sent")?["messages"].to_string();
    let compacted = no_model("a full window asks no model", &requests);
    let goes_on = last.contains(BRIEFING)
        && last.contains("[SESSION_CHECKPOINT v1]")
        && last.contains("tool_result")
        && last.contains("floats for money");
    Ok(vec![
        compacted,
        Row::told(
            "and the turn goes on",
            goes_on,
            format!("{} bytes in the next request", last.len()),
        ),
        Row::told(
            "told once",
            !last.contains(HOOK_CONTEXT),
            "the hook's checkpoint is left out".into(),
        ),
        paired("calls with their results", &requests),
    ])
}

/// The person pins a text of the session.
fn pin(daemon: &Daemon) -> anyhow::Result<()> {
    let mut wire = daemon.connect()?;
    let listed = wire.call("thread/list", &json!({ "limit": 1 }))?;
    let thread = &listed["threads"][0]["thread_id"];
    let pin = json!({ "thread_id": thread, "action": "pin", "text": PINNED });
    wire.call("checkpoint/choose", &pin)?;
    Ok(())
}

/// `/compact WORDS`, then the next request.
fn by_hand(claude: &Claude, mock: &Mock) -> anyhow::Result<Vec<Row>> {
    claude.print(&["--continue", "/compact keep the lexer in mind"])?;
    let compacting = mock.take();
    claude.print(&["--continue", "and the lexer"])?;
    let requests = mock.take();
    let next = requests.last().context("no request was sent")?["messages"].to_string();
    let focused = next.find("keep the lexer in mind").zip(next.find("[SESSION_CHECKPOINT v1]"));
    Ok(vec![
        Row::told(
            "/compact asks nobody",
            compacting.is_empty(),
            format!("{} requests", compacting.len()),
        ),
        Row::told(
            "its words stand first",
            focused.is_some_and(|(words, view)| words < view),
            "in the next request".into(),
        ),
        Row::told(
            "what was pinned stands",
            next.contains(PINS) && next.contains(PINNED),
            "in the next request".into(),
        ),
        Row::told(
            "one briefing",
            next.matches(BRIEFING).count() <= 2,
            format!("{} bytes", next.len()),
        ),
        paired("calls with their results", &requests),
    ])
}

/// The window is so full that Claude Code would summarise ahead of time, which its servers switch on.
fn precomputed(claude: &Claude, mock: &Mock) -> anyhow::Result<Row> {
    mock.take();
    let features = json!({ "tengu_sepia_moth": true });
    let did = claude.print_with(&features, &["--continue", MOST])?;
    let asked = mock.take().iter().filter(|request| is_summary_asked(request)).count();
    let steps = || did.lines().filter(|line| line.contains("precompute"));
    let is_answered = steps().any(|line| line.contains("longhaul answers in time"));
    let last = steps().last().unwrap_or("nothing is precomputed").to_owned();
    Ok(Row::told("ahead of time: no model", is_answered && asked == 0, last))
}

/// How many compactions are recorded.
fn records(daemon: &Daemon) -> anyhow::Result<usize> {
    let listed = daemon.connect()?.call("compaction/list", &json!({ "limit": 100 }))?;
    Ok(listed["compactions"].as_array().map_or(0, Vec::len))
}

/// The window of a sub-agent fills: its own conversation is compacted, and no other.
fn in_a_sub_agent(claude: &Claude, mock: &Mock, daemon: &Daemon) -> anyhow::Result<Vec<Row>> {
    let prompt = format!("{FILL}. Call the sub-task forty-two.");
    let task = json!({ "description": "a sub-task", "prompt": prompt, "subagent_type": "general-purpose" });
    claude.print(&["--continue", &ask("Agent", &task)])?;
    let requests = mock.take();
    let is_its_own = |request: &Value| {
        let opening = request["messages"][0].to_string();
        opening.contains(BRIEFING) && opening.contains("forty-two")
    };
    let goes_on = requests.iter().any(is_its_own);
    let mut wire = daemon.connect()?;
    let made = wire.call("compaction/list", &json!({ "limit": 1 }))?;
    let of = json!({ "thread_id": made["compactions"][0]["thread_id"] });
    let thread = wire.call("thread/get", &of)?;
    let file = thread["files"][0]["path"].as_str().unwrap_or_default();
    let told = format!("the receipt is of {}", file.rsplit('/').next().unwrap_or_default());
    Ok(vec![
        no_model("a sub-agent asks no model", &requests),
        Row::told("and goes on from its own", goes_on && file.contains("/subagents/agent-"), told),
        paired("calls with their results", &requests),
    ])
}

/// `/compact undo`, once for each of the two compactions: the person's first words stand in the session again.
fn undone(claude: &Claude, mock: &Mock) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (step, then, left) in [
        ("undo: the view before it", "and the tests", 1),
        ("undo: all of the history", "and the docs", 0),
    ] {
        claude.print(&["--continue", "/compact undo"])?;
        let asked = mock.take().len();
        claude.print(&["--continue", then])?;
        let requests = mock.take();
        let next = requests.last().context("no request was sent")?["messages"].to_string();
        let briefings = next.matches(BRIEFING).count();
        let is_back = asked == 0
            && briefings == left
            && !next.contains(HOOK_CONTEXT)
            && next.contains("and the lexer")
            && next.contains("floats for money");
        let told =
            format!("{asked} asked of the model, {briefings} briefings in {} bytes", next.len());
        rows.push(Row::told(step, is_back, told));
        rows.push(paired("calls with their results", &requests));
    }
    claude.print(&["--continue", "/compact undo"])?;
    let asked = mock.take().len();
    rows.push(Row::told("undo of nothing asks nobody", asked == 0, format!("{asked} requests")));
    Ok(rows)
}

/// Where that is switched on, long results are sent as excerpts, and their handles bring all of it back.
fn excerpted(
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
    let handle = sent.split_once("with handle #").and_then(|(_, rest)| rest.split_once(' '));
    let handle = handle.map(|(call, _)| format!("#{call}")).unwrap_or_default();
    let is_short = !sent.contains("\\n2500\\n") && sent.contains("\\n4999\\n5000");
    let mut wire = daemon.connect()?;
    let listed = wire.call("thread/list", &json!({ "limit": 1 }))?;
    let of = json!({ "handle": handle, "thread_id": listed["threads"][0]["thread_id"] });
    let whole = wire.call("history/expand", &of)?.to_string();
    let told = format!("{} bytes sent, {} behind {handle}", sent.len(), whole.len());
    let is_whole = whole.contains("\\n2500\\n");
    let output = Row::told("a long output as an excerpt", is_short && is_whole, told);
    let file = read_file(claude, mock, &mut wire)?;
    let counted =
        said_by_doctor("the saving is counted", longhaul, claude, daemon, "2 results as excerpts")?;
    claude.install(longhaul, daemon)?;
    Ok(vec![output, file, counted])
}

/// A file of the person's, read from its beginning, and then a part of it.
fn read_file(claude: &Claude, mock: &Mock, wire: &mut Wire) -> anyhow::Result<Row> {
    let path = claude.project().join("long.txt");
    let lines: Vec<String> = (1..=1_500).map(|line| format!("this is line {line} of it")).collect();
    fs::write(&path, lines.join("\n"))?;
    let read = |of: Value| -> anyhow::Result<String> {
        mock.take();
        claude.print(&["--continue", &ask("Read", &of)])?;
        Ok(mock.take().last().context("no request was sent")?["messages"].to_string())
    };
    let all = read(json!({ "file_path": path }))?;
    let handle = all.rsplit_once("with handle #").and_then(|(_, rest)| rest.split_once(' '));
    let handle = handle.map(|(call, _)| format!("#{call}")).unwrap_or_default();
    let part = read(json!({ "file_path": path, "offset": 700, "limit": 3 }))?;
    let listed = wire.call("thread/list", &json!({ "limit": 1 }))?;
    let of = json!({ "handle": handle, "thread_id": listed["threads"][0]["thread_id"] });
    let whole = wire.call("history/expand", &of)?.to_string();
    let middle = "this is line 701 of it";
    let agrees = !all.contains(middle) && whole.contains(middle) && part.contains(middle);
    let told = format!("{} bytes behind {handle}, a part stays whole", whole.len());
    Ok(Row::told("a long file as an excerpt", agrees, told))
}

/// The plugin speaks another version than the program.
fn of_another_version(
    longhaul: &Path,
    claude: &Claude,
    mock: &Mock,
    daemon: &Daemon,
) -> anyhow::Result<Row> {
    let file = claude.home().join("skills/longhaul/hooks/answer.ts");
    let text = fs::read_to_string(&file)?;
    fs::write(&file, text.replace("PROTOCOL = 1", "PROTOCOL = 2"))?;
    let step = "a plugin of another version";
    let own = own_way(claude, mock)?;
    fs::write(&file, text)?;
    let said = said_by_doctor(step, longhaul, claude, daemon, "protocol is version 2")?;
    Ok(if own { said } else { Row::failed(step, "the agent did not compact itself".into()) })
}

/// The daemon dies while a turn runs whose window is about to fill.
fn killed(
    longhaul: &Path,
    claude: &Claude,
    mock: &Mock,
    daemon: &mut Daemon,
) -> anyhow::Result<Vec<Row>> {
    mock.take();
    let printed = thread::scope(|scope| {
        let turn = scope.spawn(|| claude.print(&["--continue", &format!("once more: {FILL}")]));
        while mock.count() == 0 && !turn.is_finished() {
            daemon::pause(POLL);
        }
        daemon.kill()?;
        turn.join().map_err(|_| anyhow::anyhow!("the turn panicked"))?
    });
    printed?;
    let requests = mock.take();
    let last = requests.last().context("no request was sent")?["messages"].to_string();
    let asked = requests.iter().any(is_summary_asked);
    let goes_on = asked && last.contains(OWN_SUMMARY);
    Ok(vec![
        Row::told("killed: the agent's own way", goes_on, format!("{} requests", requests.len())),
        paired("calls with their results", &requests),
        said_by_doctor("and doctor says so", longhaul, claude, daemon, "left to Claude Code")?,
    ])
}

/// Whether `/compact` asks the model, as Claude Code does without us.
fn own_way(claude: &Claude, mock: &Mock) -> anyhow::Result<bool> {
    mock.take();
    claude.print(&["--continue", "/compact"])?;
    Ok(mock.take().iter().any(is_summary_asked))
}

fn no_model(step: &'static str, requests: &[Value]) -> Row {
    let asked = requests.iter().filter(|request| is_summary_asked(request)).count();
    Row::told(step, asked == 0, format!("{asked} summaries in {} requests", requests.len()))
}

fn paired(step: &'static str, requests: &[Value]) -> Row {
    match requests.iter().find_map(unpaired) {
        Some(why) => Row::failed(step, why),
        None => Row::told(step, true, format!("in {} requests", requests.len())),
    }
}

fn said_by_doctor(
    step: &'static str,
    longhaul: &Path,
    claude: &Claude,
    daemon: &Daemon,
    wanted: &str,
) -> anyhow::Result<Row> {
    let mut doctor = Command::new(longhaul);
    doctor.arg("--socket").arg(daemon.socket()).args(["doctor", "--json"]);
    let output = claude.environment(&mut doctor).output()?;
    let page: Value = serde_json::from_slice(&output.stdout).context("doctor gave no JSON")?;
    let checks = page["checks"].as_array().map_or(&[][..], Vec::as_slice);
    let route = checks.iter().find(|check| check["name"] == "compaction");
    let detail = route.and_then(|check| check["detail"].as_str()).unwrap_or("nothing");
    Ok(Row::told(step, detail.contains(wanted), detail.to_owned()))
}
