//! `longhaul undo`: the history as it was before a compaction.

use clap::Args;
use longhaul_protocol::compaction::{Undo, UndoParams, UndoReach, UndoResult};

use crate::failure::Failure;
use crate::progress::while_waiting;
use crate::session::{Page, Session};
use crate::style::{Style, counted, tokens};

/// Undo a compaction: return the old history
///
/// A thread of longhaul's own goes on from its old history at once. Codex and Claude Code keep histories of their own:
/// a session of Claude Code with our plugin takes its own back by `/compact undo`, others take none. The answer has the
/// command that goes on from before the compaction.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul compaction list
  longhaul undo 0199a213
  longhaul undo 0199a213 --json | jq .history      the old history itself")]
pub(crate) struct UndoArgs {
    /// Id of the compaction, or a unique prefix
    compaction: String,
}

pub(crate) async fn run(args: UndoArgs, session: &Session) -> Result<(), Failure> {
    let client = session.connect().await?;
    let compaction_id = args.compaction;
    let undo = client.call::<Undo>(UndoParams { compaction_id });
    session.print(&while_waiting("reading the old history", undo).await?)
}

impl Page for UndoResult {
    fn text(&self, style: &Style) -> String {
        let items = counted(self.history.bytes().len() as u64, "item");
        let heading = format!("undone: {items} of the old history are back\n");
        let rest = match self.complete {
            true => String::new(),
            false => {
                let cost: u64 = self.handles.iter().map(|entry| entry.tokens).sum();
                let handles = counted(self.handles.len() as u64, "handle");
                format!("{} tokens more are behind {handles}\n", tokens(cost))
            }
        };
        let print = format!("print it: longhaul undo {} --json\n", self.compaction_id);
        [style.bold(&heading), rest, reach(self), style.dim(&print)].concat()
    }
}

/// Where the old history arrives, and how to go on where no agent is told.
fn reach(undone: &UndoResult) -> String {
    if let Some(seq) = undone.restored_seq {
        return format!("the thread has them again since #{seq}\n");
    }
    let (UndoReach::NotAgent, Some(thread_id), Some(seq)) =
        (undone.reach, &undone.thread_id, undone.seq)
    else {
        return String::new();
    };
    let agent = match undone.source.as_deref() {
        Some("claude") => "Claude Code",
        Some("codex") => "Codex",
        Some("gemini") => "Gemini CLI",
        Some("opencode") => "OpenCode",
        _ => "the agent",
    };
    let by_plugin = match undone.source.as_deref() {
        Some("claude") => {
            "With our plugin the session itself takes it back: type /compact undo in it.\n"
        }
        _ => "",
    };
    format!(
        "{agent} is not told: it keeps a history of its own, so a session that went on\n\
         from the view still does. {by_plugin}To go on from before the compaction, in a new thread\n\
         with a larger view:\n  \
         longhaul continue {thread_id} --as-of {seq} --max-tokens 16000\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::tests::plain;

    #[test]
    fn an_agent_that_is_not_told_comes_with_the_command_to_type() {
        let mut undone = UndoResult {
            compaction_id: "cmp_0199a213-0000-7000-8000-000000000001".into(),
            undone_at: 1,
            history: Vec::new().into(),
            handles: Vec::new(),
            complete: true,
            restored_seq: None,
            reach: UndoReach::NotAgent,
            source: Some("claude".into()),
            thread_id: Some("0199a213-0000-7000-8000-000000000002".into()),
            seq: Some(747),
        };
        let text = undone.text(&plain());
        let command = "longhaul continue 0199a213-0000-7000-8000-000000000002 --as-of 747";
        assert!(text.contains("Claude Code is not told") && text.contains(command), "{text}");
        assert!(text.contains("/compact undo"), "{text}");
        undone.source = Some("codex".into());
        assert!(!undone.text(&plain()).contains("/compact undo"));
        (undone.reach, undone.restored_seq) = (UndoReach::Thread, Some(750));
        let text = undone.text(&plain());
        assert!(text.contains("since #750") && !text.contains("not told"), "{text}");
    }
}
