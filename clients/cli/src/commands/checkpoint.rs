//! `longhaul checkpoint`: what is known about a thread.

use clap::Subcommand;

use crate::failure::Failure;
use crate::session::Session;

mod show;

/// What to do with a checkpoint.
#[derive(Debug, Subcommand)]
pub(crate) enum CheckpointCommand {
    Show(show::ShowArgs),
}

pub(crate) async fn run(command: CheckpointCommand, session: &Session) -> Result<(), Failure> {
    match command {
        CheckpointCommand::Show(args) => show::run(args, session).await,
    }
}
