//! The long-term memory in the real Codex: told to a new session by a hook, searched, read and written over MCP.

use serde_json::{Value, json};

use super::codex::Codex;
use super::compare::Row;
use super::hooks::{RULED, TRUSTED, answer_of, injected};
use super::mock::{Mock, ask};
use crate::wire::Wire;

/// As `hooks::ATTEMPTS`.
const ATTEMPTS: usize = 3;
const NOTE: &str = "The build is run by just, never by make.";

pub(super) fn play(codex: &Codex, mock: &Mock, wire: &mut Wire) -> anyhow::Result<Vec<Row>> {
    let mut rows = vec![told_at_start(codex, mock)?];
    let resource = json!({ "server": "longhaul", "uri": "longhaul://memory/summary" });
    for (tool, arguments, wanted) in [
        ("memory_search", json!({ "query": "money floats" }), RULED),
        ("memory_read", json!({ "path": "MEMORY.md" }), RULED),
        ("memory_note", json!({ "text": NOTE }), "Noted"),
        ("read_mcp_resource", resource, RULED),
    ] {
        let answer = answer_of(codex, mock, &[], &ask(tool, &arguments))?;
        let holds = answer.contains(wanted);
        let shown = answer.chars().take(if holds { 60 } else { 600 }).collect();
        rows.push(Row::told(tool, holds, shown));
    }
    let found = wire.call("memory/search", &json!({ "query": "build just make" }))?;
    rows.push(Row::told("a note is found again", found.to_string().contains(NOTE), hits(&found)));
    Ok(rows)
}

/// The first request of a new session holds what earlier ones left.
fn told_at_start(codex: &Codex, mock: &Mock) -> anyhow::Result<Row> {
    let step = "memory at a start";
    for _ in 0..ATTEMPTS {
        mock.take();
        codex.exec(&[TRUSTED, "a new task"])?;
        let requests = mock.take();
        let told = requests.first().and_then(|request| injected(request, "memory"));
        if let Some(text) = told {
            return Ok(Row::told(step, text.contains(RULED), format!("{} bytes", text.len())));
        }
    }
    Ok(Row::failed(step, "the first request does not hold it".to_owned()))
}

fn hits(found: &Value) -> String {
    format!("{} hits", found["hits"].as_array().map_or(0, Vec::len))
}
