//! Checkpoint and memory in a real agent: a hook's text at the start of a session, and our tools over MCP.

use serde_json::json;

use super::compare::Row;
use super::hooks::{ATTEMPTS, RULE_EXCERPT};
use super::mock::ask;
use super::stage::{Stage, TestedAgent};
use super::tools;
use crate::wire::Wire;

/// `thread` is the one in which the rule was stated.
pub(super) fn play<A: TestedAgent>(
    stage: &Stage<A>,
    wire: &mut Wire,
    thread: &str,
) -> anyhow::Result<Vec<Row>> {
    let resuming = A::resuming(thread);
    let started = ("memory at a start", "memory", RULE_EXCERPT);
    let resumed = ("checkpoint at a resume", "resume", "[SESSION_CHECKPOINT v1]");
    let mut rows = vec![
        hook_row(stage, started, &["a new task"])?,
        hook_row(stage, resumed, &[&resuming[..], &["go on"]].concat())?,
    ];
    let mut calls = tools::calls(wire, thread)?;
    let summary = json!({ "server": "longhaul", "uri": "longhaul://memory/summary" });
    calls.push((A::RESOURCE_TOOL, summary, RULE_EXCERPT));
    for (tool, arguments, wanted) in calls {
        let prompt = ask(tool, &arguments);
        let requests = stage.requests_with_hooks(&[&resuming[..], &[&prompt]].concat())?;
        rows.push(tools::row(tool, &A::tool_answer(&requests).unwrap_or_default(), wanted));
    }
    rows.push(tools::note_row(wire)?);
    Ok(rows)
}

/// Checks that a session, new or resumed, receives a hook's text.
fn hook_row<A: TestedAgent>(
    stage: &Stage<A>,
    (step, about, wanted): (&str, &str, &str),
    arguments: &[&str],
) -> anyhow::Result<Row> {
    for _ in 0..ATTEMPTS {
        let requests = stage.requests_with_hooks(arguments)?;
        if let Some(text) = A::hook_text(&requests, about).filter(|text| text.contains(wanted)) {
            return Ok(Row::new(step, true, format!("{} bytes", text.len())));
        }
    }
    Ok(Row::failed(step, "the first request does not contain it".to_owned()))
}
