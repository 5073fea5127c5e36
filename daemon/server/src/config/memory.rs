//! `[memory]`.
//!
//! On by default: extraction without a model is reading of what is on this machine, into a private folder of
//! this machine; nothing is sent anywhere, and nothing is injected unless a client asks for it. A model makes
//! it only where the file says so.

use std::time::Duration;

use longhaul_core::memory::{Engine, consolidate, eligible};

use super::file::Memory;
use super::{ConfigError, Number, Origin, Setting, or_default};

/// Long-term memory.
#[derive(Debug, Clone)]
pub struct MemorySettings {
    /// Whether it is made in the background.
    pub enabled: Setting<bool>,
    /// Hours a thread must rest.
    pub min_idle_hours: Setting<u64>,
    /// Days after which a thread is too old.
    pub max_age_days: Setting<u64>,
    /// Threads that memory is made of.
    pub max_threads: Setting<u64>,
    /// Days after which a thread whose memory nobody used is left out.
    pub max_unused_days: Setting<u64>,
    /// Tokens of `memory_summary.md`.
    pub summary_tokens: Setting<u64>,
    /// Whether threads that a script ran once count.
    pub takes_exec: Setting<bool>,
    /// What makes it.
    pub engine: Setting<Engine>,
    /// Whether a thread that the model cannot read is read without one.
    pub fallback: Setting<bool>,
    /// Time for one answer, tries together.
    pub answer_timeout: Setting<Duration>,
    /// Requests of one run of the consolidation agent.
    pub agent_turns: Setting<u64>,
    /// Tokens of one run of the consolidation agent.
    pub agent_tokens: Setting<u64>,
    /// Time of one run of the consolidation agent.
    pub agent_timeout: Setting<Duration>,
    /// Whether threads that used the network, or tools that reach outside, are left out.
    pub excludes_outside: Setting<bool>,
}

/// Document 000.
const MIN_IDLE_HOURS: Number =
    Number { key: "memory.min_idle_hours", default: 6, min: 0, max: 8_760 };
/// Reading a thread once costs milliseconds, so old ones are worth it.
const MAX_AGE_DAYS: Number =
    Number { key: "memory.max_age_days", default: 90, min: 1, max: 36_500 };
/// Document 000.
const MAX_THREADS: Number = Number { key: "memory.max_threads", default: 256, min: 1, max: 4_096 };
/// As old as what is extracted: what was just learned from an old thread is not left out at once.
const MAX_UNUSED_DAYS: Number =
    Number { key: "memory.max_unused_days", default: 30, min: 1, max: 36_500 };
/// Document 000.
const SUMMARY_TOKENS: Number =
    Number { key: "memory.summary_tokens", default: 5_000, min: 500, max: 100_000 };
/// Well within a lease, with time for a slow local model.
const ANSWER_TIMEOUT_S: Number =
    Number { key: "memory.answer_timeout_s", default: 600, min: 1, max: 3_000 };
/// As many as `budget.requests_per_job` lets one job ask by default.
const AGENT_TURNS: Number = Number { key: "memory.agent_turns", default: 16, min: 1, max: 200 };
/// Users of Codex complained about runs of 143,000 tokens; a first build over
/// many threads needs more.
const AGENT_TOKENS: Number =
    Number { key: "memory.agent_tokens", default: 400_000, min: 1_000, max: 100_000_000 };
/// Half a lease.
const AGENT_TIMEOUT_S: Number =
    Number { key: "memory.agent_timeout_s", default: 1_800, min: 1, max: 36_000 };

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;

/// The values in force.
pub(super) fn settings(file: &Memory, has_model: bool) -> Result<MemorySettings, ConfigError> {
    if file.engine == Some(Engine::Model) && !has_model {
        let reason = "a model makes memory only where [model] says which".to_owned();
        return Err(ConfigError::Invalid { key: "memory.engine".to_owned(), reason });
    }
    Ok(MemorySettings {
        enabled: or_default(file.enabled, true),
        min_idle_hours: MIN_IDLE_HOURS.of(file.min_idle_hours)?,
        max_age_days: MAX_AGE_DAYS.of(file.max_age_days)?,
        max_threads: MAX_THREADS.of(file.max_threads)?,
        max_unused_days: MAX_UNUSED_DAYS.of(file.max_unused_days)?,
        summary_tokens: SUMMARY_TOKENS.of(file.summary_tokens)?,
        takes_exec: or_default(file.takes_exec, false),
        engine: or_default(file.engine, Engine::default()),
        fallback: or_default(file.fallback, true),
        answer_timeout: ANSWER_TIMEOUT_S.of(file.answer_timeout_s)?.map(Duration::from_secs),
        agent_turns: AGENT_TURNS.of(file.agent_turns)?,
        agent_tokens: AGENT_TOKENS.of(file.agent_tokens)?,
        agent_timeout: AGENT_TIMEOUT_S.of(file.agent_timeout_s)?.map(Duration::from_secs),
        excludes_outside: or_default(file.excludes_outside, false),
    })
}

impl MemorySettings {
    /// Which threads are extracted.
    #[must_use]
    pub fn rules(&self) -> eligible::Rules {
        eligible::Rules {
            min_idle_ms: times(*self.min_idle_hours, HOUR_MS),
            max_age_ms: times(*self.max_age_days, DAY_MS),
            takes_exec: *self.takes_exec,
            excludes_outside: *self.excludes_outside,
            ..eligible::Rules::default()
        }
    }

    /// How much is kept.
    #[must_use]
    pub fn bounds(&self) -> consolidate::Bounds {
        consolidate::Bounds {
            max_threads: super::to_count(*self.max_threads),
            max_unused_ms: times(*self.max_unused_days, DAY_MS),
            summary_tokens: *self.summary_tokens,
        }
    }

    /// Keys, values and origins, in the order of the file.
    pub(super) fn entries(&self) -> Vec<(&'static str, String, Origin)> {
        let number =
            |key, setting: &Setting<u64>| (key, setting.to_string(), setting.origin.clone());
        let flag =
            |key, setting: &Setting<bool>| (key, setting.to_string(), setting.origin.clone());
        let seconds = |key, setting: &Setting<Duration>| {
            (key, setting.as_secs().to_string(), setting.origin.clone())
        };
        vec![
            flag("memory.enabled", &self.enabled),
            number("memory.min_idle_hours", &self.min_idle_hours),
            number("memory.max_age_days", &self.max_age_days),
            number("memory.max_threads", &self.max_threads),
            number("memory.max_unused_days", &self.max_unused_days),
            number("memory.summary_tokens", &self.summary_tokens),
            flag("memory.takes_exec", &self.takes_exec),
            ("memory.engine", self.engine.into_str().to_owned(), self.engine.origin.clone()),
            flag("memory.fallback", &self.fallback),
            seconds("memory.answer_timeout_s", &self.answer_timeout),
            number("memory.agent_turns", &self.agent_turns),
            number("memory.agent_tokens", &self.agent_tokens),
            seconds("memory.agent_timeout_s", &self.agent_timeout),
            flag("memory.excludes_outside", &self.excludes_outside),
        ]
    }
}

fn times(number: u64, unit: i64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX).saturating_mul(unit)
}
