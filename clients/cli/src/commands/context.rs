//! `longhaul context`: the context manager on a file or standard input.

use clap::Subcommand;

use crate::failure::Failure;
use crate::session::Session;

mod estimate;
pub(super) mod input;
mod truncate;

#[derive(Debug, Subcommand)]
pub(crate) enum ContextCommand {
    Estimate(estimate::EstimateArgs),
    Truncate(truncate::TruncateArgs),
}

pub(crate) async fn run(command: ContextCommand, session: &Session) -> Result<(), Failure> {
    match command {
        ContextCommand::Estimate(args) => estimate::run(args, session).await,
        ContextCommand::Truncate(args) => truncate::run(args, session).await,
    }
}
