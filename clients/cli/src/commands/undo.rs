//! `longhaul undo`.

use clap::Args;
use longhaul_client::Client;
use longhaul_protocol::compaction::{Undo, UndoParams, UndoReach, UndoResult};
use longhaul_protocol::thread::{AgentUse, Bill, BillParams, CompactionCost};

use crate::failure::{Failure, REFUSED};
use crate::progress::while_waiting;
use crate::select;
use crate::session::{Page, Session};
use crate::style::{Style, counted, tokens};

mod codex;
mod instructions;

use codex::CodexSession;
use instructions::instructions;

/// Undo a compaction and restore the old history
///
/// Takes effect at once in a thread of longhaul thread open, and in a Codex session, open or closed, whose last turn
/// was the compaction. In Claude Code with our plugin, type /compact undo in the session.
///
/// Other compactions cannot be undone inside the agent: those that Claude Code made itself, and those in the middle of
/// a Codex turn or of a Codex session that has continued. For these, prints a command that continues from before the
/// compaction in a new thread, with a larger view. A compaction that was only printed, or that longhaul continue started a new thread
/// from, changed nothing in the old session.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul undo                                  the last of the newest thread
  longhaul compaction list
  longhaul undo 0199a213
  longhaul undo 0199a213 --json | jq .history    print the old history")]
pub(crate) struct UndoArgs {
    /// Id of the compaction, or a unique prefix; without it, the thread's last one that is not undone. One that was only
    /// printed counts if there is no other
    compaction: Option<String>,
    /// Id of the thread, or a unique prefix [default: the newest of this folder or project]
    #[arg(long, value_name = "THREAD", conflicts_with = "compaction")]
    thread: Option<String>,
}

pub(crate) async fn run(args: UndoArgs, session: &Session) -> Result<(), Failure> {
    let client = session.connect().await?;
    let compaction_id = match args.compaction {
        Some(id) => id,
        None => last(args.thread.as_deref(), &client, session).await?,
    };
    let call = client.call::<Undo>(UndoParams { compaction_id });
    let undone = while_waiting("reading the old history", call).await?;
    let taken = agent_use(&client, &undone).await;
    let codex = in_codex(&client, &undone, taken);
    let (session_of_codex, not_in_codex) = match while_waiting("asking Codex", codex).await {
        Some(Ok(session)) => (Some(session), None),
        Some(Err(why)) => (None, Some(why)),
        None => (None, None),
    };
    let in_codex = session_of_codex.is_some();
    session.print(&UndoPage { undone, taken, in_codex, not_in_codex, session_of_codex })
}

/// The compaction that the daemon would undo next, so that repeating undoes the one before.
async fn last(thread: Option<&str>, client: &Client, session: &Session) -> Result<String, Failure> {
    let thread = select::thread_to_change(client, thread, "longhaul undo --thread THREAD").await?;
    select::catch_up(client, &thread, session).await;
    let bill = client.call::<Bill>(BillParams { thread_id: thread.thread_id }).await?;
    let is_own = |cost: &CompactionCost| cost.summary.thread_id.as_ref() == Some(&bill.thread_id);
    let nothing = match bill.compactions.iter().any(is_own) {
        false => "this thread was never compacted",
        true => "all compactions of this thread are undone",
    };
    bill.undo_next.ok_or_else(|| Failure::new(REFUSED, nothing))
}

/// How the agent used the compaction; `None` if unknown.
async fn agent_use(client: &Client, undone: &UndoResult) -> Option<AgentUse> {
    let (UndoReach::NotAgent, Some(thread_id)) = (undone.reach, &undone.thread_id) else {
        return None;
    };
    let bill = client.call::<Bill>(BillParams { thread_id: thread_id.clone() }).await.ok()?;
    let mut costs = bill.compactions.into_iter();
    let cost = costs.find(|cost| cost.summary.compaction_id == undone.compaction_id)?;
    Some(cost.agent_use).filter(|taken| *taken != AgentUse::Unknown)
}

/// Undoes it in Codex, or says why that is impossible; `None` if the thread is not Codex's.
async fn in_codex(
    client: &Client,
    undone: &UndoResult,
    taken: Option<AgentUse>,
) -> Option<Result<CodexSession, String>> {
    let is_codex = undone.source.as_deref() == Some("codex") && taken != Some(AgentUse::NotAtAll);
    let (UndoReach::NotAgent, true) = (undone.reach, is_codex) else { return None };
    Some(codex::undo(client, undone.thread_id.as_deref()?, undone.seq?).await)
}

