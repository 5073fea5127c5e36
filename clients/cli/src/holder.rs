//! Finds the process that holds the daemon's locks if the socket does not answer.
//!
//! A daemon whose socket was removed is still running: it holds the lock next to the socket or that of the state folder,
//! and binds the socket again within two seconds. "Not running" would be wrong, and a second daemon could not start.
//! A daemon that hangs holds them too; the system accepts connections for it.

use std::fmt;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use longhaul_client::{Client, ClientError, socket};

use crate::failure::{CONFIG, Failure, TRY_LATER};
use crate::session::Session;
use crate::shell::quoted;

/// Time for a daemon to bind its socket again.
const PATIENCE: Duration = Duration::from_secs(3);

/// Milliseconds between two attempts to connect.
const ATTEMPT_MS: u64 = 50;

#[derive(Debug)]
pub(crate) struct Holder {
    pid: Option<u32>,
    lock: PathBuf,
    /// Where this program looks for it.
    socket: PathBuf,
    /// Where it listens, if elsewhere.
    elsewhere: Option<PathBuf>,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let process = self.pid.map_or("a process".to_owned(), |pid| format!("process {pid}"));
        let (lock, socket) = (self.lock.display(), self.socket.display());
        if let Some(elsewhere) = &self.elsewhere {
            return write!(f, "{process} listens on {}, not on {socket}", elsewhere.display());
        }
        write!(f, "{process} holds the daemon's lock {lock} but does not answer on {socket}")
    }
}

impl Holder {
    /// The process that holds the locks of this session's daemon, if any.
    pub(crate) fn find(session: &Session) -> Option<Self> {
        let socket = session.socket.clone().or_else(socket::default_socket)?;
        let mut beside = socket.clone().into_os_string();
        beside.push(".lock");
        let of_state = socket::default_state_dir().map(|folder| folder.join("longhauld.lock"));
        // A named socket may belong to a daemon with another state folder.
        let of_state = of_state.filter(|_| session.socket.is_none());
        let lock = [Some(PathBuf::from(beside)), of_state]
            .into_iter()
            .flatten()
            .find(|lock| is_held(lock))?;
        let text = fs::read_to_string(&lock).unwrap_or_default();
        let mut lines = text.lines();
        let pid = lines.next().and_then(|pid| pid.trim().parse().ok());
        let own = lines.next().map(PathBuf::from);
        let elsewhere = own.filter(|own| *own != socket && own.exists());
        Some(Self { pid, lock, socket, elsewhere })
    }

    /// Whether it is healthy, as far as one can see, and only looked for in the wrong place.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.elsewhere.is_some()
    }

    pub(crate) fn hint(&self) -> String {
        if let Some(elsewhere) = &self.elsewhere {
            return format!(
                "use --socket {path} or LONGHAUL_SOCKET={path}; XDG_RUNTIME_DIR, LONGHAUL_SOCKET and `socket` of \
                 config.toml decide where a program looks",
                path = quoted(elsewhere)
            );
        }
        let pid = self.pid.map_or("PID".to_owned(), |pid| pid.to_string());
        format!(
            "try again in a few seconds; if that fails: kill {pid}, then longhaul up; if it does not end, kill -9 {pid} \
             (what it has confirmed is on disk)"
        )
    }
}

impl From<Holder> for Failure {
    fn from(holder: Holder) -> Self {
        let exit = if holder.is_elsewhere() { CONFIG } else { TRY_LATER };
        Self::new(exit, holder.to_string()).with_hint(holder.hint())
    }
}

pub(crate) enum Unreached {
    /// No daemon runs, or its socket cannot be used.
    Client(ClientError),
    Held(Holder),
}

/// Connects, and waits for a daemon that lost its socket to bind it again.
pub(crate) async fn connect(session: &Session) -> Result<Client, Unreached> {
    let until = tokio::time::Instant::now() + PATIENCE;
    let mut attempts = tokio::time::interval(Duration::from_millis(ATTEMPT_MS));
    loop {
        attempts.tick().await;
        let error = match Client::connect(session.options()).await {
            Ok(client) => return Ok(client),
            Err(error) => error,
        };
        match Holder::find(session).filter(|_| matches!(error, ClientError::NotRunning { .. })) {
            None => return Err(unreached(error, session)),
            Some(holder) if holder.is_elsewhere() || tokio::time::Instant::now() >= until => {
                return Err(Unreached::Held(holder));
            }
            Some(_) => {}
        }
    }
}

/// Names the process of a daemon that hangs.
pub(crate) fn unreached(error: ClientError, session: &Session) -> Unreached {
    let is_hung = matches!(error, ClientError::Timeout { .. });
    match Holder::find(session).filter(|holder| is_hung && !holder.is_elsewhere()) {
        Some(holder) => Unreached::Held(holder),
        None => Unreached::Client(error),
    }
}

impl From<Unreached> for Failure {
    fn from(unreached: Unreached) -> Self {
        match unreached {
            // The client's own hint is longhaul status, which may be what asked.
            Unreached::Client(error @ ClientError::Timeout { .. }) => {
                Self::from(error).with_hint("try again in a moment; longhaul doctor shows more")
            }
            Unreached::Client(error) => error.into(),
            Unreached::Held(holder) => holder.into(),
        }
    }
}

/// Whether another process holds a lock file. Briefly takes a free lock; a starting daemon waits for that.
fn is_held(lock: &Path) -> bool {
    let Ok(file) = File::open(lock) else { return false };
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}
