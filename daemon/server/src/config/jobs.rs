//! `[jobs.KIND]`: limits of a kind of background job, and whether external workers run it.
//!
//! Absent keys have the defaults of [`Rules::of`]. The renewal interval is a third of the configured lease, but not
//! longer than the default.

use std::collections::{BTreeMap, BTreeSet};

use longhaul_core::job::{Kind, Rules};
use longhaul_core::memory::Engine;
use serde::Deserialize;

use super::ConfigError;

/// `[jobs.KIND]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct JobsConfig {
    /// Seconds of a claim without renewal. 1 to 604800.
    pub lease_s: Option<u64>,
    /// Seconds of the first wait after a failure; doubled after each further one. 1 to 604800.
    pub retry_s: Option<u64>,
    /// Seconds of the longest wait. 1 to 604800.
    pub retry_max_s: Option<u64>,
    /// Attempts before a job is dead. 1 to 100.
    pub attempts: Option<u64>,
    /// Maximum concurrent jobs of the kind. 1 to 64.
    pub parallel: Option<u64>,
    /// Whether external workers run them (`job/claim`).
    pub outside: Option<bool>,
}

/// The current settings of all kinds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobSettings {
    pub rules: BTreeMap<Kind, Rules>,
    pub outside: BTreeSet<Kind>,
}

const WEEK_S: u64 = 604_800;

pub(super) fn settings(
    tables: &BTreeMap<Kind, JobsConfig>,
    engine: Engine,
) -> Result<JobSettings, ConfigError> {
    let none = JobsConfig::default();
    let (mut rules, mut outside) = (BTreeMap::new(), BTreeSet::new());
    for &kind in Kind::ALL {
        let table = tables.get(&kind).unwrap_or(&none);
        rules.insert(kind, rules_of((kind, engine), table)?);
        if table.outside == Some(true) {
            outside.insert(kind);
        }
    }
    Ok(JobSettings { rules, outside })
}

fn rules_of((kind, engine): (Kind, Engine), table: &JobsConfig) -> Result<Rules, ConfigError> {
    let invalid = |key: &str, reason: String| {
        let key = format!("jobs.{}.{key}", kind.into_str());
        ConfigError::Invalid { key, reason }
    };
    let number = |key, given: Option<u64>, max| match given {
        Some(given) if !(1..=max).contains(&given) => {
            Err(invalid(key, format!("{given} is out of bounds: 1 to {max}")))
        }
        given => Ok(given),
    };
    let ms = |key, given| Ok(number(key, given, WEEK_S)?.map(|seconds| seconds * 1_000));
    let count = |key, given, max| {
        Ok(number(key, given, max)?.map(|count| u32::try_from(count).unwrap_or(u32::MAX)))
    };
    let mut rules = Rules::of(kind);
    if (kind, engine) == (Kind::Extract, Engine::Deterministic) {
        // Reading keeps a processor busy, so run at most one per processor. With a model, jobs mostly wait.
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        rules.running_max = rules.running_max.min(u32::try_from(processors).unwrap_or(1));
    }
    if let Some(lease_ms) = ms("lease_s", table.lease_s)? {
        rules.lease_ms = lease_ms;
        rules.heartbeat_ms = rules.heartbeat_ms.min(lease_ms / 3);
        rules.margin_ms = rules.margin_ms.min(lease_ms / 6);
    }
    rules.retry_ms = ms("retry_s", table.retry_s)?.unwrap_or(rules.retry_ms);
    let longest = ms("retry_max_s", table.retry_max_s)?.unwrap_or(rules.retry_ms_max);
    rules.retry_ms_max = longest.max(rules.retry_ms);
    rules.attempts_max = count("attempts", table.attempts, 100)?.unwrap_or(rules.attempts_max);
    rules.running_max = count("parallel", table.parallel, 64)?.unwrap_or(rules.running_max);
    rules.checked().map_err(|error| invalid("lease_s", error.to_string()))
}

impl JobSettings {
    /// A short description of all rules, for people.
    pub(super) fn words(&self) -> String {
        let seconds = |ms: u64| ms / 1_000;
        let kinds = self.rules.iter().map(|(kind, rules)| {
            format!(
                "{} {}s/{}s x{}{}",
                kind.into_str(),
                seconds(rules.lease_ms),
                seconds(rules.retry_ms),
                rules.running_max,
                if self.outside.contains(kind) { " outside" } else { "" },
            )
        });
        kinds.collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_keys_have_defaults_and_a_short_lease_is_renewed_often() {
        let defaults = settings(&BTreeMap::new(), Engine::Model).unwrap();
        assert_eq!(defaults.rules[&Kind::Consolidate], Rules::of(Kind::Consolidate));
        let compact = JobsConfig { lease_s: Some(3), parallel: Some(4), ..JobsConfig::default() };
        let tables = BTreeMap::from([(Kind::Compact, compact)]);
        let given = settings(&tables, Engine::Model).unwrap();
        let rules = given.rules[&Kind::Compact];
        assert_eq!((rules.lease_ms, rules.heartbeat_ms, rules.margin_ms), (3_000, 1_000, 500));
        assert_eq!((rules.running_max, rules.retry_ms), (4, 2_000));
    }

    #[test]
    fn an_invalid_value_names_its_key() {
        let prune = JobsConfig { attempts: Some(0), ..JobsConfig::default() };
        let tables = BTreeMap::from([(Kind::Prune, prune)]);
        let refused = settings(&tables, Engine::Model).unwrap_err();
        let message = refused.to_string();
        assert_eq!(message, "jobs.prune.attempts: 0 is out of bounds: 1 to 100");
    }
}