#[derive(serde::Serialize)]
struct UndoPage {
    #[serde(flatten)]
    undone: UndoResult,
    /// How the agent used the compaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    taken: Option<AgentUse>,
    /// Whether the Codex session has the old history again.
    in_codex: bool,
    /// Why it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_in_codex: Option<String>,
    #[serde(skip)]
    session_of_codex: Option<CodexSession>,
}

impl Page for UndoPage {
    fn text(&self, style: &Style) -> String {
        let undone = &self.undone;
        // Of an agent's session only what takes effect there is undone.
        let is_undone = match undone.reach {
            UndoReach::NotAgent => self.in_codex,
            _ => !instructions::was_only_shown(undone),
        };
        let undone_where = if is_undone { "undone: " } else { "" };
        let (heading, what) = match undone.complete {
            true => {
                let items = counted(undone.history.len() as u64, "item");
                (format!("{undone_where}the old history has {items}\n"), "it")
            }
            false => {
                let cost: u64 = undone.handles.iter().map(|entry| entry.tokens).sum();
                let handles = counted(undone.handles.len() as u64, "handle");
                let size = tokens(cost);
                let heading = format!(
                    "{undone_where}the old history has {size} tokens, too many to print, or its transcript was \
                     rewritten: expand its {handles}\n"
                );
                (heading, "the handles")
            }
        };
        let thread_id = undone.thread_id.as_deref().unwrap_or_default();
        let instructions = instructions(undone, self.taken);
        let outcome = match (self.session_of_codex, &self.not_in_codex) {
            (Some(CodexSession::Open), _) => {
                "the open Codex session has the old history again: continue there\n".to_owned()
            }
            (Some(CodexSession::Closed), _) => {
                format!("the Codex session has the old history again: codex resume {thread_id}\n")
            }
            (None, Some(why)) => format!("not undone in Codex: {why}\n{instructions}"),
            (None, None) => instructions,
        };
        let print = format!("print {what}: longhaul undo {} --json\n", undone.compaction_id);
        [style.bold(&heading), outcome, style.dim(&print)].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::tests::plain;

    #[test]
    fn undo_outside_the_agent_prints_the_command_to_continue() {
        let mut undone = UndoResult {
            compaction_id: "cmp_0199a213-0000-7000-8000-000000000001".into(),
            undone_at: 1,
            history: Vec::new().into(),
            handles: Vec::new(),
            complete: true,
            restored_seq: None,
            reach: UndoReach::NotAgent,
            source: Some("claude".into()),
            agent: Some("Claude Code".into()),
            session_hint: None,
            thread_id: Some("0199a213-0000-7000-8000-000000000002".into()),
            seq: Some(747),
        };
        let of = |undone: &UndoResult, taken| instructions(undone, taken);
        let shown = UndoResult { reach: UndoReach::Caller, ..undone.clone() };
        assert!(of(&shown, None).starts_with("this compaction was only shown"), "{shown:?}");
        let command = "longhaul continue 0199a213-0000-7000-8000-000000000002 --as-of 747";
        let text = of(&undone, Some(AgentUse::View));
        assert!(
            text.contains("Claude Code still uses the compacted history") && text.contains(command),
            "{text}"
        );
        let text = of(&undone, Some(AgentUse::ByItself));
        assert!(
            text.contains("Claude Code made its own compaction") && text.contains(command),
            "{text}"
        );
        let text = of(&undone, Some(AgentUse::NotAtAll));
        assert!(
            text.contains("nothing changed in its session") && !text.contains(command),
            "{text}"
        );
        undone.source = Some("codex".into());
        let not_in_codex = Some("the session is in the middle of a turn".to_owned());
        let mut page =
            UndoPage { undone, taken: None, in_codex: false, not_in_codex, session_of_codex: None };
        let text = page.text(&plain());
        assert!(
            text.starts_with("the old history has 0 items\nnot undone in Codex: the session is in")
                && text.contains(command),
            "{text}"
        );
        for (session, expected) in [
            (CodexSession::Open, "the open Codex session"),
            (CodexSession::Closed, "codex resume 0199a213-0000-7000-8000-000000000002"),
        ] {
            (page.session_of_codex, page.in_codex) = (Some(session), true);
            let text = page.text(&plain());
            assert!(text.starts_with("undone: ") && text.contains(expected), "{text}");
            assert!(!text.contains(command), "{text}");
        }
        (page.undone.reach, page.undone.restored_seq) = (UndoReach::Thread, Some(750));
        (page.session_of_codex, page.not_in_codex) = (None, None);
        let text = page.text(&plain());
        assert!(text.contains("since #750") && !text.contains("longhaul continue"), "{text}");
    }
}
