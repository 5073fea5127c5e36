//! The long-term memory in the real Codex, told to a new session by a hook, and our tools over MCP.

use serde_json::json;

use super::codex::Codex;
use super::compare::Row;
use super::hooks::{RULED, TRUSTED, answer_of, injected};
use super::mock::{Mock, ask};
use super::tools;
use crate::wire::Wire;

/// As `hooks::ATTEMPTS`.
const ATTEMPTS: usize = 3;

pub(super) fn play(
    codex: &Codex,
    mock: &Mock,
    wire: &mut Wire,
    thread: &str,
) -> anyhow::Result<Vec<Row>> {
    let resumed = ("checkpoint at a resume", "resume", "[SESSION_CHECKPOINT v1]");
    let mut rows = vec![
        told(codex, mock, ("memory at a start", "memory", RULED), &["a new task"])?,
        told(codex, mock, resumed, &["resume", thread, "go on"])?,
    ];
    let mut calls = tools::calls(wire, thread)?;
    let summary = json!({ "server": "longhaul", "uri": "longhaul://memory/summary" });
    calls.push(("read_mcp_resource", summary, RULED));
    for (tool, arguments, wanted) in calls {
        let answer = answer_of(codex, mock, &["resume", thread], &ask(tool, &arguments))?;
        rows.push(tools::row(tool, &answer, wanted));
    }
    rows.push(tools::noted(wire)?);
    Ok(rows)
}

/// The first request of a session, new or resumed, holds what a hook of ours is to say about it.
fn told(
    codex: &Codex,
    mock: &Mock,
    of: (&'static str, &str, &str),
    to: &[&str],
) -> anyhow::Result<Row> {
    let (step, about, wanted) = of;
    for _ in 0..ATTEMPTS {
        mock.take();
        codex.exec(&[&[TRUSTED], to].concat())?;
        let requests = mock.take();
        let told = requests.first().and_then(|request| injected(request, about));
        if let Some(text) = told {
            return Ok(Row::told(step, text.contains(wanted), format!("{} bytes", text.len())));
        }
    }
    Ok(Row::failed(step, "the first request does not hold it".to_owned()))
}
