//! `longhaul-mcp`: the longhaul daemon as an MCP server over stdio.
//!
//! An agent starts one process per session, which forwards calls to the user's daemon and keeps no state.
//!
//! - [`daemon`] finds the daemon, starts it if allowed, and reconnects after restarts;
//! - [`bridge`] holds the tools and resources with their descriptions;
//! - [`memory`], [`threads`] make the calls and format the answers;
//! - [`progress`] tells the agent that a long call is still at work;
//! - [`fault`] formats errors.
//!
//! Standard output carries only the protocol.

mod bridge;
mod daemon;
mod fault;
mod memory;
mod progress;
mod rescue;
mod threads;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use rmcp::ServiceExt;
use rmcp::transport::stdio;

use crate::bridge::Bridge;
use crate::daemon::Daemon;

/// Exit code if the program is not used over the protocol.
const USAGE: u8 = 64;

/// Serves longhaul's checkpoints, transcripts and memory to an agent, over the Model Context Protocol.
///
/// Agents start it themselves after longhaul install codex or longhaul install claude.
#[derive(Debug, Parser)]
#[command(name = "longhaul-mcp", version)]
struct Args {
    /// Socket of the daemon [default: $LONGHAUL_SOCKET, `socket` of config.toml, $XDG_RUNTIME_DIR/longhaul/v1.sock]
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Never start the daemon [also: LONGHAUL_AUTOSTART=0]
    #[arg(long)]
    no_start: bool,
}

fn main() -> ExitCode {
    let args = Args::parse();
    match run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Ignore a closed stderr.
            io::stderr()
                .write_all(format!("longhaul-mcp: {error}\n").as_bytes())
                .unwrap_or_default();
            ExitCode::from(USAGE)
        }
    }
}

fn run(args: Args) -> Result<(), Box<dyn std::error::Error>> {
    let is_off = std::env::var_os("LONGHAUL_AUTOSTART").is_some_and(|value| value == "0");
    let daemon = Daemon::new(args.socket, !args.no_start && !is_off);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let server = Bridge::new(daemon).serve(stdio()).await?;
        server.waiting().await?;
        Ok(())
    })
}
