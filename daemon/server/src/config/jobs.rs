//! `[jobs.KIND]`: what a kind of background job may take, and who does it.
//!
//! What is left out has the defaults of [`Rules::of`]. From a lease that is given the time between two
//! renewals follows: a third of it, unless that is longer than by default.

use std::collections::{BTreeMap, BTreeSet};

use longhaul_core::job::{Kind, Rules};
use longhaul_core::memory::Engine;
use serde::Deserialize;

use super::ConfigError;

/// `[jobs.KIND]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct JobTable {
    /// Seconds a claim holds without being renewed. 1 to 604800.
    pub lease_s: Option<u64>,
    /// Seconds of the first wait after a failure; doubled for each further one. 1 to 604800.
    pub retry_s: Option<u64>,
    /// Seconds of the longest wait. 1 to 604800.
    pub retry_max_s: Option<u64>,
    /// Attempts before a job is given up. 1 to 100.
    pub attempts: Option<u64>,
    /// Jobs of the kind that run at the same time. 1 to 64.
    pub parallel: Option<u64>,
    /// Whether the daemon leaves them to workers outside of it (`job/claim`).
    pub outside: Option<bool>,
}

/// The job table's rules in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobSettings {
    /// Of every kind.
    pub rules: BTreeMap<Kind, Rules>,
    /// Kinds that workers outside the daemon do.
    pub outside: BTreeSet<Kind>,
}

const WEEK_S: u64 = 604_800;

pub(super) fn settings(
    tables: &BTreeMap<Kind, JobTable>,
    engine: Engine,
) -> Result<JobSettings, ConfigError> {
    let none = JobTable::default();
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

fn rules_of((kind, engine): (Kind, Engine), table: &JobTable) -> Result<Rules, ConfigError> {
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
        // Reading is work for a processor: no more at a time than there are. A model is waited for.
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
    /// What differs from the defaults, for people.
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
    fn what_is_left_out_has_the_defaults_and_a_short_lease_is_renewed_often() {
        let defaults = settings(&BTreeMap::new(), Engine::Model).unwrap();
        assert_eq!(defaults.rules[&Kind::Consolidate], Rules::of(Kind::Consolidate));
        let compact = JobTable { lease_s: Some(3), parallel: Some(4), ..JobTable::default() };
        let tables = BTreeMap::from([(Kind::Compact, compact)]);
        let given = settings(&tables, Engine::Model).unwrap();
        let rules = given.rules[&Kind::Compact];
        assert_eq!((rules.lease_ms, rules.heartbeat_ms, rules.margin_ms), (3_000, 1_000, 500));
        assert_eq!((rules.running_max, rules.retry_ms), (4, 2_000));
    }

    #[test]
    fn a_value_that_cannot_be_meant_names_its_key() {
        let prune = JobTable { attempts: Some(0), ..JobTable::default() };
        let tables = BTreeMap::from([(Kind::Prune, prune)]);
        let refused = settings(&tables, Engine::Model).unwrap_err();
        let said = refused.to_string();
        assert_eq!(said, "jobs.prune.attempts: 0 is out of bounds: 1 to 100");
    }
}
