//! `longhaul memory`.

use clap::Subcommand;

use crate::failure::Failure;
use crate::session::Session;

mod edit;
mod note;
mod review;
mod run;
mod search;
mod show;
mod status;

#[derive(Debug, Subcommand)]
pub(crate) enum MemoryCommand {
    Status(status::StatusArgs),
    Run(run::RunArgs),
    Search(search::SearchArgs),
    Show(show::MemoryShowArgs),
    Note(note::NoteArgs),
    Review(review::ReviewArgs),
    Forget(note::ForgetArgs),
    Edit(edit::EditArgs),
}

pub(crate) async fn run(command: MemoryCommand, session: &Session) -> Result<(), Failure> {
    match command {
        MemoryCommand::Status(args) => status::run(args, session).await,
        MemoryCommand::Run(args) => run::run(args, session).await,
        MemoryCommand::Search(args) => search::run(args, session).await,
        MemoryCommand::Show(args) => show::run(args, session).await,
        MemoryCommand::Note(args) => note::run(args, session).await,
        MemoryCommand::Review(args) => review::run(args, session).await,
        MemoryCommand::Forget(args) => note::forget(args, session).await,
        MemoryCommand::Edit(args) => edit::run(args, session).await,
    }
}
