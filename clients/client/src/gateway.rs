//! The gateway: its settings, and its status.
//!
//! `longhaul install codex --gateway` writes the settings, the gateway reads them when it starts, and our programs can
//! ask a running gateway for its status. The path of every request begins with a secret, so that another user of
//! the machine, who can reach the port, cannot use it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::socket;

/// Prefix of the text that represents a view in an agent's history, in any version. Never send one to a provider.
pub const MARKER: &str = "longhaul-view-";

/// Timeout in milliseconds of asking a gateway for its status.
const ASK_MS: u64 = 500;
/// Timeout in milliseconds of a connection within this machine.
const CONNECT_MS: u64 = 20;
const STATUS_BYTES_MAX: u64 = 64 * 1024;
const SECRET_BYTES: usize = 16;

/// Where a gateway listens, and where it forwards requests.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GatewaySettings {
    /// On 127.0.0.1.
    pub port: u16,
    /// 128 random bits in hexadecimal: the first part of every path.
    pub secret: String,
    /// By the name of the provider in the agent's settings, the second part of every path.
    pub routes: BTreeMap<String, GatewayRoute>,
}

/// Where the requests of one provider go.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GatewayRoute {
    /// The provider's own base URL; absent: that of the agent's built-in provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream: Option<String>,
    /// The agent's previous setting of websockets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supports_websockets: Option<bool>,
    /// Summary prompts that the agent's settings use instead of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compact_prompts: Vec<String>,
}

impl GatewaySettings {
    /// Settings with a new secret and no routes.
    ///
    /// # Errors
    /// The system has no random bytes.
    pub fn new(port: u16) -> io::Result<Self> {
        let mut random = [0_u8; SECRET_BYTES];
        fs::File::open("/dev/urandom")?.read_exact(&mut random)?;
        let secret = random.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { port, secret, routes: BTreeMap::new() })
    }

    /// Their file; `None` for a user without a home folder. `state_dir` of the configuration does not move it: a Codex
    /// that uses the gateway could not reach its provider afterwards.
    #[must_use]
    pub fn path() -> Option<PathBuf> {
        Some(socket::state_dir(None)?.join("gateway.json"))
    }

    /// Reads them; `None` if there is no such file.
    ///
    /// # Errors
    /// The file cannot be read, or has no settings of this version.
    pub fn read(path: &Path) -> io::Result<Option<Self>> {
        match fs::read(path) {
            Ok(text) => Ok(Some(serde_json::from_slice(&text)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// This user's settings, if they can be read.
    #[must_use]
    pub fn in_force() -> Option<Self> {
        Self::read(&Self::path()?).ok()?
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddrV4 {
        SocketAddrV4::new(Ipv4Addr::LOCALHOST, self.port)
    }

    /// The base URL for an agent to reach a provider.
    #[must_use]
    pub fn base_url(&self, route: &str) -> String {
        format!("http://{}/{}/{route}", self.address(), self.secret)
    }

    /// Whether nothing listens there, so that the agent cannot reach its provider.
    #[must_use]
    pub fn is_down(&self) -> bool {
        let limit = Duration::from_millis(CONNECT_MS);
        let tried = TcpStream::connect_timeout(&self.address().into(), limit);
        tried.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    }

    /// Asks the gateway that listens there for its status.
    ///
    /// # Errors
    /// `ConnectionRefused` if nothing listens; `InvalidData` if it is not a gateway with these settings.
    pub fn ask(&self) -> io::Result<GatewayStatus> {
        let limit = Duration::from_millis(ASK_MS);
        let mut stream = TcpStream::connect_timeout(&self.address().into(), limit)?;
        stream.set_read_timeout(Some(limit))?;
        stream.set_write_timeout(Some(limit))?;
        let (secret, address) = (&self.secret, self.address());
        let request =
            format!("GET /{secret} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes())?;
        let mut answer = Vec::new();
        stream.take(STATUS_BYTES_MAX).read_to_end(&mut answer)?;
        let answer = String::from_utf8_lossy(&answer);
        let body =
            answer.strip_prefix("HTTP/1.1 200 ").and_then(|rest| rest.split_once("\r\n\r\n"));
        let (_, body) = body.ok_or(io::ErrorKind::InvalidData)?;
        Ok(serde_json::from_str(body)?)
    }
}

/// The status of a gateway.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatewayStatus {
    /// The version of its program.
    pub version: String,
    /// Its process.
    pub pid: u32,
    /// Requests passed to a provider.
    pub passed: u64,
    /// Compactions answered without a model.
    pub answered: u64,
    /// Compactions left to the provider.
    pub left: u64,
    /// The last compaction, answered or left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<GatewayCompaction>,
}

/// The outcome of a compaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatewayCompaction {
    /// When, Unix milliseconds.
    pub at_ms: i64,
    /// From the end of the request to the answer, or to the decision to pass it on, milliseconds.
    pub ms: u64,
    /// Why it was left to the provider; absent if it was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_has_128_bits_and_is_never_the_same() {
        let [one, other] = [GatewaySettings::new(1), GatewaySettings::new(1)].map(Result::unwrap);
        assert_eq!(one.secret.len(), 32);
        assert_ne!(one.secret, other.secret);
        assert_eq!(one.base_url("corp"), format!("http://127.0.0.1:1/{}/corp", one.secret));
    }
}
