//! Policies in the real Claude Code: the plugin compacts between two turns when the policy decides so, without a model
//! and without a command from the person.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::claude::Claude;
use super::compare::Row;
use super::mock::{PART, is_summary_request};
use super::stage::{Stage, TestedAgent as _};
use super::terminal::Terminal;
use crate::daemon;
use crate::process::{Deadline, POLL};
use crate::wire::Wire;

/// A tier that applies in a window of any size.
pub(super) const CONFIG: &str =
    "[policy]\nmode = \"auto\"\n[policy.asap]\npercent_remaining_lt = 99\n";
const BRIEFING: &str = "The conversation so far was compacted.";
/// Time from the start of a session until the compaction of the policy has ended.
const SESSION_TIMEOUT: Duration = Duration::from_secs(40);

pub(super) fn play(stage: Stage<Claude>) -> anyhow::Result<Vec<Row>> {
    stage.agent.skip_onboarding()?;
    stage.install(&[])?;
    let mut rows = between_turns(&stage)?;
    rows.push(headless_row(&stage)?);
    stage.daemon.stop()?;
    Ok(rows)
}

/// Runs a session on a terminal whose first turn fills a part of the window and ends a phase.
fn between_turns(stage: &Stage<Claude>) -> anyhow::Result<Vec<Row>> {
    let Stage { agent: claude, mock, daemon, .. } = stage;
    let mut wire = daemon.connect()?;
    let mut script = Command::new("script");
    let prompt = format!("{PART}. Never use floats for money.");
    let session = Terminal::open(claude.on_terminal(&mut script, &prompt), &claude.home())?;
    let within = Deadline::after(SESSION_TIMEOUT);
    let decision = loop {
        match decided(&mut wire, "compaction_id")? {
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
        ensure!(!within.is_over(), "the end of {id} was not reported; {}", session.shown());
        daemon::pause(POLL);
    }
    session.close("/exit", within)?;
    let requests = mock.take();
    let summaries = requests.iter().filter(|request| is_summary_request(request)).count();
    let log = wire.call("policy/log", &json!({ "policy": "default" }))?;
    let decisions = log["decisions"].as_array().map_or(0, Vec::len);
    let compaction = wire.call("compaction/get", &json!({ "compaction_id": id }))?;
    let is_linked = compaction["policy"]["decision_id"] == decision["decision"]["decision_id"];
    let requests = stage.requests(&["--continue", "and the lexer"])?;
    // A request for a title may come before or after it.
    let mut messages = requests.iter().map(|request| request["messages"].to_string());
    let next = messages.rfind(|messages| messages.contains("and the lexer"));
    let next = next.context("no request has the prompt")?;
    let tier = decision["decision"]["tier"].as_str().unwrap_or_default();
    Ok(vec![
        Row::new(
            "the policy compacts",
            summaries == 0,
            format!("at {tier}, {summaries} summary requests"),
        ),
        Row::new(
            "one decision, linked to it",
            decisions == 1 && is_linked,
            format!("{decisions} in the log, {id}"),
        ),
        Row::new(
            "the session continues",
            next.contains(BRIEFING) && next.contains("floats for money"),
            format!("{} bytes in the next request", next.len()),
        ),
    ])
}

/// Without a terminal the agent cannot compact between turns: the decision says so, and the turn is unaffected.
fn headless_row(stage: &Stage<Claude>) -> anyhow::Result<Row> {
    stage.agent.run(&[&format!("{PART}, once more")])?;
    let mut wire = stage.daemon.connect()?;
    let decision = decided(&mut wire, "not_made")?;
    let why = decision.as_ref().and_then(|it| it["not_made"].as_str()).unwrap_or("nothing");
    Ok(Row::new("headless: the log says why", why.contains("headless"), why.to_owned()))
}

/// The newest decision of the log that has this field.
pub(super) fn decided(wire: &mut Wire, field: &str) -> anyhow::Result<Option<Value>> {
    let log = wire.call("policy/log", &json!({}))?;
    let decisions = log["decisions"].as_array().into_iter().flatten();
    Ok(decisions.into_iter().find(|decision| decision[field].is_string()).cloned())
}

pub(super) fn is_over(wire: &mut Wire, decision: &Value) -> anyhow::Result<bool> {
    let params = json!({ "thread_id": decision["thread_id"] });
    Ok(wire.call("policy/evaluate", &params)?["watcher"]["phase"] == "idle")
}
