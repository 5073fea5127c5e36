//! The policy in the middle of a turn (`policy.mid_turn`), in the real agents: the turn is compacted before its next
//! request, without a model, and goes on.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::claude;
use super::compare::Row;
use super::gateway::{BRIEFING, OPAQUE, PLAIN, Stage};
use super::hooks::TRUSTED;
use super::mock::{PART, is_compaction, is_summary_request};
use super::policy::decided;
use crate::daemon::Daemon;
use crate::process::Deadline;

/// An emergency needs no sign that a phase has ended; the agent's own limit is far away.
const CONFIG: &str =
    "[policy]\nmode = \"auto\"\nmid_turn = true\n[policy.emergency]\npercent_remaining_lt = 99\n";
const RULE: &str = "Never use floats for money.";

pub(super) fn with_claude(
    longhauld: &Path,
    binary: PathBuf,
    deadline: Deadline,
) -> anyhow::Result<Vec<Row>> {
    let (claude, mock, daemon) = claude::set_up(longhauld, binary, deadline, CONFIG)?;
    claude.install(&longhauld.with_file_name("longhaul"), &daemon)?;
    claude.print(&[&format!("{PART}. {RULE}")])?;
    let steps = ["mid-turn: no model", "mid-turn: the turn goes on", "mid-turn: one decision"];
    let rows = rows(steps, &mock.take(), is_summary_request, &daemon)?;
    daemon.stop()?;
    Ok(rows)
}

/// Through the gateway, in both of its forms.
pub(super) fn with_codex(
    longhauld: &Path,
    binary: &Path,
    limit: Duration,
) -> anyhow::Result<Vec<Row>> {
    let mut all = Vec::new();
    for (form, steps) in [
        (PLAIN, ["mid-turn: no model", "mid-turn: the turn goes on", "mid-turn: one decision"]),
        (
            OPAQUE,
            ["mid-turn: no model, opaque", "mid-turn: goes on, opaque", "mid-turn: one, opaque"],
        ),
    ] {
        let stage = Stage::new(longhauld, binary, limit, form)?;
        let daemon = stage.daemon(longhauld, CONFIG)?;
        stage.longhaul(&daemon, &["install", "codex", "--gateway", "--yes"])?;
        let _gateway = stage.gateway()?;
        stage.mock.take();
        stage.codex.exec(&[TRUSTED, &format!("{PART}, then rename the parser. {RULE}")])?;
        all.extend(rows(steps, &stage.mock.take(), is_compaction, &daemon)?);
        daemon.stop()?;
    }
    Ok(all)
}

fn rows(
    [no_model, turn, decision]: [&'static str; 3],
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
            no_model,
            asked == 0,
            format!("{asked} of {} requests ask for a summary", requests.len()),
        ),
        Row::new(turn, goes_on, format!("{} bytes in the next request", last.len())),
        Row::new(decision, is_tied, format!("{id}: {told}")),
    ])
}
