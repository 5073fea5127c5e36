//! What every tool of our MCP server is asked through an agent, and words its answer must hold.

use anyhow::Context as _;
use serde_json::{Value, json};

use super::compare::Row;
use super::hooks::RULED;
use crate::wire::Wire;

/// A tool, its arguments, and words of its answer.
pub(super) type Call = (&'static str, Value, &'static str);

const NOTE: &str = "The build is run by just, never by make.";

/// The tools, as they are asked in a thread that was read and indexed, in a project that is remembered.
pub(super) fn calls(wire: &mut Wire, thread: &str) -> anyhow::Result<Vec<Call>> {
    let first = json!({ "thread_id": thread, "from_seq": 0, "limit": 50 });
    let items = wire.call("thread/items", &first)?;
    let items = items["items"].as_array().map_or(&[][..], Vec::as_slice);
    let said = items.iter().find(|item| item["excerpt"].to_string().contains(RULED));
    let handle = &said.context("the first task was not read")?["handle"];
    Ok(vec![
        ("checkpoint_view", json!({}), "[SESSION_CHECKPOINT v1]"),
        ("expand", json!({ "handle": handle }), RULED),
        ("context_usage", json!({}), "What fills it"),
        ("thread_search", json!({ "query": "never floats money" }), RULED),
        ("thread_rescue", json!({}), "No thread of this project is blocked."),
        ("memory_search", json!({ "query": "money floats" }), RULED),
        ("memory_read", json!({ "path": "MEMORY.md" }), RULED),
        ("memory_note", json!({ "text": NOTE }), "Noted"),
    ])
}

/// What was noted by a tool is found by everybody.
pub(super) fn noted(wire: &mut Wire) -> anyhow::Result<Row> {
    let found = wire.call("memory/search", &json!({ "query": "build just make" }))?;
    let hits = found["hits"].as_array().map_or(0, Vec::len);
    let is_found = found.to_string().contains(NOTE);
    Ok(Row::told("a note is found again", is_found, format!("{hits} hits")))
}

/// A row about one answer: little of a good one, much of a bad one.
pub(super) fn row(tool: &'static str, answer: &str, wanted: &str) -> Row {
    let holds = answer.contains(wanted);
    Row::told(tool, holds, answer.chars().take(if holds { 60 } else { 600 }).collect())
}
