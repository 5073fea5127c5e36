//! The policy in the middle of a turn (`policy.mid_turn`), in the real agents: the turn is compacted before its next
//! request, without a model, and goes on.

use anyhow::Context as _;
use serde_json::{Value, json};

use super::claude::Claude;
use super::codex::Codex;
use super::compare::Row;
use super::gateway::{BRIEFING, Form};
use super::mock::{PART, is_compaction, is_summary_request};
use super::policy::decided;
use super::stage::Stage;
use crate::daemon::Daemon;

/// An emergency needs no sign that a phase has ended; the agent's own limit is far away.
pub(super) const CONFIG: &str =
    "[policy]\nmode = \"auto\"\nmid_turn = true\n[policy.emergency]\npercent_remaining_lt = 99\n";
const RULE: &str = "Never use floats for money.";

pub(super) fn with_claude(stage: Stage<Claude>) -> anyhow::Result<Vec<Row>> {
    stage.install(&[])?;
    let requests = stage.requests(&[&format!("{PART}. {RULE}")])?;
    let rows = rows(&requests, is_summary_request, &stage.daemon)?;
    stage.daemon.stop()?;
    Ok(rows)
}

/// Through the gateway.
pub(super) fn with_codex(stage: Stage<Codex>, form: Form) -> anyhow::Result<Vec<Row>> {
    stage.select(form)?;
    let _gateway = stage.install_gateway()?;
    let prompt = format!("{PART}, then rename the parser. {RULE}");
    let rows = rows(&stage.requests_with_hooks(&[&prompt])?, is_compaction, &stage.daemon)?;
    stage.daemon.stop()?;
    Ok(rows)
}

fn rows(
    requests: &[Value],
    is_asked: fn(&Value) -> bool,
    daemon: &Daemon,
) -> anyhow::Result<Vec<Row>> {
    let asked = requests.iter().filter(|request| is_asked(request)).count();
    let last = requests.last().context("no request was sent")?.to_string();
    let goes_on = last.contains(BRIEFING) && last.contains(RULE);
    let mut wire = daemon.connect()?;
    let found = decided(&mut wire, "compaction_id")?;
    let id = found.as_ref().and_then(|found| found["compaction_id"].as_str()).unwrap_or("none");
    let told = match &found {
        Some(_) => wire.call("compaction/get", &json!({ "compaction_id": id }))?["policy"].clone(),
        None => wire.call("policy/log", &json!({}))?,
    };
    let is_tied = found.as_ref().is_some_and(|found| {
        told["point"] == "mid_turn" && told["decision_id"] == found["decision"]["decision_id"]
    });
    Ok(vec![
        Row::new(
            "mid-turn: no model",
            asked == 0,
            format!("{asked} of {} requests ask for a summary", requests.len()),
        ),
        Row::new(
            "mid-turn: the turn goes on",
            goes_on,
            format!("{} bytes in the next request", last.len()),
        ),
        Row::new("mid-turn: one decision", is_tied, format!("{id}: {told}")),
    ])
}
