//! One decision: percent left → tier → boundary → plan gate → re-arm → budget → judgment.
//!
//! Every rule is evaluated and listed, even after one has refused, so that a person sees every obstacle and not
//! only the first. The result depends only on the two arguments.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::phrase;
use super::repository::RepositoryView;
use super::semantic::Reader;
use super::settings::Policy;
use super::{Point, Tier};
use crate::compaction::growth;
use crate::context::usage::setting;
use crate::context::window::Window;
use crate::signal::Boundary;
use crate::text::grouped;
use crate::thread::Source;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Situation {
    pub thread_id: String,
    /// `None` in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    pub seq: u64,
    /// Number of the turn, from 1.
    pub turn: u64,
    /// Unix milliseconds.
    pub at_ms: i64,
    pub point: Point,
    pub used: u64,
    /// Tokens of the whole window; 0 if unknown.
    pub window: u64,
    /// Percent left ([`Window::percent_left`], the one definition); `None` if the window is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent_remaining: Option<u64>,
    /// Signs of the turn, except those read from text.
    pub boundaries: BTreeSet<Boundary>,
    /// The agent's last message, redacted.
    pub message: Option<String>,
    /// Baseline set by the last compaction, veto or failed attempt.
    pub baseline: Option<Baseline>,
    pub compactions_in_hour: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<Box<RepositoryView>>,
    /// Signs a model read from the text, if one was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_by_model: Option<BTreeSet<Boundary>>,
}

/// Starting point for measuring growth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baseline {
    /// Tokens in the window at that time.
    pub used: u64,
    /// Unix milliseconds.
    pub at_ms: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum PolicyAction {
    Wait,
    Judge,
    Compact,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// The rule: `words`, `repository`, `window`, `tier`, `boundary`, `plan_gate`, `growth`, `budget`,
    /// `judgment`.
    pub rule: String,
    pub passed: bool,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    pub action: PolicyAction,
    pub tier: Option<Tier>,
    /// Percent left; `None` if the window is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent_remaining: Option<u64>,
    /// All signs, including those read from text.
    pub boundaries: BTreeSet<Boundary>,
    /// Signs that satisfied the tier.
    pub satisfied: BTreeSet<Boundary>,
    pub reasons: Vec<Reason>,
}

impl Decision {
    /// Serialized form, which a repeated decision must reproduce.
    pub fn bytes(&self) -> Vec<u8> {
        // Names, numbers and lists: serializing them to memory cannot fail.
        serde_json::to_vec(self).unwrap_or_default()
    }
}

impl Situation {
    /// Percent left of a window with `used` tokens in it. `None` if its size is a guess, which is no basis for
    /// a decision.
    pub fn percent(window: &Window, used: u64) -> Option<u64> {
        window.is_known().then(|| window.percent_left(used))
    }
}

pub fn decide(policy: &Policy, situation: &Situation) -> Decision {
    let mut reasons = Reasons::default();
    let boundaries = signs(policy, situation, &mut reasons);
    let percent = situation.percent_remaining.filter(|_| situation.window > 0);
    reasons.add("window", percent.is_some(), || match percent {
        None => {
            let setting = situation.source.map(|source| format!(": set {}", setting(source)));
            format!("the model's context window is unknown{}", setting.unwrap_or_default())
        }
        Some(left) => format!(
            "{} tokens used: {} % of the usable part of {}",
            grouped(situation.used),
            100 - left.min(100),
            grouped(situation.window)
        ),
    });
    let tier = percent.and_then(|percent| policy.tier(percent));
    reasons.add("tier", tier.is_some(), || match (tier, percent) {
        (Some(tier), Some(percent)) => format!("{percent} % left: {}", tier.into_str()),
        (_, Some(percent)) => format!("{percent} % left: no tier applies yet"),
        (_, None) => "no tier applies without a known window".to_owned(),
    });
    let is_emergency = tier == Some(Tier::Emergency);
    let satisfied = match tier {
        Some(tier) if !is_emergency => gates(policy, tier, &boundaries, &mut reasons),
        Some(_) => {
            reasons.add("boundary", true, || "not required in an emergency".to_owned());
            BTreeSet::new()
        }
        None => BTreeSet::new(),
    };
    check_growth(situation, is_emergency, &mut reasons);
    let (made, most) = (situation.compactions_in_hour, policy.compactions_per_hour);
    reasons.add("budget", is_emergency || made < most, || match is_emergency {
        true => "does not apply in an emergency".to_owned(),
        false => format!("{made} of {most} compactions used this hour"),
    });
    let is_judged = tier
        .and_then(|tier| policy.tiers.get(&tier))
        .is_some_and(|rule| rule.judgment && !is_emergency);
    let passed = reasons.0.iter().all(|reason| reason.passed);
    let action = match (passed, is_judged) {
        (false, _) => PolicyAction::Wait,
        (true, true) => PolicyAction::Judge,
        (true, false) => PolicyAction::Compact,
    };
    if is_judged {
        // Ask only if every other rule agrees.
        let text = if passed { "required" } else { "not requested: another rule refused" };
        reasons.add("judgment", true, || text.to_owned());
    }
    let reasons = reasons.0;
    Decision { action, tier, percent_remaining: percent, boundaries, satisfied, reasons }
}

