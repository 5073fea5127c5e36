//! The policy carried out in the real Claude Code: a compaction between two turns, at the moment the policy finds good,
//! without a model and without a word of the person's.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::claude::{self, Claude};
use super::compare::Row;
use super::mock::{Mock, PART, is_summary_asked};
use super::terminal::Terminal;
use crate::daemon::{self, Daemon};
use crate::process::{Deadline, POLL};
use crate::wire::Wire;

/// A tier that holds in whatever window the version's own model has.
const CONFIG: &str = "[policy]\nmode = \"auto\"\n[policy.asap]\npercent_remaining_lt = 99\n";
const BRIEFING: &str = "The conversation so far was compacted.";
/// The time of a session that stays open, from its start to what the policy does.
const SESSION_TIMEOUT: Duration = Duration::from_secs(40);

pub(super) fn play(
    longhauld: &Path,
    binary: PathBuf,
    deadline: Deadline,
) -> anyhow::Result<Vec<Row>> {
    let (claude, mock, daemon) = claude::on_stage(longhauld, binary, deadline, CONFIG)?;
    claude.know_person()?;
    claude.install(&longhauld.with_file_name("longhaul"), &daemon)?;
    let mut rows = between_turns(&claude, &mock, &daemon)?;
    rows.push(headless(&claude, &daemon)?);
    daemon.stop()?;
    Ok(rows)
}

/// A session on a terminal, whose first turn fills a part of the window and ends a phase.
fn between_turns(claude: &Claude, mock: &Mock, daemon: &Daemon) -> anyhow::Result<Vec<Row>> {
    let mut wire = daemon.connect()?;
    let mut script = Command::new("script");
    let prompt = format!("{PART}. Never use floats for money.");
    let session = Terminal::open(claude.on_terminal(&mut script, &prompt), &claude.home())?;
    let compacted = |wire: &mut Wire| decided(wire, "compaction_id");
    let within = Deadline::after(SESSION_TIMEOUT);
    let decision = loop {
        match compacted(&mut wire)? {
            Some(decision) => break decision,
            None if within.is_over() => {
                let log = wire.call("policy/log", &json!({}))?;
                let why =
                    format!("no compaction; the log: {log}; the session: {}", session.shown());
                return Ok(vec![Row::failed("the policy compacts", why)]);
            }
            None => daemon::pause(POLL),
        }
    };
    let id = decision["compaction_id"].as_str().context("no compaction")?.to_owned();
    // The plugin reports the end once the session has its new history.
    while !is_over(&mut wire, &decision)? {
        ensure!(!within.is_over(), "nobody reported the end of {id}; {}", session.shown());
        daemon::pause(POLL);
    }
    session.close("/exit", within)?;
    let requests = mock.take();
    let asked = requests.iter().filter(|request| is_summary_asked(request)).count();
    let log = wire.call("policy/log", &json!({ "policy": "default" }))?;
    let decisions = log["decisions"].as_array().map_or(0, Vec::len);
    let made = wire.call("compaction/get", &json!({ "compaction_id": id }))?;
    let is_tied = made["policy"]["decision_id"] == decision["decision"]["decision_id"];
    claude.print(&["--continue", "and the lexer"])?;
    let requests = mock.take();
    let next = requests.last().context("no request was sent")?["messages"].to_string();
    let tier = decision["decision"]["tier"].as_str().unwrap_or_default();
    Ok(vec![
        Row::told("the policy compacts", asked == 0, format!("at {tier}, {asked} summaries asked")),
        Row::told(
            "one decision, tied to it",
            decisions == 1 && is_tied,
            format!("{decisions} in the log, {id}"),
        ),
        Row::told(
            "and the session goes on",
            next.contains(BRIEFING) && next.contains("floats for money"),
            format!("{} bytes in the next request", next.len()),
        ),
    ])
}

/// Without a terminal the agent offers no compaction between turns; it is said, and the turn is not harmed.
fn headless(claude: &Claude, daemon: &Daemon) -> anyhow::Result<Row> {
    claude.print(&[&format!("{PART}, once more")])?;
    let mut wire = daemon.connect()?;
    let decision = decided(&mut wire, "not_made")?;
    let why = decision.as_ref().and_then(|it| it["not_made"].as_str()).unwrap_or("nothing");
    Ok(Row::told("headless: told why not", why.contains("headless"), why.to_owned()))
}

/// The newest decision of the log that has this field.
pub(super) fn decided(wire: &mut Wire, field: &str) -> anyhow::Result<Option<Value>> {
    let log = wire.call("policy/log", &json!({}))?;
    let decisions = log["decisions"].as_array().into_iter().flatten();
    Ok(decisions.into_iter().find(|decision| decision[field].is_string()).cloned())
}

pub(super) fn is_over(wire: &mut Wire, decision: &Value) -> anyhow::Result<bool> {
    let of = json!({ "thread_id": decision["thread_id"] });
    Ok(wire.call("policy/evaluate", &of)?["watcher"]["phase"] == "idle")
}
