//! The shape of the configuration file.
//!
//! Every key may be left out; a key that is not here is refused, with the nearest one that is as the
//! hint: a misspelt key that is passed over in silence is worse than none.

use std::collections::BTreeMap;
use std::path::PathBuf;

use longhaul_core::memory::Engine;
use longhaul_core::policy::PolicyTable;
use longhaul_core::thread::Source;
use serde::Deserialize;

use super::ConfigError;
use super::jobs::JobTables;
use super::model::{BudgetTable, Model, ProviderTable};
use super::sources::{self, SourceTable};

/// `config.toml`, as written by a person.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct File {
    /// Folder for the database and whatever else the daemon remembers.
    pub state_dir: Option<PathBuf>,
    /// Unix socket the daemon listens on; its folder must be yours alone (mode 0700).
    pub socket: Option<PathBuf>,
    /// What to log: `error`, `warn`, `info`, `debug`, `trace`, or a tracing filter.
    pub log: Option<String>,
    /// The agents whose transcripts are read.
    pub sources: BTreeMap<Source, SourceTable>,
    /// Reading transcripts.
    pub ingest: Ingest,
    /// What was compacted.
    pub compaction: Compaction,
    /// Context windows.
    pub context: Context,
    /// Prompts kept for recall.
    pub message_history: MessageHistory,
    /// Long-term memory.
    pub memory: Memory,
    /// The socket server.
    pub server: Server,
    /// The model that is asked for summaries and memory.
    pub model: Option<Model>,
    /// Who can be asked, by name.
    pub providers: BTreeMap<String, ProviderTable>,
    /// What may be spent.
    pub budget: BudgetTable,
    /// When threads are to be compacted.
    pub policy: PolicyTable,
    /// Policies that are only watched, by name.
    pub shadow_policy: BTreeMap<String, PolicyTable>,
    /// Background jobs.
    pub jobs: JobTables,
    /// Looking at the repositories that threads work in.
    pub repository: Repository,
}

/// `[ingest]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Ingest {
    /// Seconds between two full looks at every source; file events are only hints. 1 to 86400.
    pub scan_interval_s: Option<u64>,
}

/// `[compaction]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Compaction {
    /// Days a compaction can be shown and undone. 1 to 36500.
    pub keep_days: Option<u64>,
    /// Newest compactions kept of each thread. 1 to 100000.
    pub keep_per_thread: Option<u64>,
}

/// `[context]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Context {
    /// Tokens of every model's window; 0: as its transcript or name tells. 0 to 100000000.
    pub window_tokens: Option<u64>,
    /// Percent of the context window at which to compact, 0 for never. 0 to 95.
    pub auto_compact_percent: Option<u64>,
}

/// `[message_history]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MessageHistory {
    /// `save-all`, or `none`: no prompt is written down.
    pub persistence: Option<Persistence>,
    /// Bytes of the file; over it, the oldest go until four fifths are left. 1024 to 67108864.
    pub max_bytes: Option<u64>,
}

/// Whether prompts are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Persistence {
    /// All that are sent to us.
    #[default]
    SaveAll,
    /// None.
    None,
}

impl std::fmt::Display for Persistence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::SaveAll => "save-all",
            Self::None => "none",
        })
    }
}

/// `[memory]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Memory {
    /// Whether memory is made in the background; without a model, and nothing leaves the machine.
    pub enabled: Option<bool>,
    /// Hours a thread must rest before it is extracted. 0 to 8760.
    pub min_idle_hours: Option<u64>,
    /// Days after which a thread is too old to be extracted. 1 to 36500.
    pub max_age_days: Option<u64>,
    /// Threads that memory is made of. 1 to 4096.
    pub max_threads: Option<u64>,
    /// Days after which a thread whose memory nobody used is left out. 1 to 36500.
    pub max_unused_days: Option<u64>,
    /// Tokens of `memory_summary.md`. 500 to 100000.
    pub summary_tokens: Option<u64>,
    /// Whether threads that a script ran once count.
    pub takes_exec: Option<bool>,
    /// What makes memory: `deterministic` or `model`.
    pub engine: Option<Engine>,
    /// Whether a thread that the model cannot read is read without one.
    pub fallback: Option<bool>,
    /// Seconds for one answer, tries together. 1 to 3000.
    pub answer_timeout_s: Option<u64>,
    /// Requests of one run of the consolidation agent. 1 to 200.
    pub agent_turns: Option<u64>,
    /// Tokens of one run of the consolidation agent. 1000 to 100000000.
    pub agent_tokens: Option<u64>,
    /// Seconds of one run of the consolidation agent. 1 to 36000.
    pub agent_timeout_s: Option<u64>,
    /// Whether threads that used the network, or tools that reach outside, are left out.
    pub excludes_outside: Option<bool>,
}

/// `[repository]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Repository {
    /// Whether git is asked about the folder a thread works in.
    pub observe: Option<bool>,
    /// Whether what Graphite left there is read, too.
    pub graphite: Option<bool>,
    /// Milliseconds of one look. 50 to 30000.
    pub timeout_ms: Option<u64>,
}

/// `[server]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Server {
    /// Clients connected at the same time. 1 to 65536.
    pub connections_max: Option<u64>,
    /// Milliseconds a client may leave an answer unread before it is disconnected. 10 to 3600000.
    pub write_timeout_ms: Option<u64>,
    /// Milliseconds requests in flight get to finish when the daemon stops. 0 to 60000.
    pub drain_ms: Option<u64>,
    /// Threads that serve clients, besides those for blocking work. 1 to 64.
    pub worker_threads: Option<u64>,
}

