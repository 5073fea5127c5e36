//! Calls of every tool of our MCP server through an agent, with a text that each answer must contain.

use anyhow::Context as _;
use serde_json::{Value, json};

use super::compare::Row;
use super::hooks::RULE_EXCERPT;
use crate::wire::Wire;

/// A tool, its arguments, and a text that the answer must contain.
pub(super) type Call = (&'static str, Value, &'static str);

const NOTE: &str = "The build is run by just, never by make.";

/// Calls of all tools, for an indexed thread of a project with memory.
pub(super) fn calls(wire: &mut Wire, thread: &str) -> anyhow::Result<Vec<Call>> {
    let first = json!({ "thread_id": thread, "from_seq": 0, "limit": 50 });
    let items = wire.call("thread/items", &first)?;
    let items = items["items"].as_array().map_or(&[][..], Vec::as_slice);
    let request = items.iter().find(|item| item["excerpt"].to_string().contains(RULE_EXCERPT));
    let handle = &request.context("the first task was not read")?["handle"];
    Ok(vec![
        ("checkpoint_view", json!({}), "[SESSION_CHECKPOINT v1]"),
        ("expand", json!({ "handle": handle }), RULE_EXCERPT),
        ("context_usage", json!({}), "What fills it"),
        ("thread_search", json!({ "query": "never floats money" }), RULE_EXCERPT),
        ("thread_rescue", json!({}), "No thread of this project is blocked."),
        ("memory_search", json!({ "query": "money floats" }), RULE_EXCERPT),
        ("memory_read", json!({ "path": "MEMORY.md" }), RULE_EXCERPT),
        ("memory_note", json!({ "text": NOTE }), "Noted"),
    ])
}

/// Checks that a search finds the note that the tool added.
pub(super) fn note_row(wire: &mut Wire) -> anyhow::Result<Row> {
    let result = wire.call("memory/search", &json!({ "query": "build just make" }))?;
    let hits = result["hits"].as_array().map_or(0, Vec::len);
    let is_found = result.to_string().contains(NOTE);
    Ok(Row::new("search finds the note", is_found, format!("{hits} hits")))
}

/// A row about an answer. It quotes more of a wrong one.
pub(super) fn row(tool: &str, answer: &str, wanted: &str) -> Row {
    let is_complete = answer.contains(wanted);
    Row::new(tool, is_complete, answer.chars().take(if is_complete { 60 } else { 600 }).collect())
}
