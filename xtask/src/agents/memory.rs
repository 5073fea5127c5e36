//! Long-term memory in the real Codex: a hook's text at the start of a session, and our tools over MCP.

use serde_json::json;

use super::codex::Codex;
use super::compare::Row;
use super::hooks::{ATTEMPTS, RULE_EXCERPT, TRUSTED, answer_of, injected};
use super::mock::{Mock, ask};
use super::tools;
use crate::wire::Wire;

pub(super) fn play(
    codex: &Codex,
    mock: &Mock,
    wire: &mut Wire,
    thread: &str,
) -> anyhow::Result<Vec<Row>> {
    let resumed = ("checkpoint at a resume", "resume", "[SESSION_CHECKPOINT v1]");
    let mut rows = vec![
        hook_row(codex, mock, ("memory at a start", "memory", RULE_EXCERPT), &["a new task"])?,
        hook_row(codex, mock, resumed, &["resume", thread, "go on"])?,
    ];
    let mut calls = tools::calls(wire, thread)?;
    let summary = json!({ "server": "longhaul", "uri": "longhaul://memory/summary" });
    calls.push(("read_mcp_resource", summary, RULE_EXCERPT));
    for (tool, arguments, wanted) in calls {
        let answer = answer_of(codex, mock, &["resume", thread], &ask(tool, &arguments))?;
        rows.push(tools::row(tool, &answer, wanted));
    }
    rows.push(tools::note_row(wire)?);
    Ok(rows)
}

/// Checks that the first request of a session, new or resumed, contains a hook's text.
fn hook_row(
    codex: &Codex,
    mock: &Mock,
    (step, about, wanted): (&'static str, &str, &str),
    arguments: &[&str],
) -> anyhow::Result<Row> {
    for _ in 0..ATTEMPTS {
        mock.take();
        codex.exec(&[&[TRUSTED], arguments].concat())?;
        let requests = mock.take();
        if let Some(text) = requests.first().and_then(|request| injected(request, about)) {
            return Ok(Row::new(step, text.contains(wanted), format!("{} bytes", text.len())));
        }
    }
    Ok(Row::failed(step, "the first request does not contain it".to_owned()))
}
