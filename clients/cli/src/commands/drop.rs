//! `longhaul drop`.

use clap::Args;
use longhaul_protocol::checkpoint::ChoiceAction;

use super::pin::{ChoiceArgs, choose};
use crate::failure::Failure;
use crate::session::Session;

/// Keep an item or text out of every later view of a thread
///
/// No view repeats a dropped item or contains dropped text. The transcript is not changed, and longhaul expand still
/// prints the item. The request the agent is working on cannot be dropped.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul drop '#747'                       an item, by its handle
  longhaul drop \"the old migration plan\"     every line that contains this text
  longhaul drop --list                       list pinned and dropped texts
  longhaul drop --remove 3fa2b1c4")]
pub(crate) struct DropArgs {
    #[command(flatten)]
    what: ChoiceArgs,
}

pub(crate) async fn run(args: DropArgs, session: &Session) -> Result<(), Failure> {
    choose(ChoiceAction::Drop, args.what, session).await
}
