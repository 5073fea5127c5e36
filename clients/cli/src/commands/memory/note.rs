//! `longhaul memory note` and `longhaul memory forget`.

use clap::Args;
use longhaul_protocol::memory::{
    AddNote, AddNoteParams, AddNoteResult, Forget, ForgetParams, ForgetResult,
};

use super::folder;
use crate::failure::Failure;
use crate::select;
use crate::session::{Page, Session};
use crate::style::{Style, count};

/// Remember a sentence
///
/// For the project of this folder, unless --everywhere is given. What looks like a password is replaced.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul memory note 'run just check before every commit'
  longhaul memory note --everywhere 'write commit messages in English'")]
pub(crate) struct NoteArgs {
    /// The words
    #[arg(required = true)]
    text: Vec<String>,
    /// In all projects
    #[arg(long, conflicts_with = "cwd")]
    everywhere: bool,
    /// For the project of this folder [default: this one]
    #[arg(long, value_name = "DIR")]
    cwd: Option<String>,
}

/// Forget something at once and for good
///
/// When the command returns, neither the files nor the search hold it. Transcripts are not touched.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul memory forget --thread 0199a213     all that is from that thread
  longhaul memory forget --cwd ~/src/app       all that is from that project
  longhaul memory forget --entry 5f0c1d2e      one line of MEMORY.md, by the id at its end
  longhaul memory forget --note note_0199b000-0000-7000-8000-0000000000c1")]
#[group(required = true, multiple = false)]
pub(crate) struct ForgetArgs {
    /// A thread; the beginning of its id is enough
    #[arg(long, value_name = "THREAD")]
    thread: Option<String>,
    /// The project of a folder
    #[arg(long, value_name = "DIR")]
    cwd: Option<String>,
    /// One thing that was learned
    #[arg(long, value_name = "ID")]
    entry: Option<String>,
    /// A note
    #[arg(long, value_name = "ID")]
    note: Option<String>,
}

pub(crate) async fn run(args: NoteArgs, session: &Session) -> Result<(), Failure> {
    let cwd = match args.everywhere {
        true => None,
        false => Some(folder(args.cwd.as_deref().unwrap_or("."))?),
    };
    let client = session.connect().await?;
    let params = AddNoteParams { text: args.text.join(" "), cwd };
    session.print(&client.call::<AddNote>(params).await?)
}

pub(crate) async fn forget(args: ForgetArgs, session: &Session) -> Result<(), Failure> {
    let client = session.connect().await?;
    let thread_id = match &args.thread {
        Some(named) => Some(select::thread(&client, Some(named)).await?.thread_id),
        None => None,
    };
    let cwd = args.cwd.as_deref().map(folder).transpose()?;
    let params = ForgetParams { thread_id, cwd, entry_id: args.entry, note_id: args.note };
    session.print(&client.call::<Forget>(params).await?)
}

impl Page for AddNoteResult {
    fn text(&self, style: &Style) -> String {
        let place = match &self.project {
            Some(project) => format!("for {}", style.path(project)),
            None => "everywhere".to_owned(),
        };
        let undo =
            style.dim(&format!("take it back: longhaul memory forget --note {}", self.note_id));
        format!("Remembered {place}: {}\n{undo}\n", self.text)
    }
}

impl Page for ForgetResult {
    fn text(&self, _: &Style) -> String {
        let gone = match self.gone {
            0 => "nothing was kept of it yet, and nothing will be".to_owned(),
            gone => format!("{} removed", count(gone)),
        };
        format!("Forgotten ({gone}); memory is published without it.\n")
    }
}