/// All signs: of the transcript, the repository and the agent's text.
fn signs(policy: &Policy, situation: &Situation, reasons: &mut Reasons) -> BTreeSet<Boundary> {
    let mut signs = situation.boundaries.clone();
    let by_model = situation.read_by_model.as_ref().filter(|_| policy.semantic == Reader::Model);
    match (by_model, &situation.message) {
        (Some(read), _) => signs.extend(read),
        (None, Some(words)) => signs.extend(phrase::read(words, &policy.phrases)),
        (None, None) => {}
    }
    if policy.semantic == Reader::Model && situation.message.is_some() {
        reasons.add("words", true, || match by_model {
            Some(read) if read.is_empty() => "the model found no end of a phase".to_owned(),
            Some(read) => format!("the model found {}", names(read)),
            None => "no answer from the model; the phrase lists decide".to_owned(),
        });
    }
    if let Some(seen) = &situation.repository {
        if seen.shows_commit() {
            signs.insert(Boundary::Commit);
        }
        reasons.add("repository", true, || seen.words());
    }
    match situation.point {
        Point::TurnEnd => signs.insert(Boundary::TurnComplete),
        Point::MidTurn => signs.remove(&Boundary::TurnComplete),
    };
    signs
}

#[derive(Default)]
struct Reasons(Vec<Reason>);

impl Reasons {
    fn add(&mut self, rule: &str, passed: bool, text: impl FnOnce() -> String) {
        self.0.push(Reason { rule: rule.to_owned(), passed, text: text() });
    }
}

/// Checks boundaries and the plan gate. The gate removes only plan boundaries, so the end of a turn or a commit
/// still counts next to a plan update.
fn gates(
    policy: &Policy,
    tier: Tier,
    boundaries: &BTreeSet<Boundary>,
    reasons: &mut Reasons,
) -> BTreeSet<Boundary> {
    let effective = policy.effective(tier);
    let mut satisfied: BTreeSet<Boundary> = boundaries.intersection(&effective).copied().collect();
    reasons.add("boundary", !satisfied.is_empty(), || match satisfied.is_empty() {
        false => format!("{} counts at {}", names(&satisfied), tier.into_str()),
        true if boundaries.is_empty() => "no sign that a phase ended".to_owned(),
        true if boundaries.iter().all(|sign| *sign == Boundary::TurnComplete) => {
            format!(
                "no sign that a phase ended; a turn's end alone does not count at {}",
                tier.into_str()
            )
        }
        true => format!("{} needs another sign than {}", tier.into_str(), names(boundaries)),
    });
    let is_gated =
        policy.tiers.get(&tier).is_some_and(|rule| rule.plan_boundaries_require_semantic_break);
    let has_break = boundaries.iter().any(|boundary| boundary.is_semantic());
    if is_gated && satisfied.iter().any(|boundary| boundary.is_plan()) {
        if !has_break {
            satisfied.retain(|boundary| !boundary.is_plan());
        }
        reasons.add("plan_gate", !satisfied.is_empty(), || {
            match (has_break, satisfied.is_empty()) {
                (true, _) => "the agent's words also end a phase".to_owned(),
                (false, false) => {
                    "the plan alone would not count, but another sign does".to_owned()
                }
                (false, true) => {
                    "the plan changed, but the agent's words do not end a phase".to_owned()
                }
            }
        });
    }
    satisfied
}

/// Refuses a second compaction without real growth. In an emergency half of the remaining room is enough
/// growth, so that the window does not overflow.
fn check_growth(situation: &Situation, is_emergency: bool, reasons: &mut Reasons) {
    let Some(baseline) = situation.baseline else {
        return reasons.add("growth", true, || "no earlier compaction".to_owned());
    };
    let grown = situation.used.saturating_sub(baseline.used);
    let needed = growth_needed(situation, is_emergency);
    reasons.add("growth", grown >= needed, || {
        format!("grew by {} tokens, needs {}", grouped(grown), grouped(needed))
    });
}

/// Tokens by which a thread must grow beyond its baseline.
pub fn growth_needed(situation: &Situation, is_emergency: bool) -> u64 {
    let needed = growth::needed(situation.used);
    match is_emergency {
        true => needed.min((situation.window.saturating_sub(situation.used) / 2).max(64)),
        false => needed,
    }
}

fn names(boundaries: &BTreeSet<Boundary>) -> String {
    boundaries.iter().map(|boundary| boundary.into_str()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
