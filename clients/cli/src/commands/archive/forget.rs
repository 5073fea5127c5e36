//! `longhaul archive forget`.

use clap::Args;
use longhaul_client::{Client, ClientError};
use longhaul_protocol::ErrorKind;
use longhaul_protocol::archive::{
    ArchiveList, ArchiveListParams, Forget, ForgetParams, ForgetResult,
};

use crate::failure::{Failure, REFUSED};
use crate::session::{Page, Session};
use crate::style::{Style, bytes};

/// Remove a thread from the archive for good
///
/// When the command returns, no file of the archive has its text, and it is not archived again. The transcript stays. So
/// do the thread's checkpoint and compactions in the store, which quote it, and what memory learned; longhaul thread forget
/// removes those, too. At a terminal it asks before it removes the only copy.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul archive forget 0199a213")]
pub(crate) struct ForgetArgs {
    /// Id of the thread, or a unique prefix
    thread: String,
    /// Do not ask before removing the only copy
    #[arg(long, short)]
    yes: bool,
}

pub(crate) async fn run(args: ForgetArgs, session: &Session) -> Result<(), Failure> {
    let client = session.connect().await?;
    if !args.yes {
        confirm_only_copy(&client, &args.thread, session).await?;
    }
    session.print(&client.call::<Forget>(ForgetParams { thread_id: args.thread }).await?)
}

/// Asks at a terminal before the only copy of a thread is removed; fails unless the person agrees.
pub(crate) async fn confirm_only_copy(
    client: &Client,
    thread: &str,
    session: &Session,
) -> Result<(), Failure> {
    let asks = session.can_ask() && is_only_copy(client, thread).await?;
    let question = "Its transcript is gone: this is the only copy. Remove it?";
    if asks && !session.agrees(question, false)? {
        return Err(Failure::new(REFUSED, "nothing was changed"));
    }
    Ok(())
}

async fn is_only_copy(client: &Client, thread: &str) -> Result<bool, Failure> {
    let params = ArchiveListParams { thread_id: Some(thread.to_owned()), ..Default::default() };
    match client.call::<ArchiveList>(params).await {
        Ok(found) => Ok(!found.threads.is_empty() && found.threads.iter().all(|row| row.gone)),
        // A thread that does not exist yet can be forgotten.
        Err(ClientError::Refused(error)) if error.kind() == ErrorKind::ThreadNotFound => Ok(false),
        Err(error) => Err(error.into()),
    }
}

impl Page for ForgetResult {
    fn text(&self, _: &Style) -> String {
        let only = if self.only_copy { " It was the only copy." } else { "" };
        match self.removed_bytes {
            0 => "It was not archived, and will not be.\n".to_owned(),
            removed => {
                let bytes = bytes(removed);
                format!("Forgotten ({bytes} of text). It will not be archived again.{only}\n")
            }
        }
    }
}
