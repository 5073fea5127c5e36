//! `longhaul drop`: keeps a text out of every later view of a thread.

use clap::Args;
use longhaul_protocol::checkpoint::ChoiceAction;

use super::pin::{ChoiceArgs, choose};
use crate::failure::Failure;
use crate::session::Session;

/// Keep a text out of every later view of a thread
///
/// No line of a view repeats a dropped item or holds dropped words. The transcript keeps it, and its handle still
/// brings it back. The request the agent works on cannot be dropped.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul drop '#747'                             an item, by its handle
  longhaul drop \"the old migration plan\"          no line holds these words
  longhaul drop --list                             what is pinned and dropped
  longhaul drop --remove 3fa2b1c4")]
pub(crate) struct DropArgs {
    #[command(flatten)]
    what: ChoiceArgs,
}

pub(crate) async fn run(args: DropArgs, session: &Session) -> Result<(), Failure> {
    choose(ChoiceAction::Drop, args.what, session).await
}
