//! `longhaul archive forget`.

use clap::Args;
use longhaul_client::{Client, ClientError};
use longhaul_protocol::ErrorKind;
use longhaul_protocol::archive::{
    ArchiveList, ArchiveListParams, ArchivedThread, Forget, ForgetParams, ForgetResult,
};

use crate::failure::Failure;
use crate::session::{Page, Session};
use crate::style::{Style, bytes};

/// Remove a thread from the archive for good
///
/// When the command returns, no file of the archive has its text, and it is not archived again. The transcript stays. So
/// do the thread's checkpoint and compactions in the store, which quote it, and what memory learned; longhaul thread forget
/// removes those, too. What the archive has is only removed with your yes: at a terminal it asks, elsewhere and with --json
/// it needs --yes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul archive forget 0199a213")]
pub(crate) struct ForgetArgs {
    /// Id of the thread, or a unique prefix
    thread: String,
    /// Do not ask before removing a copy
    #[arg(long, short)]
    yes: bool,
}

pub(crate) async fn run(args: ForgetArgs, session: &Session) -> Result<(), Failure> {
    let client = session.connect().await?;
    if !args.yes {
        let rows = archived(&client, &args.thread).await?;
        if let Some(question) = question(&rows) {
            session.confirm(question)?;
        }
    }
    session.print(&client.call::<Forget>(ForgetParams { thread_id: args.thread }).await?)
}

/// What to ask before a thread's copies are removed. `None`: there are none.
fn question(rows: &[ArchivedThread]) -> Option<&'static str> {
    match rows {
        [] => None,
        rows if rows.iter().all(|row| row.gone) => {
            Some("Its transcript is gone: this is the only copy. Remove it?")
        }
        _ => Some(
            "Its transcript is still there, but will never be archived again, so nothing protects it. Remove \
             the copy?",
        ),
    }
}

/// Whether the archive has the only copy of a thread.
pub(crate) async fn is_only_copy(client: &Client, thread: &str) -> Result<bool, Failure> {
    let rows = archived(client, thread).await?;
    Ok(!rows.is_empty() && rows.iter().all(|row| row.gone))
}

/// What the archive has of a thread.
pub(crate) async fn archived(
    client: &Client,
    thread: &str,
) -> Result<Vec<ArchivedThread>, Failure> {
    let params = ArchiveListParams { thread_id: Some(thread.to_owned()), ..Default::default() };
    match client.call::<ArchiveList>(params).await {
        Ok(found) => Ok(found.threads),
        // A thread that does not exist yet can be forgotten.
        Err(ClientError::Refused(error)) if error.kind() == ErrorKind::ThreadNotFound => {
            Ok(Vec::new())
        }
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
