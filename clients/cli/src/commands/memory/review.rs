//! `longhaul memory review`.

use std::io::{self, BufRead, IsTerminal, Write};

use clap::{Args, Subcommand};
use longhaul_client::Client;
use longhaul_protocol::memory::{
    ListNotes, ListNotesParams, ListNotesResult, Note, Origin, ReviewNote, ReviewNoteParams,
    ReviewNoteResult, Verdict,
};

use super::note::speaker;
use crate::failure::{Failure, REFUSED};
use crate::select;
use crate::session::{Page, Session};
use crate::style::{Style, count};

/// Confirm or discard notes by agents
///
/// A note by an agent is quoted in its own project as unconfirmed. Confirming makes it a rule; discarding removes it.
/// In a terminal, asks about each note; otherwise lists them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul memory review
  longhaul memory review --json | jq -r '.notes[].text'
  longhaul memory review confirm note_0199b000-0000-7000-8000-0000000000c1
  longhaul memory review discard note_0199b000-0000-7000-8000-0000000000c1")]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ReviewArgs {
    #[command(subcommand)]
    verdict: Option<VerdictCommand>,
    /// Only notes of the project of DIR
    #[arg(long, value_name = "DIR")]
    cwd: Option<String>,
}

#[derive(Debug, Subcommand)]
enum VerdictCommand {
    /// Make notes rules
    #[command(after_help = "\
Example:
  longhaul memory review confirm note_0199b000-0000-7000-8000-0000000000c1")]
    Confirm(NoteIds),
    /// Remove notes
    #[command(after_help = "\
Example:
  longhaul memory review discard note_0199b000-0000-7000-8000-0000000000c1")]
    Discard(NoteIds),
}

#[derive(Debug, Args)]
struct NoteIds {
    /// Ids shown by longhaul memory review
    #[arg(required = true, value_name = "NOTE")]
    ids: Vec<String>,
}

pub(crate) async fn run(args: ReviewArgs, session: &Session) -> Result<(), Failure> {
    let client = session.connect().await?;
    let decided = match args.verdict {
        Some(VerdictCommand::Confirm(notes)) => Some((Verdict::Confirm, notes.ids)),
        Some(VerdictCommand::Discard(notes)) => Some((Verdict::Discard, notes.ids)),
        None => None,
    };
    if let Some((verdict, ids)) = decided {
        for note_id in ids {
            session.print(&decide(&client, note_id, verdict).await?)?;
        }
        return Ok(());
    }
    let waiting = waiting(&client, args.cwd.as_deref().map(select::folder).transpose()?).await?;
    let asks = !session.is_json && io::stdin().is_terminal() && io::stdout().is_terminal();
    match asks && speaker() == Origin::Person {
        true => ask_about(waiting.notes, &client, session).await,
        false => session.print(&waiting),
    }
}

/// All pending notes.
async fn waiting(client: &Client, cwd: Option<String>) -> Result<ListNotesResult, Failure> {
    let mut all = ListNotesResult { notes: Vec::new(), next_cursor: None };
    loop {
        let cursor = all.next_cursor.take();
        let params = ListNotesParams { pending: Some(true), cwd: cwd.clone(), limit: None, cursor };
        let page = client.call::<ListNotes>(params).await?;
        all.notes.extend(page.notes);
        all.next_cursor = page.next_cursor;
        if all.next_cursor.is_none() {
            return Ok(all);
        }
    }
}

async fn decide(
    client: &Client,
    note_id: String,
    verdict: Verdict,
) -> Result<ReviewNoteResult, Failure> {
    // The daemon rejects agents on their socket; this also rejects one that runs the command in its shell.
    if speaker() != Origin::Person {
        let failure = Failure::new(REFUSED, "an agent cannot review notes");
        return Err(failure.with_hint("run it in your own terminal"));
    }
    Ok(client.call::<ReviewNote>(ReviewNoteParams { note_id, verdict }).await?)
}

/// Shows each note and asks for a decision.
async fn ask_about(notes: Vec<Note>, client: &Client, session: &Session) -> Result<(), Failure> {
    let all = notes.len();
    for (number, note) in (1..).zip(notes) {
        session.print_text(&format!("{number} of {all} · {}", entry(&note, &session.style)))?;
        loop {
            session.print_text("[c]onfirm, [d]iscard, [s]kip, [q]uit? ")?;
            io::stdout().flush()?;
            let mut answer = String::new();
            if io::stdin().lock().read_line(&mut answer)? == 0 {
                return Ok(());
            }
            let verdict = match answer.trim() {
                "c" | "confirm" => Verdict::Confirm,
                "d" | "discard" => Verdict::Discard,
                "s" | "skip" | "" => break,
                "q" | "quit" => return Ok(()),
                _ => continue,
            };
            session.print(&decide(client, note.note_id.clone(), verdict).await?)?;
            break;
        }
    }
    session.print_text(if all == 0 { "No notes to review.\n" } else { "" })
}

/// A note: its origin, project, time and text.
fn entry(note: &Note, style: &Style) -> String {
    let project = note.project.as_deref().map_or_else(|| "everywhere".into(), |p| style.path(p));
    let whose = match note.origin {
        Origin::Agent => "an agent",
        Origin::Person | Origin::Tool | Origin::Client => "a program",
    };
    let heading = style.bold(&[whose, &project, &style.ago(note.at)].join(" · "));
    let lines: String = note.text.lines().map(|line| format!("  {line}\n")).collect();
    format!("{heading}\n{lines}  {}\n", style.dim(&note.note_id))
}

impl Page for ListNotesResult {
    fn text(&self, style: &Style) -> String {
        if self.notes.is_empty() {
            return "No notes to review.\n".to_owned();
        }
        let notes: Vec<String> = self.notes.iter().map(|note| entry(note, style)).collect();
        let pending = count(self.notes.len() as u64);
        let how = "longhaul memory review confirm ID, or discard ID";
        format!("{}\n{pending} pending: {how}\n", notes.join("\n"))
    }
}

impl Page for ReviewNoteResult {
    fn text(&self, _: &Style) -> String {
        match &self.note_id {
            Some(note_id) => format!("Confirmed as your note ({note_id}).\n"),
            None => "Discarded.\n".to_owned(),
        }
    }
}
