//! `longhaul`: the command line of the longhaul daemon. It talks to the socket and to nothing else.

mod args;
mod clock;
mod commands;
mod failure;
mod progress;
mod select;
mod session;
mod style;

use std::process::ExitCode;

use crate::args::Args;
use crate::failure::Failure;
use crate::session::Session;

fn main() -> ExitCode {
    let args = match Args::from_command_line() {
        Ok(args) => args,
        Err(refused) => return refused.print(),
    };
    let session = Session::new(&args);
    match run(args, &session) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.print(&session),
    }
}

/// One thread is enough: the client waits for the daemon, it does not compute.
fn run(args: Args, session: &Session) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(commands::run(args.command, session))
}
