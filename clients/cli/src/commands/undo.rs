//! `longhaul undo`: the history as it was before a compaction.

use clap::Args;
use longhaul_client::Client;
use longhaul_protocol::compaction::{Undo, UndoParams, UndoReach, UndoResult};

use crate::failure::Failure;
use crate::progress::while_waiting;
use crate::session::{Page, Session};
use crate::style::{Style, counted, tokens};

mod codex;
mod reach;

use reach::Taken;

/// Undo a compaction: return the old history
///
/// A thread of longhaul's own goes on from its old history at once, and so does an open session of Codex whose last turn
/// was the compaction. A session of Claude Code with our plugin does by `/compact undo`. What an agent compacted in its own
/// way, in the middle of a turn of Codex or with the hooks alone, no program takes back: there, and in a session that is
/// closed, the answer has the command that goes on from before the compaction with a larger view. What was only shown, or
/// begun as a new thread by `longhaul continue`, took nothing from the old session, and the answer says so.
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
    of(&client, args.compaction, session).await
}

/// Undoes a compaction by its id, in the agent as well where that can be.
pub(crate) async fn of(
    client: &Client,
    compaction_id: String,
    session: &Session,
) -> Result<(), Failure> {
    let undo = client.call::<Undo>(UndoParams { compaction_id });
    let undone = while_waiting("reading the old history", undo).await?;
    let taken = reach::taken(client, &undone).await;
    let codex = in_codex(client, &undone, taken);
    let (in_codex, not_in_codex) = match while_waiting("asking Codex", codex).await {
        Some(Ok(())) => (true, None),
        Some(Err(why)) => (false, Some(why)),
        None => (false, None),
    };
    session.print(&UndoPage { undone, taken, in_codex, not_in_codex })
}

/// Whether it arrives in Codex, or why not; `None` where it is not Codex's.
async fn in_codex(
    client: &Client,
    undone: &UndoResult,
    taken: Option<Taken>,
) -> Option<Result<(), String>> {
    let is_codex = undone.source.as_deref() == Some("codex") && taken != Some(Taken::NotAtAll);
    let (UndoReach::NotAgent, true) = (undone.reach, is_codex) else { return None };
    Some(codex::undo(client, undone.thread_id.as_deref()?, undone.seq?).await)
}

#[derive(serde::Serialize)]
struct UndoPage {
    #[serde(flatten)]
    undone: UndoResult,
    /// What the agent made of the compaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    taken: Option<Taken>,
    /// The open session of Codex has the old history again.
    in_codex: bool,
    /// Why it has not.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_in_codex: Option<String>,
}

impl UndoPage {
    fn told(&self) -> String {
        reach::told(&self.undone, self.taken)
    }
}

impl Page for UndoPage {
    fn text(&self, style: &Style) -> String {
        let undone = &self.undone;
        let items = counted(undone.history.bytes().len() as u64, "item");
        let heading = format!("undone: {items} of the old history are back\n");
        let rest = match undone.complete {
            true => String::new(),
            false => {
                let cost: u64 = undone.handles.iter().map(|entry| entry.tokens).sum();
                let handles = counted(undone.handles.len() as u64, "handle");
                format!("{} tokens more are behind {handles}\n", tokens(cost))
            }
        };
        let arrived = match (self.in_codex, &self.not_in_codex) {
            (true, _) => "the open session of Codex has them again: go on in it\n".to_owned(),
            (false, Some(why)) => format!("not in Codex: {why}\n") + &self.told(),
            (false, None) => self.told(),
        };
        let print = format!("print it: longhaul undo {} --json\n", undone.compaction_id);
        [style.bold(&heading), rest, arrived, style.dim(&print)].concat()
    }
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
        let of = |undone: &UndoResult, taken| reach::told(undone, taken);
        let command = "longhaul continue 0199a213-0000-7000-8000-000000000002 --as-of 747";
        let text = of(&undone, Some(Taken::View));
        assert!(text.contains("Claude Code is not told") && text.contains(command), "{text}");
        let text = of(&undone, Some(Taken::ByItself));
        assert!(text.contains("in its own way") && text.contains(command), "{text}");
        let text = of(&undone, Some(Taken::NotAtAll));
        assert!(text.contains("still has all of its history") && !text.contains(command), "{text}");
        undone.source = Some("codex".into());
        let not_in_codex = Some("a turn of the session runs".to_owned());
        let mut page = UndoPage { undone, taken: None, in_codex: false, not_in_codex };
        let text = page.text(&plain());
        assert!(
            text.contains("not in Codex: a turn of the session runs") && text.contains(command),
            "{text}"
        );
        page.in_codex = true;
        let text = page.text(&plain());
        assert!(text.contains("open session of Codex") && !text.contains(command), "{text}");
        let mut undone = page.undone;
        (undone.reach, undone.restored_seq) = (UndoReach::Thread, Some(750));
        let text =
            UndoPage { undone, taken: None, in_codex: false, not_in_codex: None }.text(&plain());
        assert!(text.contains("since #750") && !text.contains("not told"), "{text}");
    }
}
