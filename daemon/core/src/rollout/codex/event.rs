//! `event_msg` lines: only those that tell what no item tells.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

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
    #[serde(borrow)]
    command: Option<&'a RawValue>,
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
    #[serde(borrow)]
    command: Option<&'a RawValue>,
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
    if let Some(usage) = counted(payload) {
        return Some(Body::Usage(usage));
    }
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
        "exec_command_end" => command_done(call_id, event.command, event.exit_code),
        "item_completed" => event.item.map_or(Body::Passed, completed),
        kind if scan::is_passed_event(kind) => Body::Passed,
        _ => Body::Unknown,
    })
}

/// Reads a `token_count` in the spelling that Codex uses. There is one for each request to the model, and
/// three quarters of it are of no interest: they are not looked at. `None` for any other spelling.
fn counted(payload: &str) -> Option<Usage> {
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
        Some("CommandExecution") => command_done(call_id, item.command, item.exit_code),
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
    command: Option<&RawValue>,
    exit_code: Option<i64>,
) -> Body<'a> {
    let command = match command.and_then(|raw| serde_json::from_str(raw.get()).ok()) {
        Some(Value::String(script)) => script,
        Some(Value::Array(argv)) => {
            shell::script_of(&argv.iter().filter_map(Value::as_str).collect::<Vec<_>>())
        }
        _ => return Body::Passed,
    };
    Body::CommandDone { call_id, command, exit_code }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the parser reads, whatever the spelling.
    fn parsed(payload: &str) -> Usage {
        let event = serde_json::from_str::<Event<'_>>(payload).unwrap();
        reported(event.info.as_ref())
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
            assert_eq!(counted(&payload), is_canonical.then_some(expected), "{payload}");
            let Some(Body::Usage(usage)) = read(&payload) else { panic!("{payload}") };
            assert_eq!(usage, expected, "{payload}");
        }
    }
}
