//! The command line of `longhauld`.

mod source_homes;

use std::path::PathBuf;

use clap::Parser;

pub(crate) use source_homes::NAMES;
pub use source_homes::SourceHomes;

/// The longhaul daemon: reads the transcripts of coding agents and answers over a Unix socket.
///
/// Every flag can also be set in the configuration file or by an environment variable. Flags override the environment, and
/// the environment overrides the file.
#[derive(Debug, Clone, Default, Parser)]
#[command(name = "longhauld", version)]
pub struct Args {
    /// Configuration file [default: ~/.config/longhaul/config.toml]
    #[arg(long, value_name = "FILE", env = "LONGHAUL_CONFIG")]
    pub config: Option<PathBuf>,
    /// Print the current values and their origins, then exit
    #[arg(long)]
    pub check_config: bool,
    /// Folders of agents.
    #[command(flatten)]
    pub homes: SourceHomes,
    /// Folder for the database [default: $LONGHAUL_STATE_DIR, else ~/.local/state/longhaul]
    #[arg(long, value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
    /// Socket to listen on [default: $LONGHAUL_SOCKET, `socket` of config.toml, $XDG_RUNTIME_DIR/longhaul/v1.sock]
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// What to log: error, warn, info, debug, trace or a tracing filter [default: $LONGHAUL_LOG, else info]
    #[arg(long, value_name = "FILTER")]
    pub log: Option<String>,
}
