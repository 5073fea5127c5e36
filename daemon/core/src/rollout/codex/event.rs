//! `event_msg` lines: only those that add something to the items.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::super::patch::{FileOp, Op};
use super::super::{Body, CompactionReport, Usage, shell};
use super::escape::text;
use super::fields::object;
use super::scan;
use crate::thread::TurnFailure;

object! {
    struct Event {
        kind = "type",
        call_id = "call_id",
        success = "success",
        changes = "changes",
        num_turns = "num_turns",
        line = "line",
        command = "command",
        exit_code = "exit_code",
        item = "item",
        started_at_ms = "started_at_ms",
        completed_at_ms = "completed_at_ms",
        info = "info",
        error = "error",
        message = "message",
        codex_error_info = "codex_error_info",
        model_context_window = "model_context_window",
    }
}

object! {
    /// The typed item of the paginated generation.
    struct CompletedItem {
        kind = "type",
        id = "id",
        status = "status",
        changes = "changes",
        command = "command",
        exit_code = "exit_code",
    }
}

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

#[derive(Deserialize)]
struct FileChange {
    #[serde(rename = "type")]
    kind: String,
    content: Option<String>,
    move_path: Option<String>,
}

pub(super) fn read(payload: &str) -> Option<Body<'_>> {
    if let Some(usage) = read_token_count(payload) {
        return Some(Body::Usage(usage));
    }
    let event = Event::of(payload)?;
    let kind = text(event.kind)??;
    Some(match &*kind {
        "token_count" => Body::Usage(reported(value::<TokenInfo>(event.info).as_ref())),
        "task_started" | "turn_started" => {
            let context_window = value(event.model_context_window);
            Body::Usage(Usage { context_window, ..Usage::default() })
        }
        "thread_rolled_back" => Body::RolledBack { turns: value(event.num_turns).unwrap_or(0) },
        "compaction_undone" => Body::CompactionUndone { line: value(event.line)? },
        "error" => match failure(&event) {
            Some(failure) => Body::TurnFailed(failure),
            None => Body::Passed,
        },
        "task_complete" | "turn_complete" => {
            match Event::of(event.error).as_ref().and_then(failure) {
                Some(failure) => Body::TurnFailed(failure),
                None => Body::TurnComplete,
            }
        }
        "turn_aborted" => Body::TurnAborted,
        "patch_apply_end" => {
            let success = value(event.success).unwrap_or(true);
            files_changed(event.call_id, success, event.changes)?
        }
        "exec_command_end" => command_done(event.call_id, event.command, event.exit_code)?,
        "item_completed" if event.item.is_empty() => Body::Passed,
        "item_completed" => completed(&event)?,
        kind if scan::is_passed_event(kind) => Body::Passed,
        _ => Body::Unknown,
    })
}

/// Whether an error says that the history is too long or that it could not be compacted.
fn failure(error: &Event<'_>) -> Option<TurnFailure> {
    let message = text(error.message)??;
    if message.starts_with("Error running remote compact task") {
        return Some(TurnFailure::Compaction);
    }
    let is_full = error.codex_error_info.contains("context_window_exceeded")
        || message.contains("ran out of room in the model's context window");
    is_full.then_some(TurnFailure::ContextFull)
}

/// Parses a value; `None` if it is absent or of another type.
fn value<'a, T: Deserialize<'a>>(json: &'a str) -> Option<T> {
    serde_json::from_str(json).ok()
}

