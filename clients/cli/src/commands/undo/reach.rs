//! Where an undo took effect, and how to continue where it did not.

use longhaul_client::Client;
use longhaul_protocol::compaction::{UndoReach, UndoResult};
use longhaul_protocol::thread::{Bill, BillParams};
use serde::Serialize;

use crate::commands::install::setup;

/// How the agent used a compaction of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AgentUse {
    /// Its history begins with our view.
    View,
    /// It compacted by itself at that point; our record has the history before.
    ByItself,
    /// It did not use the compaction; its session still has the whole history.
    NotAtAll,
}

/// `None` if unknown.
pub(super) async fn taken(client: &Client, undone: &UndoResult) -> Option<AgentUse> {
    let (UndoReach::NotAgent, Some(thread_id), Some(seq)) =
        (undone.reach, &undone.thread_id, undone.seq)
    else {
        return None;
    };
    let bill = client.call::<Bill>(BillParams { thread_id: thread_id.clone() }).await.ok()?;
    let is_this = |id: &str| id == undone.compaction_id;
    let cost = bill.compactions.iter().find(|cost| is_this(&cost.summary.compaction_id))?;
    let is_own = || bill.agent_compactions.iter().any(|own| own.seq > seq);
    Some(match cost.in_force_seq {
        Some(_) => AgentUse::View,
        None if is_own() => AgentUse::ByItself,
        None => AgentUse::NotAtAll,
    })
}

/// Where the old history is in effect, and how to continue from it elsewhere.
pub(super) fn instructions(undone: &UndoResult, taken: Option<AgentUse>) -> String {
    if let Some(seq) = undone.restored_seq {
        return format!("the thread uses it again since #{seq}\n");
    }
    let (UndoReach::NotAgent, Some(thread_id), Some(seq)) =
        (undone.reach, &undone.thread_id, undone.seq)
    else {
        return String::new();
    };
    let agent = undone.agent.as_deref().unwrap_or("the agent");
    let is = match taken {
        Some(AgentUse::NotAtAll) => {
            return format!(
                "{agent} did not use this compaction: its session still has its whole history.\n"
            );
        }
        Some(AgentUse::ByItself) => {
            format!("{agent} made its own compaction, which cannot be undone.")
        }
        Some(AgentUse::View) | None => {
            format!("{agent} still uses the compacted history in a session that continued from it.")
        }
    };
    let by_plugin = match (undone.source.as_deref(), taken) {
        (Some("claude"), Some(AgentUse::View) | None) if setup::has_plugin() => {
            format!(
                "\nIf our plugin compacted the session, type /compact undo there; if it is closed:\n  \
                 claude --resume {thread_id} \"/compact undo\""
            )
        }
        _ => String::new(),
    };
    format!(
        "{is}{by_plugin}\nTo continue from before the compaction, in a new thread with a larger view:\n  \
         longhaul continue {thread_id} --as-of {seq} --max-tokens 16000\n"
    )
}
