//! Building memory, and its state.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

/// `memory/run`: extracts what is due and publishes memory again.
///
/// Waits until it is done, unless `wait` is false; `memory_progress` events report its progress.
///
/// # Errors
/// `thread_not_found`, `deadline_exceeded` (the run continues).
pub struct Run;

/// How.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "MemoryRunParams")]
pub struct RunParams {
    /// Only this thread; if a person asks, even one that is not idle yet.
    pub thread_id: Option<String>,
    /// Include threads that are not idle long enough or too old; absent: false.
    pub all: Option<bool>,
    /// Answer when it is done; absent: true.
    pub wait: Option<bool>,
    /// The calling thread, which is excluded.
    pub current_thread_id: Option<String>,
}

/// State of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// Memory is up to date.
    Done,
    /// Jobs are running.
    Started,
}

/// Its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MemoryRunResult")]
pub struct RunResult {
    /// Whether its jobs still run.
    pub state: RunState,
    /// Threads that the daemon knows.
    pub threads: u64,
    /// Threads that were extracted by this run.
    pub extracted: u64,
    /// Extracted threads without learnings.
    pub empty: u64,
    /// Those that failed; `longhaul job list --kind extract` says why.
    pub failed: u64,
    /// Threads that were read without the configured model; `memory/status` says why. The model reads them
    /// later.
    #[serde(default)]
    pub fallbacks: u64,
    /// Threads that were skipped, by reason.
    pub skipped: Vec<SkipCount>,
    /// Number of the published memory.
    pub generation: u64,
    /// Whether this run changed it.
    pub changed: bool,
    /// Whether a model now edits its files, which this run does not wait for: see the job `curate/`, and `agent` of
    /// `memory/status` afterwards.
    #[serde(default)]
    pub editing: bool,
    /// Duration of the run in milliseconds.
    pub duration_ms: u64,
}

/// Threads excluded for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkipCount {
    /// Stable name: `excluded`, `ephemeral`, `not_interactive`, `reached_outside`, `current`,
    /// `nothing_new`, `no_request`, `too_small`, `too_old`, `busy`, `gone`.
    pub reason: String,
    /// For a person, of one of them.
    pub text: String,
    /// Threads that were skipped for this reason.
    pub threads: u64,
}

/// `memory/status`: the state of memory.
pub struct Status;

/// Of what.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "MemoryStatusParams")]
pub struct StatusParams {
    /// Also why this thread is or is not extracted.
    pub thread_id: Option<String>,
}

/// The state of memory.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MemoryStatusResult")]
pub struct StatusResult {
    /// Whether it is built in the background.
    pub enabled: bool,
    /// The engine: `deterministic` or `model`.
    pub engine: String,
    /// Threads that were read without the configured model, by reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<Fallback>,
    /// The last run of the agent that edits the files; absent before the first.
    pub agent: Option<AgentRun>,
    /// The folder of memory, an absolute path.
    pub path: String,
    /// Number of the published memory; 0: none is published yet.
    pub generation: u64,
    /// When it was published.
    pub published_at: Option<i64>,
    /// Threads it was built from.
    pub threads: u64,
    /// Threads that were extracted.
    pub extracted: u64,
    /// Learnings of all extracted threads.
    pub learnings: u64,
    /// Notes, pending ones included.
    pub notes: u64,
    /// Notes of agents and programs that wait for a person: `memory/list_notes`.
    #[serde(default)]
    pub notes_pending: u64,
    /// Threads that are due.
    pub due: u64,
    /// Jobs of memory that run or wait.
    pub pending: u64,
    /// Threads that are skipped, by reason.
    pub skipped: Vec<SkipCount>,
    /// How often each kind of file was used.
    pub uses: Vec<MemoryUse>,
    /// Why it last failed, until it succeeds.
    pub failure: Option<String>,
    /// Why the given thread is skipped; absent when it is due or none was given.
    pub skip_reason: Option<SkipCount>,
}

/// How often a kind of file was used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryUse {
    /// `memory_md`, `memory_summary`, `raw_memories`, `rollout_summaries` or `skills`.
    pub kind: String,
    /// How often it was cited or read.
    pub uses: u64,
    /// When it was last cited or read, Unix milliseconds.
    pub last_at: i64,
}

/// Threads that were read without the configured model, for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fallback {
    /// A stable name and words: `rate_limited: HTTP 429: slow down`.
    pub reason: String,
    /// Threads that were extracted by the rules alone for this reason.
    pub threads: u64,
}

/// A run of the agent that edits the files of memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentRun {
    /// `published`, `unchanged`, or why nothing of it was published: `sandbox_unavailable`, `turns_spent`,
    /// `tokens_spent`, `timeout`, `window_spent`, `step_unreadable`, `result_refused`, `worker_failed`,
    /// `overtaken`, or a fault of the provider such as `rate_limited`.
    pub outcome: String,
    /// The same for a person.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// What it was given: `init` (everything) or `incremental` (what changed since its last success).
    pub mode: String,
    /// Requests to the model.
    pub turns: u64,
    /// Tokens of all requests of the run.
    pub tokens: u64,
    /// When the run ended, Unix milliseconds.
    pub at: i64,
}
