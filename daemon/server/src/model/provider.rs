//! Providers of models, and their credentials.

use std::time::Duration;

use longhaul_core::compaction::remote;
use longhaul_core::context::normalize;
use longhaul_core::model::{Ask, Endpoint, Fault, FaultKind, WireApi};
use tokio::process::Command;

#[derive(Debug, Clone, PartialEq)]
pub struct Provider {
    /// The provider's API.
    pub kind: Kind,
    /// For HTTP: the URL to which `responses`, `chat/completions` or `messages` is appended.
    pub base_url: String,
    pub key: KeySource,
    pub headers: Vec<(String, String)>,
    /// Between two pieces of an answer.
    pub idle_timeout: Duration,
    /// Whether it can compact a history itself.
    pub remote: RemoteSetting,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    Http(WireApi),
    /// A program with its arguments: it gets the request (Responses format) on its standard input, and prints the text of
    /// the answer on its standard output, with status 0.
    Command(Vec<String>),
}

/// Where to get a key, which is never in the configuration itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// No key, for a local server.
    None,
    /// This environment variable of the daemon.
    Environment(String),
    /// The output of this program.
    Command(Vec<String>),
}

/// Default time between two pieces of an answer. Models that think long send nothing in between.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(120);

/// Whether and how a provider compacts a history itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Remote {
    #[default]
    No,
    /// By `POST …/responses/compact`.
    Unary,
    /// By an ordinary streamed request that ends in a trigger item.
    Streamed,
}

/// The setting, and whether a person made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemoteSetting {
    Configured(Remote),
    /// By the provider's name or address.
    Assumed(Remote),
}

/// Time limit of a program that prints a key.
const KEY_COMMAND: Duration = Duration::from_secs(20);

/// Replaces a credential.
const HIDDEN: &str = "[hidden]";
/// Minimum bytes of a header's value to hide in a provider's messages.
const CREDENTIAL_BYTES_MIN: usize = 6;

impl Provider {
    /// The body of a request. Every request passes here, so this is where its input is made valid: providers reject a
    /// whole history because of one call without an output.
    pub(super) fn body(&self, ask: &Ask<'_>) -> Vec<u8> {
        let mut input = normalize::for_request(ask.input, ask.without_images);
        if ask.endpoint == Endpoint::StreamedCompact {
            input.push(remote::trigger());
        }
        let ask = Ask { input: &input, ..*ask };
        match &self.kind {
            Kind::Http(wire) => wire.body(&ask),
            Kind::Command(_) => WireApi::Responses.body(&ask),
        }
    }

    /// Removes the key, the values of headers and the query of the URL from a fault.
    pub(super) fn without_credentials(&self, mut fault: Fault, key: Option<&str>) -> Fault {
        let headers = self.headers.iter().map(|(_, value)| value.as_str());
        let query = self.base_url.split_once('?').map(|(_, query)| query);
        for credential in headers.chain(query).chain(key) {
            // Shorter values, such as a version, would hide parts of ordinary words.
            if credential.len() < CREDENTIAL_BYTES_MIN {
                continue;
            }
            fault.detail = fault.detail.replace(credential, HIDDEN);
            // A long message is truncated, possibly inside the credential.
            let detail = fault.detail.trim_end_matches('…');
            let ends = (CREDENTIAL_BYTES_MIN..credential.len()).rev();
            let mut prefixes = ends.filter_map(|end| credential.get(..end));
            if let Some(prefix) = prefixes.find(|prefix| detail.ends_with(prefix)) {
                fault.detail = format!("{}{HIDDEN}", &detail[..detail.len() - prefix.len()]);
            }
        }
        fault
    }

    /// The key; `None` if none is needed.
    pub(super) async fn key(&self) -> Result<Option<String>, Fault> {
        let missing = |detail: &str| Fault::new(FaultKind::Unauthorized, detail);
        match &self.key {
            KeySource::None => Ok(None),
            KeySource::Environment(name) => match std::env::var(name) {
                Ok(key) if !key.trim().is_empty() => Ok(Some(key.trim().to_owned())),
                _ => Err(missing(&format!("the environment variable {name} contains no key"))),
            },
            KeySource::Command(argv) => {
                let Some((program, arguments)) = argv.split_first() else {
                    return Err(missing("key_command is empty"));
                };
                let mut command = Command::new(program);
                command.args(arguments).stdin(std::process::Stdio::null()).kill_on_drop(true);
                let output = tokio::time::timeout(KEY_COMMAND, command.output()).await;
                let failed = || missing(&format!("key_command `{program}` printed no key"));
                let output = output.map_err(|_| failed())?.map_err(|_| failed())?;
                let key = String::from_utf8_lossy(&output.stdout).trim().to_owned();
                let has_key = output.status.success() && !key.is_empty();
                if has_key { Ok(Some(key)) } else { Err(failed()) }
            }
        }
    }
}
