//! `longhaul thread forget`.

use clap::Args;
use longhaul_client::{Client, ClientError};
use longhaul_protocol::ErrorKind;
use longhaul_protocol::thread::{
    ThreadForget, ThreadForgetParams, ThreadForgetResult, ThreadGet, ThreadGetParams,
};

use crate::commands::archive::archived;
use crate::failure::Failure;
use crate::session::{Page, Session};
use crate::style::{Style, bytes, counted, crop};

/// Remove everything longhaul has of a thread, for good
///
/// Its archived text, checkpoint, compactions, pins, prompts, words in the search index, what memory learned from it, and
/// its transcript if longhaul wrote that one. Delete the transcript of an agent yourself first: it would be read again.
/// Copies in other threads (a fork, a continuation) are kept. At a terminal it asks first; elsewhere and with --json it
/// needs --yes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul thread forget 0199a213

longhaul archive forget THREAD removes only the archived text, also while the transcript exists;
longhaul memory forget --thread THREAD what memory learned as well.")]
pub(crate) struct ThreadForgetArgs {
    /// Id of the thread, or a unique prefix
    thread: String,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

pub(crate) async fn run(args: ThreadForgetArgs, session: &Session) -> Result<(), Failure> {
    let client = session.connect().await?;
    if !args.yes
        && let Some(named) = named(&client, &args.thread).await?
    {
        session.confirm(&format!("Remove everything longhaul has of {named}, for good?"))?;
    }
    let params = ThreadForgetParams { thread_id: args.thread };
    session.print(&client.call::<ThreadForget>(params).await?)
}

/// The thread as a person knows it. `None` if there is nothing to lose: it does not exist, or is forgotten but for the
/// last steps, which another call finishes.
async fn named(client: &Client, thread: &str) -> Result<Option<String>, Failure> {
    /// Columns of a title in the question.
    const TITLE_WIDTH: usize = 50;
    let params = ThreadGetParams { thread_id: thread.to_owned() };
    match client.call::<ThreadGet>(params).await {
        Ok(found) => {
            let found = found.thread;
            let title = found.title.map(|title| title.replace('\n', " "));
            let title = title.map(|title| format!(" ({})", crop(&title, TITLE_WIDTH)));
            Ok(Some(found.thread_id + &title.unwrap_or_default()))
        }
        Err(ClientError::Refused(error)) if error.kind() == ErrorKind::ThreadNotFound => {
            let is_archived = !archived(client, thread).await?.is_empty();
            Ok(is_archived.then(|| thread.to_owned()))
        }
        Err(error) => Err(error.into()),
    }
}

impl Page for ThreadForgetResult {
    fn text(&self, _: &Style) -> String {
        let (text, compactions) =
            (bytes(self.archived_bytes), counted(self.compactions, "compaction"));
        format!("Forgotten: {} ({text} of archived text, {compactions}).\n", self.thread_id)
    }
}
