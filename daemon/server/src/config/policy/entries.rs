//! The keys of policies as `longhaul config show` lists them.

use longhaul_core::policy::{Policy, PolicyTable, Tier};

use super::super::Origin;
use super::Policies;

/// A key, its value, and whether the file says it.
type Entry = (&'static str, String, bool);

impl Policies {
    /// Keys, values and origins of the one in force, and the names of the others.
    #[must_use]
    pub fn entries(&self) -> Vec<(&'static str, String, Origin)> {
        let (policy, said) = (&self.in_force, &self.said);
        let origin = |is_said: bool| if is_said { Origin::File } else { Origin::Default };
        let of_model = |own: &Option<String>| match own {
            Some(own) => own.clone(),
            None => "that of [model]".to_owned(),
        };
        let mut entries = vec![
            ("policy.mode", word(&policy.mode), said.mode.is_some()),
            ("policy.packet_author", word(&policy.packet_author), said.packet_author.is_some()),
            ("policy.scratch", word(&policy.scratch), said.scratch.is_some()),
            ("policy.judge", word(&policy.judge), said.judge.is_some()),
            (
                "policy.on_judgment_failure",
                word(&policy.on_judgment_failure),
                said.on_judgment_failure.is_some(),
            ),
            (
                "policy.judgment_timeout_ms",
                word(&policy.judgment_timeout_ms),
                said.judgment_timeout_ms.is_some(),
            ),
            ("policy.wait_ms", word(&policy.wait_ms), said.wait_ms.is_some()),
            (
                "policy.compactions_per_hour",
                word(&policy.compactions_per_hour),
                said.compactions_per_hour.is_some(),
            ),
            ("policy.semantic", word(&policy.semantic), said.semantic.is_some()),
            (
                "policy.compaction_model",
                of_model(&policy.compaction_model),
                said.compaction_model.is_some(),
            ),
            (
                "policy.compaction_effort",
                of_model(&policy.compaction_effort),
                said.compaction_effort.is_some(),
            ),
        ];
        entries.extend(tier_entries(policy, said));
        entries.extend(phrase_entries(policy, said));
        let names: Vec<&str> = self.shadows.iter().map(|policy| policy.name.as_str()).collect();
        entries.push(("shadow_policy", names.join(", "), !names.is_empty()));
        entries.into_iter().map(|(key, value, is_said)| (key, value, origin(is_said))).collect()
    }
}

fn tier_entries(policy: &Policy, said: &PolicyTable) -> Vec<Entry> {
    let mut entries = Vec::new();
    for (tier, keys) in TIER_KEYS {
        let Some(rule) = policy.tiers.get(&tier) else { continue };
        let said = match tier {
            Tier::Early => &said.early,
            Tier::Ready => &said.ready,
            Tier::Asap => &said.asap,
            Tier::Emergency => &said.emergency,
        };
        let required: Vec<_> = rule.requires_any_boundary.iter().map(|b| b.into_str()).collect();
        let gate = rule.plan_boundaries_require_semantic_break;
        let is_gate_said = said.plan_boundaries_require_semantic_break.is_some();
        let is_required_said = said.requires_any_boundary.is_some();
        entries.extend([
            (keys[0], word(&rule.percent_remaining_lt), said.percent_remaining_lt.is_some()),
            (keys[1], required.join(", "), is_required_said),
            (keys[2], word(&gate), is_gate_said),
            (keys[3], word(&rule.judgment), said.judgment.is_some()),
        ]);
    }
    entries
}

fn phrase_entries(policy: &Policy, said: &PolicyTable) -> [Entry; 4] {
    let (phrases, own) = (&policy.phrases, &said.phrases);
    let lists = [
        ("policy.phrases.agent_done", &phrases.agent_done, &own.agent_done),
        ("policy.phrases.topic_shift", &phrases.topic_shift, &own.topic_shift),
        ("policy.phrases.concluding_thought", &phrases.concluding_thought, &own.concluding_thought),
        ("policy.phrases.negation", &phrases.negation, &own.negation),
    ];
    // The lists of nine languages are long: how many there are says whether they are one's own.
    lists.map(|(key, list, own)| match own {
        Some(own) => (key, own.join(", "), true),
        None => (key, format!("{} phrases", list.len()), false),
    })
}

/// Names of a tier's keys, in the order of the file.
const TIER_KEYS: [(Tier, [&str; 4]); 4] = [
    (
        Tier::Early,
        [
            "policy.early.percent_remaining_lt",
            "policy.early.requires_any_boundary",
            "policy.early.plan_boundaries_require_semantic_break",
            "policy.early.judgment",
        ],
    ),
    (
        Tier::Ready,
        [
            "policy.ready.percent_remaining_lt",
            "policy.ready.requires_any_boundary",
            "policy.ready.plan_boundaries_require_semantic_break",
            "policy.ready.judgment",
        ],
    ),
    (
        Tier::Asap,
        [
            "policy.asap.percent_remaining_lt",
            "policy.asap.requires_any_boundary",
            "policy.asap.plan_boundaries_require_semantic_break",
            "policy.asap.judgment",
        ],
    ),
    (
        Tier::Emergency,
        [
            "policy.emergency.percent_remaining_lt",
            "policy.emergency.requires_any_boundary",
            "policy.emergency.plan_boundaries_require_semantic_break",
            "policy.emergency.judgment",
        ],
    ),
];

/// A value as the file has it, without quotes.
fn word<T: serde::Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        Ok(value) => value.to_string(),
        Err(_) => String::new(),
    }
}
