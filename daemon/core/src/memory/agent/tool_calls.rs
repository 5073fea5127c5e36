//! The answers of the agent: tool calls, and whether it is done.
//!
//! They are structured answers, not native tool calls, because every kind of provider supports those, including local
//! programs.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::model::answer;

/// Maximum tool calls per answer.
const CALLS_MAX: usize = 16;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentAnswer {
    #[serde(default)]
    pub calls: Vec<ToolCall>,
    #[serde(default)]
    pub done: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolName {
    /// List files below `path`.
    List,
    /// Read `lines` lines of `path` from `line` on.
    Read,
    /// Write `text` as the whole of `path`.
    Write,
    /// Replace `text` by `new_text` in `path`.
    Replace,
    /// Find lines below `path` that contain `text`.
    Search,
    /// Delete `path`.
    Delete,
}

/// A tool call; unused arguments are empty.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    pub tool: ToolName,
    #[serde(default)]
    pub path: String,
    #[serde(default)]
    pub text: String,
    #[serde(default)]
    pub new_text: String,
    /// Line, from 1.
    #[serde(default)]
    pub line: u64,
    /// Number of lines; 0 means as many as fit.
    #[serde(default)]
    pub lines: u64,
}

impl AgentAnswer {
    /// Parses an answer. Errors are phrased for the model.
    pub fn read(answer: &str) -> Result<Self, String> {
        let object = answer::object(answer);
        let answer: Self = serde_json::from_str(object).map_err(|error| error.to_string())?;
        match answer.calls.len() {
            0 if !answer.done => Err("neither a call nor done".to_owned()),
            many if many > CALLS_MAX => Err(format!("more than {CALLS_MAX} calls")),
            _ => Ok(answer),
        }
    }
}

/// JSON Schema of an answer, strict.
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
