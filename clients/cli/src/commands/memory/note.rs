//! `longhaul memory note` and `longhaul memory forget`.

use clap::Args;
use longhaul_protocol::memory::{
    AddNote, AddNoteParams, AddNoteResult, Forget, ForgetParams, ForgetResult, Origin,
};

use crate::commands::archive::is_only_copy;
use crate::failure::Failure;
use crate::select;
use crate::session::{Page, Session};
use crate::style::{Style, count};

/// Add a note to memory
///
/// The note is a rule for agents in this folder's project, or with --everywhere in all projects. A note by an agent
/// waits for your review. Anything that looks like a password is replaced.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul memory note 'run just check before every commit'
  longhaul memory note --everywhere 'write commit messages in English'")]
pub(crate) struct NoteArgs {
    /// Text of the note
    #[arg(required = true)]
    text: Vec<String>,
    /// Apply to all projects
    #[arg(long, conflicts_with = "cwd")]
    everywhere: bool,
    /// Apply to the project of DIR [default: this folder]
    #[arg(long, value_name = "DIR")]
    cwd: Option<String>,
}

/// Remove something from memory for good
///
/// When the command returns, it is gone from files and search. Agents' transcripts are not touched. With --thread, the
/// archived copy of the thread is removed as well. Before a whole thread or project it asks at a terminal; elsewhere
/// and with --json it needs --yes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul memory forget --thread 0199a213     everything from that thread
  longhaul memory forget --cwd ~/src/app       everything from that project
  longhaul memory forget --entry 5f0c1d2e      a line of MEMORY.md, by its id
  longhaul memory forget --note note_0199b000-0000-7000-8000-0000000000c1")]
#[command(override_usage = "\
longhaul memory forget [OPTIONS]
           <--thread THREAD|--cwd DIR|--entry ID|--note NOTE>")]
pub(crate) struct ForgetArgs {
    #[command(flatten)]
    what: Subject,
    /// Do not ask before a whole thread or project is removed
    #[arg(long, short)]
    yes: bool,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Subject {
    /// Everything from a thread, by id or prefix
    #[arg(long, value_name = "THREAD")]
    thread: Option<String>,
    /// Everything from the project of DIR
    #[arg(long, value_name = "DIR")]
    cwd: Option<String>,
    /// One entry, by the id at the end of its line
    #[arg(long, value_name = "ID")]
    entry: Option<String>,
    /// A note, by its id
    #[arg(long, value_name = "NOTE")]
    note: Option<String>,
}

pub(crate) async fn run(args: NoteArgs, session: &Session) -> Result<(), Failure> {
    let cwd = match args.everywhere {
        true => None,
        false => Some(select::folder(args.cwd.as_deref().unwrap_or("."))?),
    };
    let params = AddNoteParams { text: args.text.join(" "), cwd, origin: Some(speaker()) };
    session.show::<AddNote>(params).await
}

/// Environment variables that agents set for their commands.
const AGENT_VARIABLES: [&str; 6] =
    ["CLAUDECODE", "CODEX_SANDBOX", "CODEX_THREAD_ID", "GEMINI_CLI", "OPENCODE", "CURSOR_AGENT"];

/// Whether an agent's shell or the person's runs this command.
pub(super) fn speaker() -> Origin {
    match AGENT_VARIABLES.iter().any(|name| std::env::var_os(name).is_some()) {
        true => Origin::Agent,
        false => Origin::Person,
    }
}

pub(crate) async fn forget(args: ForgetArgs, session: &Session) -> Result<(), Failure> {
    let client = session.connect().await?;
    let ForgetArgs { what, yes } = args;
    let thread_id = select::thread_id(&client, what.thread.as_deref()).await?;
    let cwd = what.cwd.as_deref().map(select::folder).transpose()?;
    if !yes && let Some(thread_id) = &thread_id {
        let only = if is_only_copy(&client, thread_id).await? { ", the only copy" } else { "" };
        let copy = format!("and its archived text{only}");
        session.confirm(&format!("Remove what memory learned from {thread_id}, {copy}?"))?;
    }
    if !yes && let Some(cwd) = &cwd {
        let place = session.style.path(cwd);
        session.confirm(&format!("Remove everything memory learned in {place}, for good?"))?;
    }
    let params = ForgetParams { thread_id, cwd, entry_id: what.entry, note_id: what.note };
    session.print(&client.call::<Forget>(params).await?)
}

impl Page for AddNoteResult {
    fn text(&self, style: &Style) -> String {
        let place = match &self.project {
            Some(project) => format!("for {}", style.path(project)),
            None => "everywhere".to_owned(),
        };
        let undo = style.dim(&format!("undo: longhaul memory forget --note {}", self.note_id));
        match self.pending {
            true => format!(
                "Noted {place}, unconfirmed: {}\nconfirm: longhaul memory review\n",
                self.text
            ),
            false => format!("Remembered {place}: {}\n{undo}\n", self.text),
        }
    }
}

impl Page for ForgetResult {
    fn text(&self, _: &Style) -> String {
        let removed = match self.removed {
            0 => "nothing was stored".to_owned(),
            removed => format!("{} removed", count(removed)),
        };
        format!("Forgotten ({removed}); memory was published without it.\n")
    }
}
