//! `longhaul thread`.

use clap::Subcommand;

use crate::failure::Failure;
use crate::session::Session;

mod append;
mod close;
mod forget;
mod list;
mod open;
mod show;
mod tail;

pub(super) use list::last_folders;

#[derive(Debug, Subcommand)]
pub(crate) enum ThreadCommand {
    List(list::ThreadListArgs),
    Show(show::ThreadShowArgs),
    Open(open::OpenArgs),
    Append(append::AppendArgs),
    Close(close::CloseArgs),
    Forget(forget::ThreadForgetArgs),
    Tail(tail::TailArgs),
}

pub(crate) async fn run(command: ThreadCommand, session: &Session) -> Result<(), Failure> {
    match command {
        ThreadCommand::List(args) => list::run(args, session).await,
        ThreadCommand::Show(args) => show::run(args, session).await,
        ThreadCommand::Open(args) => open::run(args, session).await,
        ThreadCommand::Append(args) => append::run(args, session).await,
        ThreadCommand::Close(args) => close::run(args, session).await,
        ThreadCommand::Forget(args) => forget::run(args, session).await,
        ThreadCommand::Tail(args) => tail::run(args, session).await,
    }
}