/// Every key, for hints and for the test that each of them is documented.
pub const KEYS: &[&str] = &[
    "state_dir",
    "socket",
    "log",
    "sources",
    "ingest",
    "ingest.scan_interval_s",
    "compaction",
    "compaction.keep_days",
    "compaction.keep_per_thread",
    "context",
    "context.window_tokens",
    "context.auto_compact_percent",
    "message_history",
    "message_history.persistence",
    "message_history.max_bytes",
    "memory",
    "memory.enabled",
    "memory.min_idle_hours",
    "memory.max_age_days",
    "memory.max_threads",
    "memory.max_unused_days",
    "memory.summary_tokens",
    "memory.takes_exec",
    "memory.engine",
    "memory.fallback",
    "memory.answer_timeout_s",
    "memory.agent_turns",
    "memory.agent_tokens",
    "memory.agent_timeout_s",
    "memory.excludes_outside",
    "server",
    "server.connections_max",
    "server.write_timeout_ms",
    "server.drain_ms",
    "server.worker_threads",
    "budget",
    "budget.requests_per_day",
    "budget.tokens_per_day",
    "budget.requests_per_job",
    "budget.tokens_per_job",
    "repository",
    "repository.observe",
    "repository.graphite",
    "repository.timeout_ms",
];

/// Keys of tables that are not there by default, for hints and for the same test.
pub const OPTIONAL_KEYS: &[&str] = &[
    "sources.NAME.home",
    "sources.NAME.enabled",
    "model",
    "model.provider",
    "model.name",
    "model.context_window",
    "model.effort",
    "model.max_output_tokens",
    "providers",
    "providers.NAME.kind",
    "providers.NAME.base_url",
    "providers.NAME.key_env",
    "providers.NAME.key_command",
    "providers.NAME.command",
    "providers.NAME.headers",
    "providers.NAME.idle_timeout_ms",
    "providers.NAME.remote_compaction",
    "policy",
    "policy.mode",
    "policy.packet_author",
    "policy.scratch",
    "policy.judge",
    "policy.on_judgment_failure",
    "policy.judgment_timeout_ms",
    "policy.wait_ms",
    "policy.compactions_per_hour",
    "policy.semantic",
    "policy.compaction_model",
    "policy.compaction_effort",
    "policy.TIER.percent_remaining_lt",
    "policy.TIER.requires_any_boundary",
    "policy.TIER.plan_boundaries_require_semantic_break",
    "policy.TIER.judgment",
    "policy.phrases.agent_done",
    "policy.phrases.topic_shift",
    "policy.phrases.concluding_thought",
    "policy.phrases.negation",
    "shadow_policy.NAME",
    "jobs",
    "jobs.KIND.lease_s",
    "jobs.KIND.retry_s",
    "jobs.KIND.retry_max_s",
    "jobs.KIND.attempts",
    "jobs.KIND.parallel",
    "jobs.KIND.outside",
];

/// Similarity from which another key counts as what was meant, from 0 to 1.
///
/// # Source
/// Chosen: `scan_intervall` and `scan_interval` meet it, `color` and `log` do not.
const MEANT: f64 = 0.7;

impl File {
    /// Reads the text of a configuration file.
    ///
    /// # Errors
    /// [`ConfigError::Syntax`] with line, reason and, for an unknown key, the nearest known one.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let line = text[..at.min(text.len())].matches('\n').count() + 1;
            let reason = error.message().to_owned();
            let hint = unknown_key(&reason).and_then(nearest_key);
            ConfigError::Syntax { line, reason, hint }
        })
    }
}

/// The key an error of serde complains about.
fn unknown_key(reason: &str) -> Option<&str> {
    reason.strip_prefix("unknown field `")?.split('`').next()
}

/// The known key most like `key`, and where it belongs.
fn nearest_key(key: &str) -> Option<&'static str> {
    if let Some(table) = sources::table_of(key) {
        return Some(table);
    }
    let likeness = |known: &&str| {
        let last = known.rsplit('.').next().unwrap_or(known);
        strsim::jaro_winkler(key, last).max(strsim::jaro_winkler(key, known))
    };
    let keys = KEYS.iter().chain(OPTIONAL_KEYS);
    let nearest = keys.max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    (likeness(nearest) >= MEANT).then_some(nearest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_file_is_read() {
        let file = File::parse(
            "log = \"debug\"\n[sources.codex]\nhome = \"~/.codex\"\n[ingest]\nscan_interval_s = 5\n",
        )
        .unwrap();
        assert_eq!(file.log.as_deref(), Some("debug"));
        assert_eq!(file.sources[&Source::Codex].home, Some("~/.codex".into()));
        assert_eq!(file.ingest.scan_interval_s, Some(5));
        assert_eq!(File::parse("").unwrap(), File::default());
    }

    #[test]
    fn an_unknown_key_is_refused_with_its_line_and_the_one_that_was_meant() {
        let check = |text: &str, line: usize, hint: Option<&str>| match File::parse(text) {
            Err(ConfigError::Syntax { line: at, hint: said, reason }) => {
                assert_eq!((at, said), (line, hint), "{text}: {reason}");
            }
            other => panic!("{text}: {other:?}"),
        };
        check("sockt = \"/x\"", 1, Some("socket"));
        check("\n[ingest]\nscan_intervall = 5\n", 3, Some("ingest.scan_interval_s"));
        check("drain_ms = 5", 1, Some("server.drain_ms"));
        check("[codex]", 1, Some("sources.codex"));
        check("[sources.codx]", 1, None);
        check("zzz = 5", 1, None);
        check("foo = 1", 1, None);
        check("log = 5", 1, None);
        check("log = ", 1, None);
    }
}
