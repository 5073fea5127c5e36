//! `policy/check`.

use longhaul_core::policy::settings::{Judge, OnFailure, Policy};
use longhaul_protocol::ErrorKind;
use longhaul_protocol::policy::{CheckParams, CheckResult, PolicyInfo, Problem, TierInfo};

use super::super::convert::word;
use super::super::error::Failure;
use super::to_wire::names;
use crate::config::{Live, Policies};

pub(super) fn check(
    config: &Live,
    CheckParams { toml }: CheckParams,
) -> Result<CheckResult, Failure> {
    let given = match toml {
        Some(text) => Some(Policies::of_text(&text).map_err(|error| {
            Failure::new(ErrorKind::ConfigInvalid, error.to_string())
                .with_hint("longhaul config example prints every key")
        })?),
        None => None,
    };
    let config = config.now();
    let policies = given.as_ref().unwrap_or(&config.policies);
    let problem = |(policy, problem): (String, longhaul_core::policy::settings::Problem)| Problem {
        policy,
        key: problem.key,
        reason: problem.reason,
        is_fatal: problem.is_fatal,
    };
    Ok(CheckResult {
        policies: policies.all().map(policy).collect(),
        problems: policies.problems().into_iter().map(problem).collect(),
    })
}

fn policy(policy: &Policy) -> PolicyInfo {
    let tiers = policy.tiers.iter().map(|(tier, rule)| TierInfo {
        tier: tier.into_str().to_owned(),
        percent_remaining_lt: rule.percent_remaining_lt,
        boundaries: names(&policy.effective(*tier)),
        plan_gate: rule.plan_boundaries_require_semantic_break,
        judgment: rule.judgment,
    });
    PolicyInfo {
        policy: policy.name.clone(),
        mode: word(&policy.mode),
        packet_author: word(&policy.packet_author),
        scratch: policy.scratch,
        judge: word::<Judge>(&policy.judge),
        on_judgment_failure: word::<OnFailure>(&policy.on_judgment_failure),
        compactions_per_hour: policy.compactions_per_hour,
        mid_turn: policy.mid_turn,
        semantic: Some(word(&policy.semantic)),
        compaction_model: policy.compaction_model.clone(),
        compaction_effort: policy.compaction_effort.clone(),
        tiers: tiers.collect(),
    }
}
