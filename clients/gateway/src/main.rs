//! `longhaul-gateway`: a proxy between Codex and its provider that answers compactions without a model.
//!
//! A separate process with network access and without its own keys: a key is only in a request that passes through. It
//! asks the daemon for a view over its socket; if there is none in time, for any reason, the request goes to the
//! provider unchanged.
//!
//! - [`listener`] owns the port and the connections, [`exchange`] handles one request and its reply;
//! - [`request`], [`body`] and [`compaction_request`] find what is asked, [`fingerprint`] whether the daemon has read as
//!   much as the agent wrote;
//! - [`daemon`] requests the view, [`answer`] and [`marker`] put it into the agent's form;
//! - [`mid_turn`] has Codex compact when the policy wants it;
//! - [`upstream`] forwards, [`record`] counts.

mod answer;
mod body;
mod compaction_request;
mod daemon;
mod exchange;
mod fingerprint;
mod listener;
mod marker;
mod mid_turn;
mod record;
mod request;
mod upstream;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use longhaul_client::gateway::GatewaySettings;

use crate::daemon::Daemon;
use crate::exchange::Gateway;
use crate::upstream::Upstream;

/// Exit codes, as the daemon's: a defect, another gateway is running, a person must act.
const SOFTWARE: u8 = 70;
const TRY_LATER: u8 = 75;
const CONFIGURATION: u8 = 78;

/// Streams run on two threads, so that a slow one does not wait for another.
const WORKER_THREADS: usize = 2;

/// Answers Codex's compaction requests without a model and passes everything else to its provider.
///
/// `longhaul install codex --gateway` sets it up; systemd or `longhaul up` starts it.
#[derive(Debug, Parser)]
#[command(name = "longhaul-gateway", version)]
struct Args {
    /// Socket of the daemon [default: $LONGHAUL_SOCKET, `socket` of config.toml, $XDG_RUNTIME_DIR/longhaul/v1.sock]
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Settings, as install wrote them [default: gateway.json in the state folder]
    #[arg(long, value_name = "PATH")]
    settings: Option<PathBuf>,
}

/// Why it does not run.
struct Refusal {
    code: u8,
    message: String,
}

fn main() -> ExitCode {
    match run(Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(refusal) => {
            say(&refusal.message);
            ExitCode::from(refusal.code)
        }
    }
}

/// One line for the journal or the log file.
fn say(words: &str) {
    // If it cannot be written, the exit code still reports it.
    io::stderr().write_all(format!("longhaul-gateway: {words}\n").as_bytes()).unwrap_or_default();
}

fn run(args: Args) -> Result<(), Refusal> {
    let (path, settings) = settings(args.settings)?;
    let defect =
        |error: &dyn std::error::Error| Refusal { code: SOFTWARE, message: error.to_string() };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKER_THREADS)
        .enable_all()
        .build()
        .map_err(|error| defect(&error))?;
    runtime.block_on(async {
        let listener = listener::open(&settings)?;
        if let Ok(address) = listener.local_addr() {
            say(&format!("listening on {address}"));
        }
        let upstream = Upstream::new().map_err(|error| defect(&error))?;
        let gateway = Gateway::new((path, settings), upstream, Daemon::new(args.socket));
        listener::serve(listener, Arc::new(gateway)).await.map_err(|error| defect(&error))
    })
}

fn settings(named: Option<PathBuf>) -> Result<(PathBuf, GatewaySettings), Refusal> {
    let refused = |message: String| Refusal { code: CONFIGURATION, message };
    let path = named.or_else(GatewaySettings::path);
    let path =
        path.ok_or_else(|| refused("there is no home folder; name --settings".to_owned()))?;
    let shown = path.display();
    match GatewaySettings::read(&path) {
        Ok(Some(settings)) => Ok((path, settings)),
        Ok(None) => Err(refused(format!(
            "{shown} is missing; `longhaul install codex --gateway` writes it"
        ))),
        Err(error) => Err(refused(format!("{shown} cannot be read: {error}"))),
    }
}
