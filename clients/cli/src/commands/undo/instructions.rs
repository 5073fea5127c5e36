//! Where an undo took effect, and how to continue where it did not.

use longhaul_protocol::compaction::{UndoReach, UndoResult};
use longhaul_protocol::thread::AgentUse;

use crate::commands::install::setup;

/// Where the old history is in effect, and how to continue from it elsewhere.
pub(super) fn instructions(undone: &UndoResult, taken: Option<AgentUse>) -> String {
    if let Some(seq) = undone.restored_seq {
        return format!("the thread uses it again since #{seq}\n");
    }
    if was_only_shown(undone) {
        return "this compaction was only shown: nothing changed in the thread\n".to_owned();
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
                "{agent} did not use this compaction: nothing changed in its session.\n"
            );
        }
        Some(AgentUse::ByItself) => {
            format!("{agent} made its own compaction, which cannot be undone.")
        }
        Some(AgentUse::View | AgentUse::Unknown) | None => {
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

/// Whether it was a compaction of a thread of ours that was not installed.
pub(super) fn was_only_shown(undone: &UndoResult) -> bool {
    undone.reach == UndoReach::Caller && undone.thread_id.is_some()
}
