//! `initialize` and `daemon/*`: the handshake, health and operation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::RevisionRange;
use crate::limit::Limits;

mod metrics;
mod status;

pub use metrics::{MethodMetrics, Metrics, MetricsResult, ProcessMetrics};
pub use status::{
    CompactionsStatus, IngestError, IngestState, IngestStatus, ModelStatus, SalvageStatus,
    SourceStatus, StatusResult, StoreStatus, TaskModelStatus,
};

/// `initialize`: agrees on a revision and on capabilities. Optional: a connection that skips it speaks the
/// oldest revision of the major and holds the baseline capabilities.
pub struct Initialize;

/// The caller, and what it supports.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InitializeParams {
    /// The calling program, for the daemon's log.
    pub client: ClientInfo,
    /// The revisions it speaks; absent: the oldest one.
    pub protocol: Option<RevisionRange>,
    /// The capabilities it asks for; absent: the baseline. Unknown names are not granted.
    pub capabilities: Option<Vec<String>>,
    /// The folder an agent works in, an absolute path. Read on the agents' socket only: it must lie in the
    /// project of the folder that the daemon sees the process run in, and is used where the system does not tell.
    pub folder: Option<String>,
}

/// A program that calls the daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClientInfo {
    /// Its name, for example `longhaul-cli`; at most 128 bytes.
    pub name: String,
    /// Its version; at most 64 bytes.
    pub version: String,
}

/// What was agreed on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InitializeResult {
    /// The revision both ends speak from now on.
    pub protocol: u32,
    /// The daemon that answers.
    pub server: ServerInfo,
    /// The capabilities granted to this connection, sorted.
    pub capabilities: Vec<String>,
    /// The methods this connection may call.
    pub methods: Vec<String>,
    /// Bounds that this daemon enforces.
    pub limits: Limits,
}

/// A running daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerInfo {
    /// Always `longhauld`.
    pub name: String,
    /// The version of the program.
    pub version: String,
    /// Differs for each start of the daemon: a client that sees a new one reads its state again.
    pub instance_id: String,
    /// Process id of the daemon.
    pub pid: u32,
}

/// The params of methods that take none; `params` may be omitted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoParams {}

/// `daemon/status`: the state of the daemon.
pub struct Status;

/// `daemon/config`: the current values and where each comes from.
pub struct ShowConfig;

/// The daemon's configuration. No value contains a provider's key.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShowConfigResult {
    /// The configuration file that was read; absent: there is none at the default place.
    pub file: Option<String>,
    /// Where the file is, or would be.
    pub path: String,
    /// Every key, in the order of the file.
    pub values: Vec<ConfigValue>,
}

/// A key of the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigValue {
    /// Its dotted name in the file: `compaction.keep_days`.
    pub key: String,
    /// The current value, as text.
    pub value: String,
    /// `default`, `file`, `environment NAME` or `flag NAME`.
    pub origin: String,
}

/// `daemon/reload`: reloads the configuration file. Keys that can change while the daemon runs apply at once;
/// an invalid file (`config_invalid`) changes nothing.
pub struct Reload;

/// The changes to the configuration.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReloadResult {
    /// The configuration file that was read; absent: there is none at the default place.
    pub file: Option<String>,
    /// The keys whose value differs; empty: nothing changed.
    pub changes: Vec<ConfigChange>,
}

/// A value that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigChange {
    /// Dotted path of the key in the configuration file.
    pub key: String,
    /// The value until now.
    pub before: String,
    /// The value of the file.
    pub after: String,
    /// True: applied; false: applies after a restart of the daemon.
    pub applied: bool,
}

/// `daemon/shutdown`: answers, finishes what is in flight, and ends. Under socket activation the next
/// connection starts a new daemon.
pub struct Shutdown;

/// The daemon that is ending. It is gone when its socket no longer answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShutdownResult {
    /// Its process id, to wait for.
    pub pid: u32,
    /// Other requests still in progress.
    pub requests_in_flight: u64,
}
