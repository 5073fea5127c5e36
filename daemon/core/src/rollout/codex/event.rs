//! `event_msg` lines: only those that tell what no item tells.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::super::patch::{FileOp, Op};
use super::super::{Body, Usage, scan, shell};
use super::Text;

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    call_id: Option<Text<'a>>,
    success: Option<bool>,
    changes: Option<BTreeMap<String, Change>>,
    num_turns: Option<u64>,
    command: Option<Value>,
    exit_code: Option<i64>,
    #[serde(borrow)]
    item: Option<CompletedItem<'a>>,
    info: Option<TokenInfo>,
    model_context_window: Option<u64>,
}

/// What a `token_count` tells.
#[derive(Deserialize)]
struct TokenInfo {
    last_token_usage: Option<TokenUsage>,
    model_context_window: Option<u64>,
}

#[derive(Deserialize)]
struct TokenUsage {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    total_tokens: u64,
}

/// The typed item of the paginated generation.
#[derive(Deserialize)]
struct CompletedItem<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    status: Option<Text<'a>>,
    changes: Option<BTreeMap<String, Change>>,
    command: Option<Value>,
    exit_code: Option<i64>,
}

#[derive(Deserialize)]
struct Change {
    #[serde(rename = "type")]
    kind: String,
    content: Option<String>,
    move_path: Option<String>,
}

/// Reads an event's payload.
pub(super) fn read(payload: &str) -> Option<Body<'_>> {
    let event = serde_json::from_str::<Event<'_>>(payload).ok()?;
    let call_id = event.call_id.map(|id| id.0).unwrap_or_default();
    Some(match event.kind.0.as_ref() {
        "token_count" => Body::Usage(reported(event.info.as_ref())),
        "task_started" | "turn_started" => {
            Body::Usage(Usage { total_tokens: None, context_window: event.model_context_window })
        }
        "thread_rolled_back" => Body::RolledBack { turns: event.num_turns.unwrap_or(0) },
        "task_complete" | "turn_complete" => Body::TurnComplete,
        "turn_aborted" => Body::TurnAborted,
        "patch_apply_end" => {
            files_changed(call_id, event.success.unwrap_or(true), event.changes.unwrap_or_default())
        }
        "exec_command_end" => command_done(call_id, event.command.as_ref(), event.exit_code),
        "item_completed" => event.item.map_or(Body::Passed, completed),
        kind if scan::is_passed_event(kind) => Body::Passed,
        _ => Body::Unknown,
    })
}

/// A report without input tokens is an estimate of the harness, made after a compaction.
fn reported(info: Option<&TokenInfo>) -> Usage {
    let Some(info) = info else { return Usage::default() };
    let counted = info.last_token_usage.as_ref().filter(|usage| usage.input_tokens > 0);
    Usage {
        total_tokens: counted.map(|usage| usage.total_tokens.max(usage.input_tokens)),
        context_window: info.model_context_window,
    }
}

fn completed(item: CompletedItem<'_>) -> Body<'_> {
    let call_id = item.id.map(|id| id.0).unwrap_or_default();
    match item.kind.as_ref().map(|kind| kind.0.as_ref()) {
        Some("FileChange") => {
            let success = item.status.is_none_or(|status| status.0 == "completed");
            files_changed(call_id, success, item.changes.unwrap_or_default())
        }
        Some("CommandExecution") => command_done(call_id, item.command.as_ref(), item.exit_code),
        _ => Body::Passed,
    }
}

fn files_changed(
    call_id: Cow<'_, str>,
    success: bool,
    changes: BTreeMap<String, Change>,
) -> Body<'_> {
    let changes = changes.into_iter().flat_map(|(path, change)| ops(path, change)).collect();
    Body::FilesChanged { call_id, success, changes }
}

fn ops(path: String, change: Change) -> Vec<FileOp> {
    let op = match change.kind.as_str() {
        "add" => Op::Created { content: change.content },
        "delete" => Op::Deleted,
        _ => Op::Edited,
    };
    match change.move_path {
        Some(to) => vec![FileOp::new(path, Op::Deleted), FileOp::new(to, Op::Edited)],
        None => vec![FileOp::new(path, op)],
    }
}

fn command_done<'a>(
    call_id: Cow<'a, str>,
    command: Option<&Value>,
    exit_code: Option<i64>,
) -> Body<'a> {
    let command = match command {
        Some(Value::String(script)) => script.clone(),
        Some(Value::Array(argv)) => {
            shell::script_of(&argv.iter().filter_map(Value::as_str).collect::<Vec<_>>())
        }
        _ => return Body::Passed,
    };
    Body::CommandDone { call_id, command, exit_code }
}
