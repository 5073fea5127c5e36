//! `longhaul compaction`: past compactions.

use clap::Subcommand;

use crate::failure::Failure;
use crate::session::Session;

mod list;
mod show;
mod templates;

#[derive(Debug, Subcommand)]
pub(crate) enum CompactionCommand {
    List(list::CompactionListArgs),
    Show(show::CompactionShowArgs),
    Templates(templates::TemplatesArgs),
}

pub(crate) async fn run(command: CompactionCommand, session: &Session) -> Result<(), Failure> {
    match command {
        CompactionCommand::List(args) => list::run(args, session).await,
        CompactionCommand::Show(args) => show::run(args, session).await,
        CompactionCommand::Templates(args) => templates::run(args, session).await,
    }
}
