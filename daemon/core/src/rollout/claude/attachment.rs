//! `attachment` lines: context that the harness adds to the conversation.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::{Body, Images, Role};
use super::{Line, Show, Text, is_aside, show_ended, user_text};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Attachment<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    prompt: Option<&'a RawValue>,
    command_mode: Option<Text<'a>>,
}

/// Shown to the person or kept by the harness, not sent to the model.
const PASSED: [&str; 17] = [
    "auto_mode",
    "auto_mode_exit",
    "command_permissions",
    "compact_file_reference",
    "already_read_file",
    "companion_intro",
    "hook_cancelled",
    "hook_error_during_execution",
    "hook_non_blocking_error",
    "hook_permission_decision",
    "hook_system_message",
    "max_turns_reached",
    "structured_output",
    "token_usage",
    "budget_usd",
    "thinking_effort",
    "ultrathink_effort",
];

/// Sent to the model.
const CONTEXT: [&str; 46] = [
    "agent_listing_delta",
    "agent_mention",
    "async_hook_response",
    "compaction_reminder",
    "critical_system_reminder",
    "current_session_memory",
    "date_change",
    "deferred_tools_delta",
    "diagnostics",
    "directory",
    "dynamic_skill",
    "edited_image_file",
    "edited_text_file",
    "file",
    "hook_additional_context",
    "hook_blocking_error",
    "hook_stopped_continuation",
    "hook_success",
    "image",
    "invoked_skills",
    "mcp_instructions_delta",
    "mcp_resource",
    "nested_memory",
    "opened_file_in_ide",
    "output_style",
    "pdf_reference",
    "plan_file_reference",
    "plan_mode",
    "plan_mode_exit",
    "plan_mode_reentry",
    "relevant_memories",
    "selected_lines_in_ide",
    "selected_lines_in_diff",
    "skill_discovery",
    "skill_listing",
    "task_progress",
    "task_reminder",
    "task_status",
    "team_context",
    "teammate_mailbox",
    "teammate_shutdown_batch",
    "todo",
    "todo_reminder",
    "ultramemory",
    "verify_plan_reminder",
    "text",
];

pub(super) fn read(line: &Line<'_>, raw: &RawValue, show: &mut Show<'_>) {
    let Ok(attachment) = serde_json::from_str::<Attachment<'_>>(raw.get()) else {
        return show(Body::Unknown);
    };
    let kind = attachment.kind.0.as_ref();
    if is_aside(line) || PASSED.contains(&kind) {
        return show(Body::Passed);
    }
    if kind == "queued_command" {
        return read_queued_message(line, &attachment, show);
    }
    if !CONTEXT.contains(&kind) {
        return show(Body::Unknown);
    }
    let mut text = String::new();
    if let Ok(Value::Object(fields)) = serde_json::from_str(raw.get()) {
        let values = fields.iter().filter(|(key, _)| !LABELS.contains(&key.as_str()));
        values.for_each(|(_, value)| words_of(value, &mut text));
    }
    match text.is_empty() {
        true => show(Body::Passed),
        false => show(Body::message(Role::Developer, text, Images::default())),
    }
}

/// Fields that name the attachment and are not shown to the model.
const LABELS: [&str; 6] =
    ["type", "toolUseID", "hookName", "hookEvent", "displayPath", "itemCount"];

/// A message that the person typed while the agent was busy, or a notice that arrived then. No other line has
/// its text.
fn read_queued_message(line: &Line<'_>, attachment: &Attachment<'_>, show: &mut Show<'_>) {
    let mut text = String::new();
    if let Some(prompt) = attachment.prompt
        && let Ok(prompt) = serde_json::from_str::<Value>(prompt.get())
    {
        words_of(&prompt, &mut text);
    }
    let mode = attachment.command_mode.as_ref().map_or("prompt", |mode| mode.0.as_ref());
    match (text.is_empty(), mode) {
        (true, _) => show(Body::Passed),
        (false, "prompt") => user_text(line, &text, Images::default(), show),
        _ => {
            show_ended(&text, show);
            show(Body::message(Role::Developer, text, Images::default()));
        }
    }
}

/// All strings in a value, one per line, without image data.
fn words_of(value: &Value, out: &mut String) {
    match value {
        Value::String(text) if !text.is_empty() => {
            if !out.is_empty() {
                out.push('\n');
            }
            out.push_str(text);
        }
        Value::Array(items) => items.iter().for_each(|item| words_of(item, out)),
        Value::Object(fields) => {
            let shown = |key: &str| !matches!(key, "type" | "data" | "base64" | "media_type");
            fields.iter().filter(|(key, _)| shown(key)).for_each(|(_, item)| words_of(item, out));
        }
        _ => {}
    }
}
