//! `longhaul checkpoint`: the structured state of a thread.

use clap::Subcommand;

use crate::failure::Failure;
use crate::session::Session;

mod apply;
mod export;
mod show;

#[derive(Debug, Subcommand)]
pub(crate) enum CheckpointCommand {
    Apply(apply::ApplyArgs),
    Export(export::ExportArgs),
    Show(show::CheckpointShowArgs),
}

pub(crate) async fn run(command: CheckpointCommand, session: &Session) -> Result<(), Failure> {
    match command {
        CheckpointCommand::Apply(args) => apply::run(args, session).await,
        CheckpointCommand::Export(args) => export::run(args, session).await,
        CheckpointCommand::Show(args) => show::run(args, session).await,
    }
}
