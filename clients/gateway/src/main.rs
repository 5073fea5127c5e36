//! `longhaul-gateway`: stands between Codex and its provider, and answers its compactions without a model.
//!
//! A process of its own, with the network and without keys of its own: a key is in a request on its way and nowhere
//! else. The daemon is asked over its socket for a view; whatever keeps it from giving one in time, the request goes to
//! the provider as it came.
//!
//! - [`listener`] has the port and the connections, [`exchange`] one request and its reply;
//! - [`request`], [`body`] and [`asked`] find out what is asked, [`tail`] whether the daemon knows what the agent knows;
//! - [`daemon`] asks for the view, [`answer`] and [`marker`] put it into the agent's form;
//! - [`upstream`] passes on, [`record`] counts.

mod answer;
mod asked;
mod body;
mod clock;
mod daemon;
mod exchange;
mod listener;
mod marker;
mod record;
mod request;
mod tail;
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

/// Ends with these, as the daemon does: a defect, another gateway is there, a person must act.
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
    /// Socket of the daemon [default: $LONGHAUL_SOCKET, else $XDG_RUNTIME_DIR/longhaul/v1.sock]
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
    // With nobody left to read it the exit code still tells.
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
