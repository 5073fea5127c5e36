//! The tables of the file whose keys have a default: each key is declared once, here.
//!
//! A row is the key with its type, its default and, for a number, its bounds. Reading, checking and listing
//! are made from it. `config.example.toml` explains the keys to people; a test holds it to this list.

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
    /// Of every model; 0: as its transcript or name says.
    window_tokens: u64 = 0, 0..=100_000_000;
    /// At which to compact, 0 for never. The default is where agents compact by themselves; more than the
    /// effective window cannot be reached.
    auto_compact_percent: u64 = 90, 0..=95;
    /// Of the prices of `[sources.NAME]`.
    currency: String = "USD".to_owned();
} }

table! { "archive" ArchiveSettings {
    /// Whether transcripts are archived; what is there is read all the same.
    enabled: bool = true;
    /// 0 for the smaller of 5 GB and 2 percent of the disk.
    max_bytes: u64 = 0;
    /// 0 for no bound by age.
    max_age_days: u64 = 0, 0..=36_500;
    /// Whether secrets are replaced before a text is archived.
    redact: bool = false;
} }

table! { "message_history" MessageHistory {
    persistence: Persistence = Persistence::SaveAll;
    /// Eight thousand prompts of a kilobyte: years of them, and read in milliseconds.
    max_bytes: u64 = 8 << 20, 1 << 10..=64 << 20;
} }

/// Whether prompts that clients send are kept for recall.
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
/// On by default: extraction without a model is reading of what is on this machine, into a private folder of
/// this machine; nothing is sent anywhere, and nothing is injected unless a client asks for it. A model makes
/// it only where the file says so.
"memory" MemorySettings {
    /// Whether it is made in the background.
    enabled: bool = true;
    /// A thread must rest so long before it is extracted.
    min_idle_hours: u64 = 6, 0..=8_760;
    /// Reading a thread once costs milliseconds, so old ones are worth it.
    max_age_days: u64 = 90, 1..=36_500;
    max_threads: usize = 256, 1..=4_096;
    /// Threads read in one run, each a request where a model reads; the others are for the next one.
    max_threads_per_run: usize = 5_000, 1..=5_000;
    /// A thread whose memory nobody used for so long is left out.
    max_unused_days: u64 = 30, 1..=36_500;
    /// Of `memory_summary.md`.
    summary_tokens: u64 = 5_000, 500..=100_000;
    /// Whether threads that a script ran once count.
    takes_exec: bool = false;
    engine: Engine = Engine::Deterministic;
    /// Whether a thread that the model cannot read is read without one.
    fallback: bool = true;
    /// Tries together. Well within a lease, with time for a slow local model.
    answer_timeout_s: u64 = 600, 1..=3_000;
    /// As many as `budget.requests_per_job` lets one job ask by default.
    agent_turns: u64 = 16, 1..=200;
    /// Users of Codex complained about runs of 143,000 tokens; a first build over many threads needs more.
    agent_tokens: u64 = 400_000, 1_000..=100_000_000;
    /// Half a lease.
    agent_timeout_s: u64 = 1_800, 1..=36_000;
    /// Whether threads that used the network, or tools that reach outside, are left out.
    excludes_outside: bool = false;
} }

table! { "server" Server {
    connections_max: usize = CONNECTIONS_MAX, 1..=65_536;
    /// How long a client may leave an answer unread.
    write_timeout_ms: u64 = 30_000, 10..=3_600_000;
    /// How long requests in flight may take when the daemon stops.
    drain_ms: u64 = 5_000, 0..=60_000;
    /// Two serve thousands of requests a second; each more costs memory that idles.
    worker_threads: usize = 2, 1..=64;
    /// On, since hooks and the MCP bridge state the truth, and under systemd nothing else is known. Off, only what the
    /// system tells counts.
    trust_stated_folder: bool = true;
} }

table! {
/// What may be spent on models, 0 for no bound. A day (UTC) of hard work stays below the defaults, a loop does
/// not.
"budget" BudgetSettings {
    requests_per_day: u64 = 500;
    /// Input and answers.
    tokens_per_day: u64 = 10_000_000;
    requests_per_job: u64 = 16;
    tokens_per_job: u64 = 2_000_000;
} }

table! { "repository" RepositoryConfig {
    /// Whether git is asked about the folder a thread works in.
    observe: bool = true;
    /// Whether what Graphite left there is read, too.
    graphite: bool = true;
    /// A cold look at a large repository takes some hundred milliseconds; one that takes longer is worth less
    /// than the time.
    timeout_ms: u64 = 2_000, 50..=30_000;
} }
