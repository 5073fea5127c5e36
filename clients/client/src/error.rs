//! What can go wrong with the daemon, and what to do next.

use std::io;
use std::path::PathBuf;

use longhaul_protocol::socket::PATH_BYTES_MAX;
use longhaul_protocol::version::Disagreement;
use longhaul_protocol::{Retry, WireError};

/// A call that did not succeed. Branch on [`ClientError::retry`] first.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// No daemon is listening on the socket.
    #[error("no daemon answers on {}", path.display())]
    NotRunning {
        /// The socket that was tried.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The socket cannot be used: permissions, another owner.
    #[error("the socket {} cannot be used: {reason}", path.display())]
    Unusable {
        /// The socket that was tried.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The system has no room for the socket's path.
    #[error("the path of the socket {} has {} bytes: the system allows {PATH_BYTES_MAX}", path.display(), path.as_os_str().len())]
    PathTooLong {
        /// The path.
        path: PathBuf,
    },
    /// There is no home folder to look for a socket in, and none was named.
    #[error("no socket was named and there is no home folder to look in")]
    NoSocket,
    /// The daemon no longer speaks the revisions of this client.
    #[error("this client is too old for the running daemon: {0}")]
    TooOld(String),
    /// The daemon does not speak the revisions of this client yet.
    #[error("this client is too new for the running daemon: {0}")]
    TooNew(String),
    /// The daemon answered with an error.
    #[error("{}", .0.message)]
    Refused(Box<WireError>),
    /// The request is longer than a message may be; it was not sent.
    #[error("the request is too large: {bytes} bytes, at most {max}")]
    TooLarge {
        /// Its length in bytes.
        bytes: usize,
        /// The bound in bytes.
        max: usize,
        /// The only item of it, in a few words.
        item: Option<String>,
    },
    /// The connection ended; whether the request was carried out is not known.
    #[error("the connection to the daemon broke: {0}")]
    Broken(String),
    /// The answer is not a result of the method.
    #[error("the daemon's answer to {method} is invalid: {reason}")]
    Unreadable {
        /// The method.
        method: &'static str,
        /// Where it differs.
        reason: String,
    },
    /// No answer in time; the daemon may still be working on it.
    #[error("the daemon did not answer within {after_ms} ms")]
    Timeout {
        /// The method.
        method: &'static str,
        /// The timeout.
        after_ms: u64,
    },
}

impl ClientError {
    /// What to do next.
    #[must_use]
    pub fn retry(&self) -> Retry {
        match self {
            Self::Refused(error) => error.retry(),
            Self::NotRunning { .. } | Self::Broken(_) => Retry::Reconnect,
            Self::Timeout { .. } => Retry::Backoff,
            Self::Unusable { .. }
            | Self::PathTooLong { .. }
            | Self::NoSocket
            | Self::TooOld(_)
            | Self::TooNew(_)
            | Self::TooLarge { .. }
            | Self::Unreadable { .. } => Retry::Never,
        }
    }

    /// One sentence for a person: what to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Refused(error) => return error.data.as_ref()?.hint.clone(),
            Self::NotRunning { .. } => "start it with: longhaul up",
            Self::Unusable { .. } => "longhaul doctor shows why",
            Self::PathTooLong { .. } => {
                "name a shorter one with LONGHAUL_SOCKET or --socket PATH, for the daemon, too"
            }
            Self::NoSocket => "set LONGHAUL_SOCKET, or name it with --socket PATH",
            Self::TooOld(_) => "update this program, or start the daemon of its version",
            Self::TooNew(_) => "restart the daemon: longhaul down, then longhaul up",
            Self::TooLarge { item: Some(item), .. } => {
                return Some(format!("it was left out of the conversation: {item}"));
            }
            Self::TooLarge { item: None, .. } => "name the thread instead of sending its items",
            Self::Broken(_) => "longhaul status says whether the daemon is running",
            Self::Unreadable { .. } => "client and daemon are incompatible; update both",
            Self::Timeout { .. } => "longhaul status says what the daemon is doing",
        };
        Some(hint.to_owned())
    }

    /// Reads which end is too old from a rejected handshake.
    pub(crate) fn from_handshake(error: Self) -> Self {
        let Self::Refused(wire) = &error else { return error };
        let detail = wire.data.as_ref().and_then(|data| data.detail.as_ref());
        let older = detail.and_then(|detail| detail.get("disagreement").cloned());
        match older.and_then(|end| serde_json::from_value(end).ok()) {
            Some(Disagreement::ClientTooOld) => Self::TooOld(wire.message.clone()),
            Some(Disagreement::DaemonTooOld) => Self::TooNew(wire.message.clone()),
            None => error,
        }
    }
}
