//! Starts the daemon's process and waits for its first answer.
//!
//! Two concurrent `up` start two daemons, of which one gets the lock; the other ends, and both commands find the one
//! that answers. A daemon that is stopping still holds the lock: the new one exits with "later" and is started again
//! until the time is up.

use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use longhaul_client::{Client, socket};
use longhaul_protocol::Retry;

use super::log;
use crate::failure::{CONFIG, Failure, TRY_LATER};
use crate::holder::Holder;
use crate::session::Session;

/// Seconds to wait for the first answer.
const START_SECONDS: u64 = 15;
/// Milliseconds between two attempts to connect.
const ATTEMPT_MS: u64 = 20;

/// Starts the daemon and waits until it, or another one, answers.
pub(super) async fn start(
    command: &mut Command,
    log: &Path,
    session: &Session,
) -> Result<Client, Failure> {
    let skip = log::length(log);
    let limit = Duration::from_secs(START_SECONDS);
    let answer = tokio::time::timeout(limit, until_answer(command, log, session)).await;
    match answer {
        Ok(Ok(client)) => Ok(client),
        Ok(Err(Obstacle::Ended(status))) => Err(ended(status, log, skip)),
        Ok(Err(Obstacle::Other(failure))) => Err(failure),
        Err(_) => {
            if let Some(holder) = Holder::find(session) {
                return Err(holder.into());
            }
            let default = socket::default_socket().unwrap_or_default();
            let socket = session.socket.as_ref().unwrap_or(&default).display();
            let message = format!("no daemon answered on {socket} in {START_SECONDS} s");
            let hint = format!("its log is {}", log.display());
            Err(Failure::new(TRY_LATER, message).with_hint(hint))
        }
    }
}

enum Obstacle {
    Ended(ExitStatus),
    /// It could not be started, or its socket cannot be used.
    Other(Failure),
}

impl<E: Into<Failure>> From<E> for Obstacle {
    fn from(error: E) -> Self {
        Self::Other(error.into())
    }
}

async fn until_answer(
    command: &mut Command,
    log: &Path,
    session: &Session,
) -> Result<Client, Obstacle> {
    let mut daemon = spawn(command, log)?;
    let mut ticks = tokio::time::interval(Duration::from_millis(ATTEMPT_MS));
    loop {
        ticks.tick().await;
        // Check this first: if it has ended, another daemon may answer below.
        let ended = daemon.try_wait()?;
        match (Client::connect(session.options()).await, ended) {
            (Ok(client), _) => return Ok(client),
            (Err(_), Some(status)) if status.code() == Some(TRY_LATER.into()) => {
                if let Some(holder) = Holder::find(session).filter(Holder::is_elsewhere) {
                    return Err(Obstacle::Other(holder.into()));
                }
                daemon = spawn(command, log)?;
            }
            (Err(_), Some(status)) => return Err(Obstacle::Ended(status)),
            // It has not bound its socket yet, or is ending: then its log says why.
            (Err(error), None) if matches!(error.retry(), Retry::Reconnect | Retry::Backoff) => {}
            (Err(error), None) => return Err(error.into()),
        }
    }
}

fn spawn(command: &mut Command, log: &Path) -> Result<Child, Failure> {
    let output = log::open(log)?;
    command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
    // In its own process group, so that Ctrl-C and hang-ups of the terminal do not reach the daemon. It keeps the
    // current folder, because paths in flags and variables may be relative.
    std::os::unix::process::CommandExt::process_group(command, 0);
    command.spawn().map_err(|error| {
        let program = Path::new(command.get_program()).display();
        Failure::new(CONFIG, format!("{program} cannot be started: {error}"))
    })
}

fn ended(status: ExitStatus, log: &Path, skip: u64) -> Failure {
    let words = log::last_error(log, skip);
    let words = words.map_or_else(String::new, |words| format!(": {words}"));
    Failure::new(CONFIG, format!("the daemon ended at once ({status}){words}"))
        .with_hint(format!("its log is {}", log.display()))
}
