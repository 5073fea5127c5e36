//! Who is asked, and how they are reached.

use std::time::Duration;

use longhaul_core::compaction::remote;
use longhaul_core::context::normalize;
use longhaul_core::model::{Ask, Endpoint, Fault, FaultKind, WireApi};
use tokio::process::Command;

#[derive(Debug, Clone, PartialEq)]
pub struct Provider {
    /// How it is spoken to.
    pub kind: Kind,
    /// Where, for HTTP: the URL that `responses`, `chat/completions` or `messages` is added to.
    pub base_url: String,
    pub key: KeySource,
    pub headers: Vec<(String, String)>,
    /// How long it is waited for.
    pub timeouts: Timeouts,
    /// Whether it can compact a history itself.
    pub remote: RemoteSetting,
}

/// How a provider is spoken to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Over HTTP, in one of the known forms.
    Http(WireApi),
    /// A program with its arguments: the request (in the Responses form) on its standard input, the
    /// words of the answer on its standard output, status 0.
    Command(Vec<String>),
}

/// Where a key is. It is never in the configuration itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// Nowhere: a local server needs none.
    None,
    /// In this environment variable of the daemon.
    Environment(String),
    /// This program prints it.
    Command(Vec<String>),
}

/// How long a provider is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Until the connection stands.
    pub connect: Duration,
    /// Between two pieces of an answer. Models that think long send nothing meanwhile.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { connect: Duration::from_secs(10), idle: Duration::from_secs(120) }
    }
}

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

/// The same, and whether a person said so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemoteSetting {
    Said(Remote),
    /// By the provider's name or address.
    Assumed(Remote),
}

/// How long a program may take to print a key.
const KEY_COMMAND: Duration = Duration::from_secs(20);

/// What stands in the place of a credential.
const HIDDEN: &str = "[hidden]";
/// Bytes from which a header's value is looked for in what a provider says.
const CREDENTIAL_BYTES_MIN: usize = 6;

impl Provider {
    /// The body of a request. Every request to a model passes here, so this is where its input is made legal: a
    /// provider refuses a whole history for one call without an output.
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

    /// A fault that does not repeat the key, the value of a header or what stands behind the `?` of the URL.
    pub(super) fn without_credentials(&self, mut fault: Fault, key: Option<&str>) -> Fault {
        let headers = self.headers.iter().map(|(_, value)| value.as_str());
        let query = self.base_url.split_once('?').map(|(_, query)| query);
        for credential in headers.chain(query).chain(key) {
            // Shorter ones, such as a version, would take letters out of ordinary words.
            if credential.len() < CREDENTIAL_BYTES_MIN {
                continue;
            }
            fault.detail = fault.detail.replace(credential, HIDDEN);
            // A long message is cut, possibly inside of it.
            let detail = fault.detail.trim_end_matches('…');
            let ends = (CREDENTIAL_BYTES_MIN..credential.len()).rev();
            let mut begun = ends.filter_map(|end| credential.get(..end));
            if let Some(begun) = begun.find(|begun| detail.ends_with(begun)) {
                fault.detail = format!("{}{HIDDEN}", &detail[..detail.len() - begun.len()]);
            }
        }
        fault
    }

    /// The key, `None` where none is needed.
    pub(super) async fn key(&self) -> Result<Option<String>, Fault> {
        let missing = |detail: &str| Fault::new(FaultKind::Unauthorized, detail);
        match &self.key {
            KeySource::None => Ok(None),
            KeySource::Environment(name) => match std::env::var(name) {
                Ok(key) if !key.trim().is_empty() => Ok(Some(key.trim().to_owned())),
                _ => Err(missing(&format!("the environment variable {name} holds no key"))),
            },
            KeySource::Command(argv) => {
                let Some((program, arguments)) = argv.split_first() else {
                    return Err(missing("key_command is empty"));
                };
                let mut command = Command::new(program);
                command.args(arguments).stdin(std::process::Stdio::null()).kill_on_drop(true);
                let output = tokio::time::timeout(KEY_COMMAND, command.output()).await;
                let failed = || missing(&format!("key_command `{program}` gave no key"));
                let output = output.map_err(|_| failed())?.map_err(|_| failed())?;
                let key = String::from_utf8_lossy(&output.stdout).trim().to_owned();
                let gave_one = output.status.success() && !key.is_empty();
                if gave_one { Ok(Some(key)) } else { Err(failed()) }
            }
        }
    }
}
