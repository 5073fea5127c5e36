//! `longhaul-curator`: connects, confines itself, does the `curate` jobs that are due, and ends.

use std::future::Future;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use longhaul_client::{Client, ClientError, ConnectOptions};
use longhaul_confine::{bound_client, confine_client};

/// Exit codes of sysexits(3): this system cannot confine it; a defect; the daemon is not there.
const UNAVAILABLE: u8 = 69;
const SOFTWARE: u8 = 70;
const TRY_LATER: u8 = 75;

/// Timeout of one answer: a model may be slow, and the daemon has its own bound.
const ANSWER_MS: u64 = 36_000_000;

/// Edits the files of memory with the daemon's model, confined.
///
/// The daemon starts it when there is something to do; with `[jobs.curate] outside = true` a person does.
#[derive(Debug, Parser)]
#[command(name = "longhaul-curator", version)]
struct Args {
    /// Socket of the daemon [default: $LONGHAUL_SOCKET, `socket` of config.toml, $XDG_RUNTIME_DIR/longhaul/v1.sock]
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Name under which it claims jobs
    #[arg(long, value_name = "NAME", default_value = "curator")]
    worker: String,
}

fn main() -> ExitCode {
    let Args { socket, worker } = Args::parse();
    // A single thread, so that confining it confines the whole process.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime {
        Ok(runtime) => runtime.block_on(run(socket, worker)),
        Err(error) => refused(SOFTWARE, &error.to_string()),
    }
}

fn run(socket: Option<PathBuf>, worker: String) -> impl Future<Output = ExitCode> {
    let mut options = ConnectOptions::new("longhaul-curator", env!("CARGO_PKG_VERSION"))
        .request_timeout_ms(ANSWER_MS);
    if let Some(socket) = socket {
        options = options.socket(socket);
    }
    async move {
        let client = match Client::connect(options).await {
            Ok(client) => client,
            Err(error) => return refused(TRY_LATER, &error.to_string()),
        };
        if let Err(reason) = bound_client().and_then(|()| confine_client()) {
            return refused(UNAVAILABLE, &reason);
        }
        let worked: Result<u64, ClientError> = longhaul_curator::work_off(&client, &worker).await;
        match worked {
            Ok(_) => ExitCode::SUCCESS,
            Err(error) => refused(TRY_LATER, &error.to_string()),
        }
    }
}

/// Prints the reason to standard error, which the daemon reads.
fn refused(code: u8, why: &str) -> ExitCode {
    // If it cannot be written, the exit code still reports it.
    io::stderr().write_all(format!("{why}\n").as_bytes()).unwrap_or_default();
    ExitCode::from(code)
}
