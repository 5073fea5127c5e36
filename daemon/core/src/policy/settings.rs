//! A policy: the settings and their defaults.
//!
//! Precedence, per key: a named policy's tier, then the tier in `[policy]`, then the built-in default. There
//! is no third source, such as a header of a prompt.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::Tier;
use super::phrase::Phrases;
use super::semantic::Reader;
use crate::signal::Boundary;

/// What the watcher does when a compaction is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Decides, but does not notify.
    Off,
    /// Reports that it would compact.
    Tag,
    /// Recommends a compaction.
    #[default]
    Suggest,
    Auto,
}

/// Author of the packet that hands the work over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Author {
    /// The daemon, from the checkpoint.
    #[default]
    Watcher,
    /// The agent, on request.
    Agent,
}

/// Result if no judgment can be obtained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// Yes: the boundaries have already agreed.
    #[default]
    Compact,
    /// No, until the thread grows again.
    Wait,
}

/// Who makes a judgment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Judge {
    /// The daemon asks the configured model.
    #[default]
    Model,
    /// The client answers with `policy/step`.
    Client,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TierRule {
    /// The tier applies below this percentage of the window left.
    pub percent_remaining_lt: u64,
    /// At least one of these is required; only those the tier allows count.
    pub requires_any_boundary: BTreeSet<Boundary>,
    /// Plan boundaries count only together with a sign in the agent's text.
    pub plan_boundaries_require_semantic_break: bool,
    /// Whether a judgment is required.
    pub judgment: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// `default` for the active one.
    pub name: String,
    /// What the watcher does when a compaction is due.
    pub mode: Mode,
    pub packet_author: Author,
    /// Whether to ask the agent for a scratch file first.
    pub scratch: bool,
    /// Rules, least urgent tier first.
    pub tiers: BTreeMap<Tier, TierRule>,
    pub judge: Judge,
    /// Result if no judgment can be obtained.
    pub on_judgment_failure: OnFailure,
    pub judgment_timeout_ms: i64,
    /// Milliseconds to wait for the agent or a compaction.
    pub wait_ms: i64,
    pub compactions_per_hour: u64,
    /// Whether to compact in the middle of a turn, too, where the client can only compact.
    #[serde(default)]
    pub mid_turn: bool,
    /// Phrases to find in the agent's text.
    pub phrases: Phrases,
    /// What reads the agent's text.
    #[serde(default)]
    pub semantic: Reader,
    /// Model for a summary requested by the watcher; `None` means the usual one.
    #[serde(default)]
    pub compaction_model: Option<String>,
    /// Its reasoning effort; `None` means the usual one.
    #[serde(default)]
    pub compaction_effort: Option<String>,
}

/// A policy as written by a person; every key is optional.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PolicySettings {
    /// `off`, `tag`, `suggest` or `auto`.
    pub mode: Option<Mode>,
    /// `watcher` or `agent`.
    pub packet_author: Option<Author>,
    /// Whether the agent is asked to write a scratch file first.
    pub scratch: Option<bool>,
    /// `model` or `client`.
    pub judge: Option<Judge>,
    /// `compact` or `wait`.
    pub on_judgment_failure: Option<OnFailure>,
    pub judgment_timeout_ms: Option<u64>,
    /// Milliseconds to wait for the agent or a compaction.
    pub wait_ms: Option<u64>,
    /// Compactions per hour. 1 to 1000.
    pub compactions_per_hour: Option<u64>,
    /// Whether to compact in the middle of a turn, too.
    pub mid_turn: Option<bool>,
    /// `phrases` or `model`.
    pub semantic: Option<Reader>,
    /// Model for a summary requested by the watcher.
    pub compaction_model: Option<String>,
    pub compaction_effort: Option<String>,
    pub early: TierTable,
    pub ready: TierTable,
    pub asap: TierTable,
    /// Only its threshold is used.
    pub emergency: TierTable,
    /// Phrases to find in the agent's text.
    pub phrases: PhraseTable,
}

