//! `longhaul archive`: copies of transcripts, in case the originals disappear.

use clap::Subcommand;

use crate::failure::Failure;
use crate::session::Session;

mod export;
mod forget;
mod list;
mod restore;
mod status;
mod verify;

pub(super) use forget::{archived, is_only_copy};
pub(super) use status::share;

#[derive(Debug, Subcommand)]
pub(crate) enum ArchiveCommand {
    Status(status::ArchiveStatusArgs),
    List(list::ArchiveListArgs),
    Verify(verify::VerifyArgs),
    Restore(restore::RestoreArgs),
    Export(export::ExportArgs),
    Forget(forget::ForgetArgs),
}

pub(crate) async fn run(command: ArchiveCommand, session: &Session) -> Result<(), Failure> {
    match command {
        ArchiveCommand::Status(args) => status::run(args, session).await,
        ArchiveCommand::List(args) => list::run(args, session).await,
        ArchiveCommand::Verify(args) => verify::run(args, session).await,
        ArchiveCommand::Restore(args) => restore::run(args, session).await,
        ArchiveCommand::Export(args) => export::run(args, session).await,
        ArchiveCommand::Forget(args) => forget::run(args, session).await,
    }
}
