//! Where an undo arrives, and how to go on where no agent is told.

use longhaul_client::Client;
use longhaul_protocol::compaction::{UndoReach, UndoResult};
use longhaul_protocol::thread::{Bill, BillParams};
use serde::Serialize;

use crate::commands::install::setup;

/// What the agent made of a compaction of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Taken {
    /// Its history begins with our view.
    View,
    /// It compacted there in its own way, and our record says what was before.
    ByItself,
    /// Nothing: its session has all of its history.
    NotAtAll,
}

/// How the agent goes on; `None` where nobody can say.
pub(super) async fn taken(client: &Client, undone: &UndoResult) -> Option<Taken> {
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
        Some(_) => Taken::View,
        None if is_own() => Taken::ByItself,
        None => Taken::NotAtAll,
    })
}

/// Where the old history arrives.
pub(super) fn told(undone: &UndoResult, taken: Option<Taken>) -> String {
    if let Some(seq) = undone.restored_seq {
        return format!("the thread has them again since #{seq}\n");
    }
    let (UndoReach::NotAgent, Some(thread_id), Some(seq)) =
        (undone.reach, &undone.thread_id, undone.seq)
    else {
        return String::new();
    };
    let source = undone.source.as_deref();
    let agent = match source {
        Some("claude") => "Claude Code",
        Some("codex") => "Codex",
        Some("gemini") => "Gemini CLI",
        Some("opencode") => "OpenCode",
        _ => "the agent",
    };
    let is = match taken {
        Some(Taken::NotAtAll) => {
            return format!(
                "{agent} did not take this compaction: its session still has all of its history.\n"
            );
        }
        Some(Taken::ByItself) => {
            format!("{agent} is not told: it compacted in its own way, which nothing takes back.")
        }
        Some(Taken::View) | None => format!(
            "{agent} is not told: it keeps a history of its own, so a session that went on\n\
             from the view still does."
        ),
    };
    let by_plugin = match (source, taken) {
        (Some("claude"), Some(Taken::View) | None) if setup::has_plugin() => {
            "\nIn a session that our plugin compacted, type /compact undo: that one takes it back."
        }
        _ => "",
    };
    format!(
        "{is}{by_plugin}\nTo go on from before the compaction, in a new thread with a larger view:\n  \
         longhaul continue {thread_id} --as-of {seq} --max-tokens 16000\n"
    )
}
