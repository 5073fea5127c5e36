//! Where an undo took effect, and how to continue where it did not.

use longhaul_client::Client;
use longhaul_protocol::compaction::{CompactionSummary, UndoReach, UndoResult};
use longhaul_protocol::thread::{AgentCompaction, Bill, BillParams, CompactionCost};
use serde::Serialize;

use crate::commands::install::setup;

/// How the agent used a compaction of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AgentUse {
    /// Its history begins with our view.
    View,
    /// It compacted by itself after ours; our record has the history before.
    ByItself,
    /// It did not use the compaction, which was only shown.
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
    Some(use_of(cost, seq, &bill.agent_compactions))
}

/// Of these compactions of a thread, newest first, the newest that its agent used, else the newest of all.
pub(super) async fn newest_used(
    client: &Client,
    thread_id: String,
    made: Vec<CompactionSummary>,
) -> Option<CompactionSummary> {
    // A single one is the last, used or not.
    let bill = match made.len() {
        0 | 1 => None,
        _ => client.call::<Bill>(BillParams { thread_id }).await.ok(),
    };
    let is_used = |made: &CompactionSummary| {
        bill.iter().any(|bill| {
            bill.compactions.iter().any(|cost| {
                cost.summary.compaction_id == made.compaction_id
                    && use_of(cost, made.seq, &bill.agent_compactions) != AgentUse::NotAtAll
            })
        })
    };
    let at = made.iter().position(is_used).unwrap_or_default();
    made.into_iter().nth(at)
}

/// How the agent used our compaction up to `seq`, if these are its own. One that it made before ours is no use of ours,
/// wherever ours ends: a person may compact the past.
fn use_of(cost: &CompactionCost, seq: u64, own: &[AgentCompaction]) -> AgentUse {
    let made_at = cost.summary.created_at;
    let is_later = |own: &AgentCompaction| own.seq > seq && own.at.is_none_or(|at| at >= made_at);
    match cost.in_force_seq {
        Some(_) => AgentUse::View,
        None if own.iter().any(is_later) => AgentUse::ByItself,
        None => AgentUse::NotAtAll,
    }
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
                "{agent} did not use this compaction: nothing changed in its session.\n"
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_agents_compaction_from_before_ours_is_no_use_of_ours() {
        let cost = |in_force_seq: Option<u64>| -> CompactionCost {
            let summary = json!({ "compaction_id": "cmp_1", "created_at": 500, "seq": 200,
                "strategy_used": "checkpoint", "phase": "standalone", "trigger": "manual",
                "tokens": { "before": 9, "after": 1 }, "duration_ms": 1 });
            serde_json::from_value(json!({ "summary": summary, "in_force_seq": in_force_seq }))
                .unwrap()
        };
        let own = |seq, at: Option<i64>| {
            let after = json!({ "actions": 0, "edited": false, "files_reread": 0,
                "files_reread_paths": [] });
            let own = json!({ "seq": seq, "at": at, "tokens_before": 9, "after": after });
            [serde_json::from_value::<AgentCompaction>(own).unwrap()]
        };
        let shown = cost(None);
        assert_eq!(use_of(&shown, 200, &[]), AgentUse::NotAtAll);
        assert_eq!(use_of(&shown, 200, &own(300, Some(400))), AgentUse::NotAtAll);
        assert_eq!(use_of(&shown, 200, &own(100, Some(600))), AgentUse::NotAtAll);
        assert_eq!(use_of(&shown, 200, &own(300, Some(600))), AgentUse::ByItself);
        assert_eq!(use_of(&shown, 200, &own(300, None)), AgentUse::ByItself);
        assert_eq!(use_of(&cost(Some(201)), 200, &own(300, Some(400))), AgentUse::View);
    }
}
