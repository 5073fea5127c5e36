//! Lines beside the conversation: which tell something, which hold nothing, which are unknown.

use std::borrow::Cow;

use super::super::{Body, TitleBy};
use super::{Line, Text};

/// Kinds of line that hold nothing a thread's state needs: modes, queues, undo snapshots, progress of
/// running tools, notes of the harness to itself.
const PASSED: [&str; 22] = [
    "progress",
    "file-history-snapshot",
    "queue-operation",
    "last-prompt",
    "mode",
    "permission-mode",
    "pr-link",
    "tag",
    "agent-name",
    "agent-color",
    "agent-setting",
    "worktree-state",
    "content-replacement",
    "attribution-snapshot",
    "speculation-accept",
    "task-summary",
    "marble-origami-commit",
    "marble-origami-snapshot",
    "context-collapse-commit",
    "context-collapse-snapshot",
    "bridge-session",
    "started",
];

/// Kinds of `system` line; all are for the person's eyes, none is sent to the model.
const SYSTEM: [&str; 20] = [
    "compact_boundary",
    "microcompact_boundary",
    "api_error",
    "api_metrics",
    "away_summary",
    "agents_killed",
    "bridge_status",
    "file_snapshot",
    "informational",
    "init",
    "local_command",
    "memory_saved",
    "permission_retry",
    "scheduled_task_fire",
    "snip_boundary",
    "snip_marker",
    "status",
    "stop_hook_summary",
    "thinking",
    "turn_duration",
];

pub(super) fn of<'a>(line: &'a Line<'_>, kind: &str) -> Body<'a> {
    let title = |words: &'a Option<Text<'_>>, by| match words {
        Some(words) if !words.0.trim().is_empty() => {
            Body::Title { words: Cow::Borrowed(words.0.as_ref()), by }
        }
        _ => Body::Passed,
    };
    match kind {
        "custom-title" => title(&line.custom_title, TitleBy::Person),
        "ai-title" => title(&line.ai_title, TitleBy::Model),
        "summary" => title(&line.summary, TitleBy::Summary),
        "system" => system(line.subtype.as_ref().map_or("", |kind| kind.0.as_ref())),
        kind if PASSED.contains(&kind) => Body::Passed,
        _ => Body::Unknown,
    }
}

/// A turn is over when its hooks ran or its time was taken.
fn system<'a>(subtype: &str) -> Body<'a> {
    match subtype {
        "stop_hook_summary" | "turn_duration" => Body::TurnComplete,
        subtype if subtype.is_empty() || SYSTEM.contains(&subtype) => Body::Passed,
        _ => Body::Unknown,
    }
}
