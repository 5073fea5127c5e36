//! Lines outside the conversation: those with content, those to skip, unknown ones.

use std::borrow::Cow;

use serde::Deserialize;

use super::super::{Body, CompactionReport, TitleBy, Usage};
use super::{Line, Text, is_aside};

/// Kinds of line without anything that a thread's state needs: modes, queues, undo snapshots, progress of
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

/// Kinds of `system` line; all are shown to the person, none is sent to the model.
const SYSTEM: [&str; 19] = [
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
        "system" => system(line.subtype.as_ref().map_or("", |kind| kind.0.as_ref()), line),
        kind if PASSED.contains(&kind) => Body::Passed,
        _ => Body::Unknown,
    }
}

/// What a compaction reports of the window and of itself; one that the agent starts by itself happens at its
/// limit.
fn compacted(line: &Line<'_>) -> Option<Usage> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Metadata<'a> {
        #[serde(borrow)]
        trigger: Option<Text<'a>>,
        pre_tokens: Option<u64>,
        duration_ms: Option<u64>,
    }
    let metadata = line.compact_metadata.filter(|_| !is_aside(line))?;
    let metadata = serde_json::from_str::<Metadata<'_>>(metadata.get()).ok()?;
    let is_own = metadata.trigger.is_some_and(|trigger| trigger.0 == "auto");
    let tokens_before = Some(metadata.pre_tokens?);
    let compaction = Some(CompactionReport { tokens_before, duration_ms: metadata.duration_ms });
    let compacted_at = tokens_before.filter(|_| is_own);
    Some(Usage { compacted_at, compaction, ..Usage::default() })
}

/// A turn is complete when its hooks ran or its duration is reported.
fn system<'a>(subtype: &str, line: &Line<'_>) -> Body<'a> {
    match subtype {
        "compact_boundary" => compacted(line).map_or(Body::Passed, Body::Usage),
        "stop_hook_summary" | "turn_duration" => Body::TurnComplete,
        subtype if subtype.is_empty() || SYSTEM.contains(&subtype) => Body::Passed,
        _ => Body::Unknown,
    }
}
