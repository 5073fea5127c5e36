//! The answer to `daemon/status`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::thread::IndexStatus;
use crate::warning::Warning;

/// The state of the daemon. Counters count since its start.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatusResult {
    /// The version of the program.
    pub version: String,
    /// The newest protocol revision it speaks.
    pub protocol: u32,
    /// Process id of the daemon.
    pub pid: u32,
    /// Differs for each start of the daemon.
    pub instance_id: String,
    /// When it started, Unix milliseconds.
    pub started_at: i64,
    /// Milliseconds since then, by a clock that does not jump.
    pub uptime_ms: u64,
    /// The socket it listens on.
    pub socket: String,
    /// The folder that holds its database and runtime files.
    pub state_dir: String,
    /// The database and its last repair.
    pub store: StoreStatus,
    /// The folders it reads transcripts from.
    pub sources: Vec<SourceStatus>,
    /// Progress of reading them.
    pub ingest: IngestStatus,
    /// Progress of the full-text index.
    pub search: IndexStatus,
    /// Open connections, this one included.
    pub connections: u64,
    /// Requests answered since the start.
    pub requests: u64,
    /// Requests or tasks that crashed; each has an entry in the log.
    pub panics: u64,
    /// The configured model and what was spent; absent if none is configured.
    pub model: Option<ModelStatus>,
    /// Cost of our compactions of threads, next to that of the agents' own.
    #[serde(default)]
    pub compactions: CompactionsStatus,
    /// What a person should know.
    pub warnings: Vec<Warning>,
}

/// Cost of our compactions of threads that are stored, next to that of the agents' own.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CompactionsStatus {
    /// How many there are.
    pub compactions: u64,
    /// When the oldest was made, Unix milliseconds; absent where there is none.
    pub since: Option<i64>,
    /// Requests to models for them.
    pub requests: u64,
    /// Tokens of these requests, input and answers.
    pub tokens: u64,
    /// Milliseconds of all of them together.
    pub duration_ms: u64,
    /// Tokens of the compacted histories, an estimate: what requests of their agents would have sent.
    pub history_tokens: u64,
    /// Compactions that agents made by themselves, on the four newest compacted threads, of which anything is recorded.
    #[serde(default)]
    pub agent_compactions: u64,
    /// Tokens of one of these, request and answer: medians of what is recorded.
    pub agent_tokens: Option<u64>,
    /// Milliseconds of one of these, the median.
    pub agent_duration_ms: Option<u64>,
}

/// The configured model.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelStatus {
    /// Its provider, as configured.
    pub provider: String,
    /// The model's name at its provider.
    pub name: String,
    /// Tasks that another model, or another effort, is configured for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskModelStatus>,
    /// Requests since midnight UTC, failed ones included.
    pub requests_today: u64,
    /// Tokens since then, input and answers.
    pub tokens_today: u64,
    /// Maximum requests per day; absent: no bound.
    pub requests_per_day: Option<u64>,
    /// Maximum tokens per day; absent: no bound.
    pub tokens_per_day: Option<u64>,
    /// Maximum requests per job, such as one compaction; absent: no bound.
    pub requests_per_job: Option<u64>,
    /// Maximum tokens per job; absent: no bound.
    pub tokens_per_job: Option<u64>,
}

/// The model of one task.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskModelStatus {
    /// `summary`, `judge`, `extract` or `consolidate`.
    pub task: String,
    /// Its provider, as configured.
    pub provider: String,
    /// The model's name at its provider.
    pub name: String,
    /// Reasoning effort; absent: the provider's default.
    pub effort: Option<String>,
}

/// The database.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoreStatus {
    /// The database file, an absolute path.
    pub path: String,
    /// The version of its tables.
    pub schema_version: u32,
    /// Where the previous database was moved, if this one was rebuilt from the transcripts.
    pub rebuilt_from: Option<String>,
    /// Whether that database was not damaged, but of an older version.
    #[serde(default)]
    pub older_version: bool,
    /// What could be recovered from that database and is in no transcript.
    pub salvaged: Option<SalvageStatus>,
}

/// What was recovered from the previous database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SalvageStatus {
    /// Accepted updates of checkpoints.
    pub updates: u64,
    /// Compactions with their receipts.
    pub compactions: u64,
    /// Rows of the model ledger.
    #[serde(default)]
    pub model_usage: u64,
    /// Rows of the job table.
    #[serde(default)]
    pub jobs: u64,
    /// Whether nothing was lost.
    pub complete: bool,
}

/// A folder of transcripts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SourceStatus {
    /// The program that writes there: `codex`, `claude`, `gemini`, `opencode`, `longhaul`.
    pub source: String,
    /// The folder, an absolute path.
    pub root: String,
    /// Whether it exists and can be read.
    pub exists: bool,
    /// Transcript files found in it.
    pub files: u64,
    /// Threads found in them.
    pub threads: u64,
    /// Bytes of these files.
    pub bytes: u64,
}

/// How far the transcripts are read.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IngestStatus {
    /// Whether there is something left to read.
    pub state: IngestState,
    /// Files waiting to be read.
    pub queued_files: u64,
    /// Bytes read of `bytes_total`.
    pub bytes_done: u64,
    /// Bytes that were unread when catching up began.
    pub bytes_total: u64,
    /// When all folders were last scanned, Unix milliseconds; absent before the first time.
    pub last_scan_at: Option<i64>,
    /// Lines read of all transcripts.
    pub lines: u64,
    /// Lines that are not one JSON object. If a line has several, each is read.
    pub malformed: u64,
    /// Lines over the bound; their position and digest are kept.
    pub oversized: u64,
    /// Lines of a kind unknown to this version; kept unchanged.
    pub unknown: u64,
    /// The newest files that could not be read; a bounded list.
    pub errors: Vec<IngestError>,
}

/// Whether ingestion has something left to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IngestState {
    /// Everything known is read.
    Idle,
    /// Files are being read.
    CatchingUp,
}

/// A file that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IngestError {
    /// The transcript, an absolute path.
    pub path: String,
    /// What the system said.
    pub message: String,
    /// When, Unix milliseconds.
    pub at: i64,
}