/// The rule of one tier as written by a person.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TierTable {
    /// Percent, 0 (the tier never applies) to 100.
    pub percent_remaining_lt: Option<u64>,
    /// Boundaries of which at least one is required.
    pub requires_any_boundary: Option<BTreeSet<Boundary>>,
    /// Whether plan boundaries count only together with a sign in the agent's text.
    pub plan_boundaries_require_semantic_break: Option<bool>,
    /// Whether a judgment is required.
    pub judgment: Option<bool>,
}

/// Phrase lists as written by a person; a given list replaces the default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PhraseTable {
    pub agent_done: Option<Vec<String>>,
    pub topic_shift: Option<Vec<String>>,
    pub concluding_thought: Option<Vec<String>>,
    pub negation: Option<Vec<String>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The key, below the policy's table.
    pub key: String,
    pub reason: String,
    /// Whether the policy is rejected; else this is a warning.
    pub is_fatal: bool,
}

/// Name of the active policy.
pub const DEFAULT: &str = "default";

/// Maximum phrases of one list, and characters of one phrase.
pub const PHRASES_MAX: usize = 200;

/// Boundaries that can satisfy a tier: a policy can narrow them, never widen them.
pub fn allowed(tier: Tier) -> BTreeSet<Boundary> {
    use Boundary::{Commit, PlanCheckpoint, PlanUpdate, PrCheckpoint, TopicShift, TurnComplete};
    match tier {
        Tier::Early => [PlanCheckpoint, PlanUpdate, PrCheckpoint, TopicShift].into(),
        Tier::Ready => {
            [Commit, PlanCheckpoint, PlanUpdate, PrCheckpoint, TopicShift, TurnComplete].into()
        }
        Tier::Asap => Boundary::ALL.iter().copied().collect(),
        Tier::Emergency => BTreeSet::new(),
    }
}

/// The built-in rule of a tier: by default the end of a turn alone is never enough.
fn built_in(tier: Tier) -> TierRule {
    let percent_remaining_lt = match tier {
        Tier::Early => 85,
        Tier::Ready => 75,
        Tier::Asap => 65,
        Tier::Emergency => 15,
    };
    let mut requires_any_boundary = allowed(tier);
    requires_any_boundary.remove(&Boundary::TurnComplete);
    TierRule {
        percent_remaining_lt,
        requires_any_boundary,
        plan_boundaries_require_semantic_break: matches!(tier, Tier::Early | Tier::Ready),
        judgment: false,
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            name: DEFAULT.to_owned(),
            mode: Mode::default(),
            packet_author: Author::default(),
            scratch: false,
            tiers: Tier::ALL.iter().copied().map(|tier| (tier, built_in(tier))).collect(),
            judge: Judge::default(),
            on_judgment_failure: OnFailure::default(),
            judgment_timeout_ms: 30_000,
            wait_ms: 600_000,
            compactions_per_hour: 6,
            mid_turn: false,
            phrases: Phrases::default(),
            semantic: Reader::default(),
            compaction_model: None,
            compaction_effort: None,
        }
    }
}

impl Policy {
    /// Creates a named policy: `table` applied over this one.
    #[must_use]
    pub fn with(&self, name: &str, table: &PolicySettings) -> Self {
        let mut policy = Self { name: name.to_owned(), ..self.clone() };
        let ms = |ms: u64| i64::try_from(ms).unwrap_or(i64::MAX);
        set(&mut policy.mode, table.mode);
        set(&mut policy.packet_author, table.packet_author);
        set(&mut policy.scratch, table.scratch);
        set(&mut policy.judge, table.judge);
        set(&mut policy.on_judgment_failure, table.on_judgment_failure);
        set(&mut policy.judgment_timeout_ms, table.judgment_timeout_ms.map(ms));
        set(&mut policy.wait_ms, table.wait_ms.map(ms));
        set(&mut policy.compactions_per_hour, table.compactions_per_hour);
        set(&mut policy.mid_turn, table.mid_turn);
        set(&mut policy.semantic, table.semantic);
        set(&mut policy.compaction_model, table.compaction_model.clone().map(Some));
        set(&mut policy.compaction_effort, table.compaction_effort.clone().map(Some));
        let phrases = &table.phrases;
        set(&mut policy.phrases.agent_done, phrases.agent_done.clone());
        set(&mut policy.phrases.topic_shift, phrases.topic_shift.clone());
        set(&mut policy.phrases.concluding_thought, phrases.concluding_thought.clone());
        set(&mut policy.phrases.negation, phrases.negation.clone());
        for (tier, rule) in &mut policy.tiers {
            let table = table.tier(*tier);
            set(&mut rule.percent_remaining_lt, table.percent_remaining_lt);
            set(&mut rule.requires_any_boundary, table.requires_any_boundary.clone());
            set(
                &mut rule.plan_boundaries_require_semantic_break,
                table.plan_boundaries_require_semantic_break,
            );
            set(&mut rule.judgment, table.judgment);
        }
        policy
    }

