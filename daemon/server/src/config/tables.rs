//! The tables of the file whose keys have a default. Each key is declared once, here.
//!
//! A row is the key with its type, its default and, for a number, its bounds. Reading, checking and listing are
//! generated from it. `config.example.toml` explains the keys; a test compares it with this list.

use std::fmt::Display;
use std::ops::RangeInclusive;

use longhaul_core::memory::Engine;
use longhaul_protocol::limit::CONNECTIONS_MAX;
use serde::Deserialize;

use super::{ConfigError, Entry, Origin, Setting};

macro_rules! table {
    ($(#[$meta:meta])* $table:literal $name:ident {
        $($(#[$key_meta:meta])* $key:ident: $type:ty = $default:expr $(, $bounds:expr)?;)+
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct $name {
            $($(#[$key_meta])* pub $key: Setting<$type>,)+
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($key: Setting { value: $default, origin: Origin::Default },)+ }
            }
        }

        impl $name {
            pub(super) fn check(&self) -> Result<(), ConfigError> {
                $($(within(concat!($table, ".", stringify!($key)), *self.$key, $bounds)?;)?)+
                Ok(())
            }

            /// In the order of the file.
            pub(super) fn entries(&self) -> Vec<Entry> {
                vec![$(entry(concat!($table, ".", stringify!($key)), &self.$key),)+]
            }
        }
    };
}

fn within(
    key: &'static str,
    given: impl TryInto<u64>,
    bounds: RangeInclusive<u64>,
) -> Result<(), ConfigError> {
    let (given, (min, max)) = (given.try_into().unwrap_or(u64::MAX), bounds.into_inner());
    match (min..=max).contains(&given) {
        true => Ok(()),
        false => Err(ConfigError::OutOfBounds { key, given, min, max }),
    }
}

pub(super) fn entry<T: Display>(key: &str, setting: &Setting<T>) -> Entry {
    (key.to_owned(), setting.value.to_string(), setting.origin.clone())
}

table! { "ingest" Ingest {
    /// Between two full scans of the sources; file events are only hints.
    scan_interval_s: u64 = 60, 1..=86_400;
} }

table! { "compaction" Compaction {
    keep_days: u64 = 90, 1..=36_500;
    keep_per_thread: u64 = 200, 1..=100_000;
} }

table! { "context" Context {
    /// For every model; 0: from its transcript or name.
    window_tokens: u64 = 0, 0..=100_000_000;
    /// At which to compact, 0 for never. The default is that of the agents; more than the effective window is never
    /// reached.
    auto_compact_percent: u64 = 90, 0..=95;
    /// Of the prices of `[sources.NAME]`.
    currency: String = "USD".to_owned();
} }

table! { "archive" ArchiveSettings {
    /// Whether to archive transcripts; the existing archive is read in any case.
    enabled: bool = true;
    /// 0 for the smaller of 5 GB and 2 percent of the disk.
    max_bytes: u64 = 0;
    /// 0 for no bound by age.
    max_age_days: u64 = 0, 0..=36_500;
    /// Whether to redact secrets before a text is archived.
    redact: bool = false;
} }

table! { "message_history" MessageHistory {
    persistence: Persistence = Persistence::SaveAll;
    /// Eight thousand prompts of a kilobyte, which is years of them; reading them takes milliseconds.
    max_bytes: u64 = 8 << 20, 1 << 10..=64 << 20;
} }

/// Whether to keep clients' prompts for recall.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Persistence {
    SaveAll,
    None,
}

table! {
/// Long-term memory.
///
/// On by default: extraction without a model reads what is on this machine into a private folder on this machine.
/// Nothing is sent anywhere, and nothing is injected unless a client requests it. A model is used only if the file
/// says so.
"memory" MemorySettings {
    /// Whether to build it in the background.
    enabled: bool = true;
    /// Idle time before a thread is extracted.
    min_idle_hours: u64 = 6, 0..=8_760;
    /// Reading a thread once takes milliseconds, so old ones are worth it.
    max_age_days: u64 = 90, 1..=36_500;
    max_threads: usize = 256, 1..=4_096;
    /// Maximum threads of one run, each a request if a model reads; the rest waits for the next run.
    max_threads_per_run: usize = 5_000, 1..=5_000;
    /// After which a thread with unused memory is left out.
    max_unused_days: u64 = 30, 1..=36_500;
    /// Of `memory_summary.md`.
    summary_tokens: u64 = 5_000, 500..=100_000;
    /// Whether to extract threads that a script ran once.
    takes_exec: bool = false;
    engine: Engine = Engine::Deterministic;
    /// Whether to extract a thread without the model if the model fails.
    fallback: bool = true;
    /// For all tries together. Well within a lease, with time for a slow local model.
    answer_timeout_s: u64 = 600, 1..=3_000;
    /// The number that `budget.requests_per_job` allows one job by default.
    agent_turns: u64 = 16, 1..=200;
    /// Users of Codex complained about runs of 143,000 tokens; a first build over many threads needs more.
    agent_tokens: u64 = 400_000, 1_000..=100_000_000;
    /// For one run of the curator, which renews its lease meanwhile.
    agent_timeout_s: u64 = 1_800, 1..=36_000;
    /// Whether to leave out threads that used the network, or tools that reach outside.
    excludes_outside: bool = false;
} }

table! { "server" Server {
    connections_max: usize = CONNECTIONS_MAX, 1..=65_536;
    /// In which a client must take 64 KiB of what waits for it, or all of it.
    write_timeout_ms: u64 = 30_000, 10..=3_600_000;
    /// How long requests in flight may take when the daemon stops.
    drain_ms: u64 = 5_000, 0..=60_000;
    /// Two serve thousands of requests a second; each further one costs idle memory.
    worker_threads: usize = 2, 1..=64;
    /// On, because hooks and the MCP bridge state the true folder, and under systemd there is no other source. If off,
    /// only the folder that the system reports counts.
    trust_stated_folder: bool = true;
} }

table! {
/// What may be spent on models, 0 for no bound. A day (UTC) of heavy work stays below the defaults, a runaway loop does
/// not.
"budget" BudgetSettings {
    requests_per_day: u64 = 500;
    /// Input and answers.
    tokens_per_day: u64 = 10_000_000;
    requests_per_job: u64 = 16;
    tokens_per_job: u64 = 2_000_000;
} }

table! { "repository" RepositoryConfig {
    /// Whether to inspect the folder of a thread with git.
    observe: bool = true;
    /// Whether to read Graphite's data there as well.
    graphite: bool = true;
    /// Inspecting a large repository with cold caches takes some hundred milliseconds; a longer inspection is not worth
    /// the time.
    timeout_ms: u64 = 2_000, 50..=30_000;
} }