/// Parses a `token_count` in the spelling that Codex uses. There is one for each request to the model, and
/// three quarters of it are not needed: those are skipped. `None` for any other spelling.
fn read_token_count(payload: &str) -> Option<Usage> {
    let totals = payload.strip_prefix(r#"{"type":"token_count","info":{"total_token_usage":{"#)?;
    let last = totals[totals.find('}')?..].strip_prefix(r#"},"last_token_usage":"#)?;
    let end = last.find('}')? + 1;
    let usage = serde_json::from_str::<TokenUsage>(&last[..end]).ok()?;
    let rest = &last[end..];
    let rest = rest.strip_prefix(r#","last_usage_includes_reasoning":false"#).unwrap_or(rest);
    let rest = rest.strip_prefix(r#","model_context_window":"#)?;
    let window = rest[..rest.find(['}', ','])?].parse().ok()?;
    let info = TokenInfo { last_token_usage: Some(usage), model_context_window: Some(window) };
    Some(reported(Some(&info)))
}

/// A report without input tokens is an estimate that the harness made after a compaction.
fn reported(info: Option<&TokenInfo>) -> Usage {
    let Some(info) = info else { return Usage::default() };
    let counted = info.last_token_usage.as_ref().filter(|usage| usage.input_tokens > 0);
    Usage {
        total_tokens: counted.map(|usage| usage.total_tokens.max(usage.input_tokens)),
        input_tokens: counted.map(|usage| usage.input_tokens),
        context_window: info.model_context_window,
        ..Usage::default()
    }
}

fn completed<'a>(event: &Event<'a>) -> Option<Body<'a>> {
    let item = CompletedItem::of(event.item)?;
    match text(item.kind)?.as_deref() {
        Some("ContextCompaction") => {
            let times = (value::<u64>(event.started_at_ms), value::<u64>(event.completed_at_ms));
            let (Some(started), Some(completed)) = times else { return Some(Body::Passed) };
            let duration_ms = completed.checked_sub(started);
            let compaction = Some(CompactionReport { tokens_before: None, duration_ms });
            Some(Body::Usage(Usage { compaction, ..Usage::default() }))
        }
        Some("FileChange") => {
            let is_done = text(item.status)?.is_none_or(|status| status == "completed");
            files_changed(item.id, is_done, item.changes)
        }
        Some("CommandExecution") => command_done(item.id, item.command, item.exit_code),
        _ => Some(Body::Passed),
    }
}

fn files_changed<'a>(call_id: &'a str, success: bool, changes: &str) -> Option<Body<'a>> {
    let call_id = text(call_id)?.unwrap_or_default();
    let changes = match changes {
        "" => BTreeMap::new(),
        changes => value::<BTreeMap<String, FileChange>>(changes)?,
    };
    let changes = changes.into_iter().flat_map(|(path, change)| ops(path, change)).collect();
    Some(Body::FilesChanged { call_id, success, changes })
}

fn ops(path: String, change: FileChange) -> Vec<FileOp> {
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

fn command_done<'a>(call_id: &'a str, command: &str, exit_code: &str) -> Option<Body<'a>> {
    let command = match value(command) {
        Some(Value::String(script)) => script,
        Some(Value::Array(argv)) => {
            shell::script_of(&argv.iter().filter_map(Value::as_str).collect::<Vec<_>>())
        }
        _ => return Some(Body::Passed),
    };
    let call_id = text(call_id)?.unwrap_or_default();
    Some(Body::CommandDone { call_id, command, exit_code: value(exit_code) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the JSON parser reads, for any spelling.
    fn parsed(payload: &str) -> Usage {
        let event = Event::of(payload).unwrap();
        reported(value::<TokenInfo>(event.info).as_ref())
    }

    #[test]
    fn a_count_is_read_as_the_parser_reads_it() {
        let total = r#"{"input_tokens":9000,"output_tokens":60,"total_tokens":9060}"#;
        let last = r#"{"input_tokens":5000,"cached_input_tokens":0,"total_tokens":5060}"#;
        for (info, is_canonical) in [
            (
                format!(
                    r#""total_token_usage":{total},"last_token_usage":{last},"model_context_window":190000"#
                ),
                true,
            ),
            (
                format!(
                    r#""total_token_usage":{total},"last_token_usage":{last},"last_usage_includes_reasoning":false,"model_context_window":190000"#
                ),
                true,
            ),
            (
                format!(
                    r#""total_token_usage":{total},"last_token_usage":{{"input_tokens":0,"total_tokens":700}},"model_context_window":9"#
                ),
                true,
            ),
            (format!(r#""last_token_usage":{last},"total_token_usage":{total}"#), false),
            (
                format!(
                    r#""total_token_usage":{total},"last_token_usage":{last},"model_context_window":null"#
                ),
                false,
            ),
            (
                format!(
                    r#""total_token_usage":{total},"last_token_usage":null,"model_context_window":9"#
                ),
                false,
            ),
        ] {
            let payload =
                format!(r#"{{"type":"token_count","info":{{{info}}},"rate_limits":{{"used":1}}}}"#);
            let expected = parsed(&payload);
            assert_eq!(read_token_count(&payload), is_canonical.then_some(expected), "{payload}");
            let Some(Body::Usage(usage)) = read(&payload) else { panic!("{payload}") };
            assert_eq!(usage, expected, "{payload}");
        }
    }
}
