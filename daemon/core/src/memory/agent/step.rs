//! One step of the agent: which tools it asks for, and whether it is done.
//!
//! A step is a structured answer and not a native tool call, since that is what every kind of provider has, a
//! program on this machine included.

use serde::Deserialize;
use serde_json::{Value, json};

/// Tools of one step.
const CALLS_MAX: usize = 16;

/// A step.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// What it asks for, in order.
    #[serde(default)]
    pub calls: Vec<ToolCall>,
    /// The files are as they should be.
    #[serde(default)]
    pub done: bool,
}

/// A tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolName {
    /// Files below `path`.
    List,
    /// `lines` lines of `path` from `line` on.
    Read,
    /// `text` as the whole of `path`.
    Write,
    /// `new_text` in the place of `text` in `path`.
    Replace,
    /// Lines below `path` that hold `text`.
    Search,
    /// No `path` any more.
    Delete,
}

/// A tool with its arguments; those that it does not need are empty.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// Which.
    pub tool: ToolName,
    /// File or folder.
    #[serde(default)]
    pub path: String,
    /// Words.
    #[serde(default)]
    pub text: String,
    /// Words instead.
    #[serde(default)]
    pub new_text: String,
    /// Line, from 1.
    #[serde(default)]
    pub line: u64,
    /// Number of lines; 0: as many as fit.
    #[serde(default)]
    pub lines: u64,
}

impl Step {
    /// Reads an answer.
    ///
    /// # Errors
    /// Why it is none, for the model.
    pub fn read(answer: &str) -> Result<Self, String> {
        let answer = answer.trim();
        let inside = answer.strip_prefix("```json").or_else(|| answer.strip_prefix("```"));
        let body = inside.and_then(|inside| inside.strip_suffix("```")).unwrap_or(answer);
        let step: Self = serde_json::from_str(body).map_err(|error| error.to_string())?;
        match step.calls.len() {
            0 if !step.done => Err("neither a call nor done".to_owned()),
            many if many > CALLS_MAX => Err(format!("more than {CALLS_MAX} calls")),
            _ => Ok(step),
        }
    }
}

/// JSON Schema of a step, strict.
#[must_use]
pub fn schema() -> Value {
    let tools = ["list", "read", "write", "replace", "search", "delete"];
    let call = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["tool", "path", "text", "new_text", "line", "lines"],
        "properties": {
            "tool": { "type": "string", "enum": tools },
            "path": { "type": "string" },
            "text": { "type": "string" },
            "new_text": { "type": "string" },
            "line": { "type": "integer" },
            "lines": { "type": "integer" },
        },
    });
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["calls", "done"],
        "properties": {
            "calls": { "type": "array", "items": call },
            "done": { "type": "boolean" },
        },
    })
}
