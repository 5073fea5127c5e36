//! Opens a connection: finds the socket, checks its owner, shakes hands.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use longhaul_protocol::RevisionRange;
use longhaul_protocol::daemon::{ClientInfo, Initialize, InitializeParams};
use longhaul_protocol::socket::{PATH_BYTES_MAX, of_agents};
use tokio::net::UnixStream;

use crate::{Client, ClientError, socket};

const FULL_QUEUE_RETRY: Duration = Duration::from_millis(5);

/// How to connect.
#[derive(Debug, Clone)]
pub struct ConnectOptions {
    client: ClientInfo,
    socket: Option<PathBuf>,
    is_agent: bool,
    request_timeout_ms: Option<u64>,
    connect_timeout_ms: u64,
}

impl ConnectOptions {
    /// Default timeout of a call in milliseconds. A compaction has its deadline and 15 s more; memory's run and the
    /// archive's verification and restoration have none.
    pub const REQUEST_TIMEOUT_MS: u64 = 60_000;
    /// Default timeout of opening a connection in milliseconds. Under socket activation it includes the daemon's start.
    pub const CONNECT_TIMEOUT_MS: u64 = 5_000;

    /// A client of this name and version, on the default socket.
    #[must_use]
    pub fn new(name: &str, version: &str) -> Self {
        Self {
            client: ClientInfo { name: name.to_owned(), version: version.to_owned() },
            socket: None,
            is_agent: false,
            request_timeout_ms: None,
            connect_timeout_ms: Self::CONNECT_TIMEOUT_MS,
        }
    }

    /// Calls as an agent, for the project of this process's folder: uses the agents' socket next to the one that would be
    /// used.
    #[must_use]
    pub const fn agent(mut self) -> Self {
        self.is_agent = true;
        self
    }

    /// Uses this socket instead of the default one.
    #[must_use]
    pub fn socket(mut self, path: impl Into<PathBuf>) -> Self {
        self.socket = Some(path.into());
        self
    }

    /// Name and version of the client.
    pub(crate) fn program(&self) -> (&str, &str) {
        (&self.client.name, &self.client.version)
    }

    /// Timeout of every call in milliseconds, instead of the defaults.
    #[must_use]
    pub const fn request_timeout_ms(mut self, request_timeout_ms: u64) -> Self {
        self.request_timeout_ms = Some(request_timeout_ms);
        self
    }

    /// Milliseconds opening a connection may take, the handshake included.
    #[must_use]
    pub const fn connect_timeout_ms(mut self, connect_timeout_ms: u64) -> Self {
        self.connect_timeout_ms = connect_timeout_ms;
        self
    }
}

impl Client {
    /// Connects to the running daemon and agrees on a version.
    ///
    /// # Errors
    /// [`ClientError::NotRunning`], [`ClientError::Unusable`] or [`ClientError::NoSocket`] if no daemon can be reached;
    /// [`ClientError::TooOld`] or [`ClientError::TooNew`] if there is no common version.
    pub async fn connect(options: ConnectOptions) -> Result<Self, ClientError> {
        let path = match options.socket.clone() {
            Some(path) => path,
            None => socket::default_socket().ok_or(ClientError::NoSocket)?,
        };
        let path = if options.is_agent { of_agents(&path) } else { path };
        let after_ms = options.connect_timeout_ms;
        let opened = tokio::time::timeout(Duration::from_millis(after_ms), open(&path, options));
        opened.await.unwrap_or(Err(ClientError::Timeout { method: "initialize", after_ms }))
    }
}

async fn open(path: &Path, options: ConnectOptions) -> Result<Client, ClientError> {
    let stream = connect(path).await.map_err(|error| unreachable(path, error))?;
    refuse_foreign_daemon(path, &stream)?;
    let client = Client::new(stream, options.request_timeout_ms);
    let hello = InitializeParams {
        client: options.client,
        protocol: Some(RevisionRange::OURS),
        capabilities: None,
        folder: work_folder().filter(|_| options.is_agent),
    };
    let session = client.call::<Initialize>(hello).await.map_err(ClientError::from_handshake)?;
    Ok(client.with_session(session))
}

/// Waits while the daemon's queue of new connections is full: Linux rejects those immediately with `EAGAIN`. The
/// caller bounds the wait.
async fn connect(path: &Path) -> io::Result<UnixStream> {
    loop {
        match UnixStream::connect(path).await {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                tokio::time::sleep(FULL_QUEUE_RETRY).await;
            }
            connected => return connected,
        }
    }
}

/// The folder of this process, for a daemon whose system does not report it.
fn work_folder() -> Option<String> {
    std::env::current_dir().ok()?.into_os_string().into_string().ok()
}

fn unreachable(path: &Path, error: io::Error) -> ClientError {
    let path = path.to_owned();
    match error.kind() {
        io::ErrorKind::NotFound
        | io::ErrorKind::ConnectionRefused
        // The daemon stopped while this connected.
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::NotADirectory => ClientError::NotRunning { path, source: error },
        _ if path.as_os_str().len() > PATH_BYTES_MAX => ClientError::PathTooLong { path },
        _ => ClientError::Unusable { path, reason: error.to_string() },
    }
}

/// Accepts only a socket of our own user or root: another user's would receive transcripts.
fn refuse_foreign_daemon(path: &Path, stream: &UnixStream) -> Result<(), ClientError> {
    let unusable = |reason: String| ClientError::Unusable { path: path.to_owned(), reason };
    let owner = stream.peer_cred().map_err(|error| unusable(error.to_string()))?.uid();
    match owner == rustix::process::getuid().as_raw() || owner == 0 {
        true => Ok(()),
        false => Err(unusable(format!("it belongs to user {owner}"))),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::pin::pin;

    use longhaul_protocol::Retry;

    use super::*;

    #[tokio::test]
    async fn a_path_that_is_too_long_is_named_with_the_limit() {
        let longest = format!("/{}", "x".repeat(PATH_BYTES_MAX - 1));
        for (path, is_too_long) in [(longest.clone(), false), (longest + "x", true)] {
            let path = Path::new(&path);
            let error = unreachable(path, UnixStream::connect(path).await.unwrap_err());
            assert_eq!(matches!(error, ClientError::PathTooLong { .. }), is_too_long, "{error}");
            assert_eq!(error.to_string().contains("108 bytes"), is_too_long, "{error}");
        }
    }

    #[test]
    fn a_daemon_that_stops_meanwhile_does_not_run() {
        let reset = io::Error::from(io::ErrorKind::ConnectionReset);
        let error = unreachable(Path::new("/w/v1.sock"), reset);
        assert!(matches!(error, ClientError::NotRunning { .. }), "{error}");
        assert_ne!(error.retry(), Retry::Never);
    }

    #[tokio::test]
    async fn a_full_queue_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("v1.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let mut queue = Vec::new();
        let refused = loop {
            match UnixStream::connect(&path).await {
                Ok(stream) => queue.push(stream),
                Err(error) => break error,
            }
        };
        assert_eq!(refused.kind(), io::ErrorKind::WouldBlock);
        let mut connecting = pin!(connect(&path));
        tokio::select! {
            biased;
            result = &mut connecting => panic!("{result:?}"),
            () = std::future::ready(()) => {}
        }
        let _accepted = listener.accept().unwrap();
        tokio::time::timeout(Duration::from_secs(20), connecting).await.unwrap().unwrap();
    }
}
