//! Classifies an item for pairing: half of a pair, or neither.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::json;

/// Calls and their outputs share a family; ids are unique within one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Family {
    /// `function_call` and `local_shell_call`, answered by `function_call_output`.
    Function,
    Custom,
    ToolSearch,
    Shell,
    ApplyPatch,
    Computer,
    /// `mcp_approval_request`, answered by `mcp_approval_response`.
    McpApproval,
}

/// Unpaired kinds of the Responses API, besides messages and encrypted items.
const ALONE: [&str; 7] = [
    "web_search_call",
    "file_search_call",
    "image_generation_call",
    "code_interpreter_call",
    "mcp_call",
    "mcp_list_tools",
    "item_reference",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PairRole {
    Call(Family),
    Output(Family),
    None,
}

#[derive(Deserialize, Default)]
#[serde(bound(deserialize = "'de: 'a"))]
struct ItemKeys<'a> {
    #[serde(rename = "type")]
    kind: Option<BorrowedText<'a>>,
    id: Option<BorrowedText<'a>>,
    call_id: Option<BorrowedText<'a>>,
    approval_request_id: Option<BorrowedText<'a>>,
    role: Option<BorrowedText<'a>>,
    execution: Option<BorrowedText<'a>>,
    encrypted_content: Option<BorrowedText<'a>>,
}

/// A string that borrows if it has no escapes.
#[derive(Deserialize)]
#[serde(transparent)]
struct BorrowedText<'a>(#[serde(borrow)] Cow<'a, str>);

/// The keys of an item that decide how it is normalized.
#[derive(Debug)]
pub(super) struct Head<'a> {
    pub(super) part: PairRole,
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) pair_id: Option<Cow<'a, str>>,
    kind: Cow<'a, str>,
    is_server: bool,
    pub(super) is_user: bool,
    has_role: bool,
    is_sealed: bool,
}

impl<'a> Head<'a> {
    /// Accepts any content; an unknown form has no pair role.
    pub(super) fn of(item: &'a str) -> Self {
        let wire: ItemKeys<'a> = serde_json::from_str(item).unwrap_or_default();
        let kind = wire.kind.map_or(Cow::Borrowed(""), |kind| kind.0);
        let part = part_of(&kind);
        let id = wire.id.map(|id| id.0);
        let pair_id = match part {
            PairRole::Call(Family::McpApproval) => id.clone(),
            PairRole::Output(Family::McpApproval) => wire.approval_request_id.map(|id| id.0),
            _ => wire.call_id.map(|id| id.0),
        };
        Self {
            part,
            id,
            pair_id,
            kind,
            is_server: wire.execution.is_some_and(|execution| execution.0 == "server"),
            has_role: wire.role.is_some(),
            is_user: wire.role.is_some_and(|role| role.0 == "user"),
            is_sealed: wire.encrypted_content.is_some_and(|content| !content.0.is_empty()),
        }
    }

    pub(super) fn call_id(&self) -> Option<String> {
        self.pair_id.as_deref().map(str::to_owned)
    }

    pub(super) fn is_output(&self) -> bool {
        matches!(self.part, PairRole::Output(_))
    }

    /// Used only by the program that wrote it.
    pub(super) fn is_invisible(&self) -> bool {
        matches!(self.kind.as_ref(), "ghost_snapshot" | "compaction_trigger")
    }

    /// Whether the input of a request may contain it. The provider would look up reasoning that is not
    /// encrypted, but it was asked to store nothing.
    pub(super) fn is_sendable(&self) -> bool {
        match self.kind.as_ref() {
            "" | "message" => self.has_role,
            "reasoning" | "compaction" | "compaction_summary" | "context_compaction" => {
                self.is_sealed
            }
            kind => self.part != PairRole::None || ALONE.contains(&kind),
        }
    }

    pub(super) fn needs_id(&self) -> bool {
        matches!(
            self.kind.as_ref(),
            "image_generation_call" | "item_reference" | "mcp_approval_request"
        )
    }

    /// Whether it is valid without a counterpart: a shell call without an id has its own status, and a server
    /// executes its own searches.
    pub(super) fn stands_alone(&self) -> bool {
        match self.part {
            PairRole::Call(Family::Function) => {
                self.pair_id.is_none() && self.kind == "local_shell_call"
            }
            PairRole::Call(Family::ToolSearch) => self.pair_id.is_none(),
            PairRole::Output(Family::ToolSearch) => self.pair_id.is_none() || self.is_server,
            PairRole::Call(_) | PairRole::Output(_) => false,
            PairRole::None => true,
        }
    }

    /// The output of a call that was aborted; `None` if none can be synthesized.
    pub(super) fn aborted_output(&self) -> Option<String> {
        let call_id = self.pair_id.as_deref()?;
        let text = |kind: &str| json!({"type": kind, "call_id": call_id, "output": "aborted"});
        let output = match self.part {
            PairRole::Call(Family::Function) => text("function_call_output"),
            PairRole::Call(Family::Custom) => text("custom_tool_call_output"),
            PairRole::Call(Family::ApplyPatch) => json!({
                "type": "apply_patch_call_output", "call_id": call_id,
                "status": "failed", "output": "aborted",
            }),
            PairRole::Call(Family::ToolSearch) => json!({
                "type": "tool_search_output", "call_id": call_id,
                "status": "completed", "execution": "client", "tools": [],
            }),
            PairRole::Call(Family::Shell) => json!({
                "type": "shell_call_output", "call_id": call_id,
                "output": [{"stdout": "", "stderr": "aborted", "outcome": {"type": "timeout"}}],
            }),
            PairRole::Call(Family::Computer | Family::McpApproval)
            | PairRole::Output(_)
            | PairRole::None => {
                return None;
            }
        };
        Some(output.to_string())
    }
}

/// Calls that contain their result (`web_search_call`, `mcp_call`, `image_generation_call`,
/// `code_interpreter_call`, `file_search_call`) are not half of a pair.
fn part_of(kind: &str) -> PairRole {
    match kind {
        "function_call" | "local_shell_call" => PairRole::Call(Family::Function),
        "function_call_output" | "mcp_tool_call_output" | "local_shell_call_output" => {
            PairRole::Output(Family::Function)
        }
        "custom_tool_call" => PairRole::Call(Family::Custom),
        "custom_tool_call_output" => PairRole::Output(Family::Custom),
        "tool_search_call" => PairRole::Call(Family::ToolSearch),
        "tool_search_output" => PairRole::Output(Family::ToolSearch),
        "shell_call" => PairRole::Call(Family::Shell),
        "shell_call_output" => PairRole::Output(Family::Shell),
        "apply_patch_call" => PairRole::Call(Family::ApplyPatch),
        "apply_patch_call_output" => PairRole::Output(Family::ApplyPatch),
        "computer_call" => PairRole::Call(Family::Computer),
        "computer_call_output" => PairRole::Output(Family::Computer),
        "mcp_approval_request" => PairRole::Call(Family::McpApproval),
        "mcp_approval_response" => PairRole::Output(Family::McpApproval),
        _ => PairRole::None,
    }
}
