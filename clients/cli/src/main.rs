//! `longhaul`: the command line of the longhaul daemon.

mod args;
mod commands;
mod failure;
mod holder;
mod output;
mod progress;
mod select;
mod session;
mod shell;
mod style;

use std::process::ExitCode;

use clap::CommandFactory;

use crate::args::Args;
use crate::commands::Command;
use crate::failure::Failure;
use crate::session::Session;

fn main() -> ExitCode {
    let args = match Args::from_command_line() {
        Ok(args) => args,
        Err(failure) => return failure.print(),
    };
    let session = Session::new(args.socket, args.json, args.color);
    match run(args.command, &session) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.print(session.is_json, &session.style),
    }
}

/// One thread is enough: this program mostly waits for the daemon.
fn run(command: Command, session: &Session) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(commands::run(command, session, Args::command))
}