    /// The tier for the percentage left: the most urgent whose threshold is above it.
    pub fn tier(&self, percent_remaining: u64) -> Option<Tier> {
        let holds = |tier: &Tier| {
            self.tiers.get(tier).is_some_and(|rule| percent_remaining < rule.percent_remaining_lt)
        };
        Tier::ALL.iter().copied().rev().find(holds)
    }

    /// Boundaries that count at a tier: required and allowed.
    pub fn effective(&self, tier: Tier) -> BTreeSet<Boundary> {
        let required = self.tiers.get(&tier).map(|rule| rule.requires_any_boundary.clone());
        required.unwrap_or_default().intersection(&allowed(tier)).copied().collect()
    }

    /// Lists invalid settings and settings without effect.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut problem = |key: &str, reason: String, is_fatal| {
            problems.push(Problem { key: key.to_owned(), reason, is_fatal });
        };
        let bounds = [
            ("judgment_timeout_ms", self.judgment_timeout_ms, 100, 600_000),
            ("wait_ms", self.wait_ms, 1_000, 86_400_000),
            (
                "compactions_per_hour",
                i64::try_from(self.compactions_per_hour).unwrap_or(0),
                1,
                1_000,
            ),
        ];
        for (key, value, min, max) in bounds {
            if !(min..=max).contains(&value) {
                problem(key, format!("{value} is out of bounds: {min} to {max}"), true);
            }
        }
        let lists = [
            &self.phrases.agent_done,
            &self.phrases.topic_shift,
            &self.phrases.concluding_thought,
            &self.phrases.negation,
        ];
        let is_long = |list: &&Vec<String>| {
            list.len() > PHRASES_MAX || list.iter().any(|phrase| phrase.len() > PHRASES_MAX)
        };
        if lists.iter().any(is_long) {
            problem(
                "phrases",
                format!("a list has at most {PHRASES_MAX} phrases of as many bytes"),
                true,
            );
        }
        for (tier, rule) in &self.tiers {
            let key = |name: &str| format!("{}.{name}", tier.into_str());
            if rule.percent_remaining_lt > 100 {
                problem(&key("percent_remaining_lt"), "is more than 100".to_owned(), true);
            }
            let idle: Vec<_> = rule
                .requires_any_boundary
                .difference(&allowed(*tier))
                .map(|b| b.into_str())
                .collect();
            if !idle.is_empty() && *tier != Tier::Emergency {
                let reason = format!("{} never counts at this tier", idle.join(", "));
                problem(&key("requires_any_boundary"), reason, false);
            }
            if *tier == Tier::Emergency && rule.judgment {
                problem(&key("judgment"), "an emergency needs no judgment".to_owned(), false);
            }
        }
        for pair in Tier::ALL.windows(2) {
            let lt = |tier: Tier| self.tiers.get(&tier).map_or(0, |rule| rule.percent_remaining_lt);
            if lt(pair[1]) > lt(pair[0]) {
                let reason = format!("lies above {}, which never holds", pair[0].into_str());
                problem(&format!("{}.percent_remaining_lt", pair[1].into_str()), reason, false);
            }
        }
        problems
    }
}

impl PolicySettings {
    fn tier(&self, tier: Tier) -> &TierTable {
        match tier {
            Tier::Early => &self.early,
            Tier::Ready => &self.ready,
            Tier::Asap => &self.asap,
            Tier::Emergency => &self.emergency,
        }
    }
}

fn set<T>(value: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *value = given;
    }
}
