//! A policy: what a person may set, and what holds where they set nothing.
//!
//! Precedence, for each key by itself: a named policy's tier, then the tier in `[policy]`, then what is
//! built in. There is no third source (defect 7.13.3: prompts with settings in their heads).

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
    /// Nothing: threads are decided on and nobody is told.
    Off,
    /// It tells that it would compact.
    Tag,
    /// It recommends to compact.
    #[default]
    Suggest,
    /// It compacts.
    Auto,
}

/// Who writes the packet that carries the work over a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Author {
    /// We do, out of what is known.
    #[default]
    Watcher,
    /// The agent does, asked for it.
    Agent,
}

/// What a judgment that cannot be had counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// A yes: the boundaries have already said so.
    #[default]
    Compact,
    /// A no, until the next growth.
    Wait,
}

/// Who is asked for a judgment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Judge {
    /// The configured model, by the daemon.
    #[default]
    Model,
    /// The client, which answers with `policy/step`.
    Client,
}

/// The rule of one tier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TierRule {
    /// The tier holds when less than this is left, in parts of a hundred.
    pub percent_remaining_lt: u64,
    /// One of these must be there; only those count that the tier allows.
    pub requires_any_boundary: BTreeSet<Boundary>,
    /// Plan boundaries count only beside a sign in the agent's words.
    pub plan_boundaries_require_semantic_break: bool,
    /// Whether a judgment is asked for.
    pub judgment: bool,
}

/// A policy, complete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// Its name; `default` for the one in force.
    pub name: String,
    /// What the watcher does.
    pub mode: Mode,
    /// Who writes the packet.
    pub packet_author: Author,
    /// Whether the agent is asked to write a scratch file first.
    pub scratch: bool,
    /// Rules, the least urgent tier first.
    pub tiers: BTreeMap<Tier, TierRule>,
    /// Who judges.
    pub judge: Judge,
    /// What a judgment that cannot be had counts as.
    pub on_judgment_failure: OnFailure,
    /// Milliseconds a judgment may take.
    pub judgment_timeout_ms: i64,
    /// Milliseconds the watcher waits for the agent or a compaction.
    pub wait_ms: i64,
    /// Compactions in an hour, at most.
    pub compactions_per_hour: u64,
    /// Signs in the agent's words.
    pub phrases: Phrases,
    /// Who reads the agent's words.
    #[serde(default)]
    pub semantic: Reader,
    /// The model that is asked for a summary where the watcher asked for the compaction; `None`: the same
    /// as for any other (defect 7.13.6: another model than the session's, without being told).
    #[serde(default)]
    pub compaction_model: Option<String>,
    /// How hard it is to think then; `None`: as for any other.
    #[serde(default)]
    pub compaction_effort: Option<String>,
}

/// A policy as a person writes it: every key may be left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PolicyTable {
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
    /// Milliseconds a judgment may take. 100 to 600000.
    pub judgment_timeout_ms: Option<u64>,
    /// Milliseconds the watcher waits for the agent or a compaction. 1000 to 86400000.
    pub wait_ms: Option<u64>,
    /// Compactions in an hour. 1 to 1000.
    pub compactions_per_hour: Option<u64>,
    /// Rule of the tier.
    pub early: TierTable,
    /// Rule of the tier.
    pub ready: TierTable,
    /// Rule of the tier.
    pub asap: TierTable,
    /// Rule of the tier; only its threshold counts.
    pub emergency: TierTable,
    /// Signs in the agent's words.
    pub phrases: PhraseTable,
    /// `phrases` or `model`.
    pub semantic: Option<Reader>,
    /// Model that is asked for a summary where the watcher asked for the compaction.
    pub compaction_model: Option<String>,
    /// How hard it is to think then.
    pub compaction_effort: Option<String>,
}

/// The rule of one tier as a person writes it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TierTable {
    /// Parts of a hundred, 0 (the tier never holds) to 100.
    pub percent_remaining_lt: Option<u64>,
    /// Boundaries of which one must be there.
    pub requires_any_boundary: Option<BTreeSet<Boundary>>,
    /// Whether plan boundaries count only beside a sign in the agent's words.
    pub plan_boundaries_require_semantic_break: Option<bool>,
    /// Whether a judgment is asked for.
    pub judgment: Option<bool>,
}

/// Phrase lists as a person writes them; one that is given stands in the place of the default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PhraseTable {
    /// The agent is done.
    pub agent_done: Option<Vec<String>>,
    /// It turns to something else.
    pub topic_shift: Option<Vec<String>>,
    /// It sums up.
    pub concluding_thought: Option<Vec<String>>,
    /// Words that take a phrase back.
    pub negation: Option<Vec<String>>,
}

/// Something in a policy that cannot be meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The key, below the policy's table.
    pub key: String,
    /// What is wrong.
    pub reason: String,
    /// It is refused; else only told.
    pub is_fatal: bool,
}

/// Name of the policy in force.
pub const DEFAULT: &str = "default";

/// Phrases of one list, and characters of one phrase.
pub const PHRASES_MAX: usize = 200;

/// Boundaries that can make a tier compact, whatever a policy requires: a policy narrows, never widens
/// (document 003 §6.3; defect 7.13.1).
#[must_use]
pub fn allowed(tier: Tier) -> BTreeSet<Boundary> {
    use Boundary::{
        AgentDone, Commit, ConcludingThought, PlanCheckpoint, PlanUpdate, PrCheckpoint, TopicShift,
        TurnComplete,
    };
    match tier {
        Tier::Early => [PlanCheckpoint, PlanUpdate, PrCheckpoint, TopicShift].into(),
        Tier::Ready => {
            [Commit, PlanCheckpoint, PlanUpdate, PrCheckpoint, TopicShift, TurnComplete].into()
        }
        Tier::Asap => [
            Commit,
            PlanCheckpoint,
            PlanUpdate,
            PrCheckpoint,
            AgentDone,
            TopicShift,
            ConcludingThought,
            TurnComplete,
        ]
        .into(),
        Tier::Emergency => BTreeSet::new(),
    }
}

/// The built-in rule of a tier (facts §7.1): a turn's end alone is never required by default.
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
            tiers: Tier::ALL.into_iter().map(|tier| (tier, built_in(tier))).collect(),
            judge: Judge::default(),
            on_judgment_failure: OnFailure::default(),
            judgment_timeout_ms: 30_000,
            wait_ms: 600_000,
            compactions_per_hour: 6,
            phrases: Phrases::default(),
            semantic: Reader::default(),
            compaction_model: None,
            compaction_effort: None,
        }
    }
}

impl Policy {
    /// A policy of that name: what `table` says over this one.
    #[must_use]
    pub fn with(&self, name: &str, table: &PolicyTable) -> Self {
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

    /// The tier for what is left of the window: the most urgent whose threshold lies above it.
    #[must_use]
    pub fn tier(&self, percent_remaining: u64) -> Option<Tier> {
        let holds = |tier: &Tier| {
            self.tiers.get(tier).is_some_and(|rule| percent_remaining < rule.percent_remaining_lt)
        };
        Tier::ALL.into_iter().rev().find(holds)
    }

    /// Boundaries that count at a tier: those required of those allowed.
    #[must_use]
    pub fn effective(&self, tier: Tier) -> BTreeSet<Boundary> {
        let required = self.tiers.get(&tier).map(|rule| rule.requires_any_boundary.clone());
        required.unwrap_or_default().intersection(&allowed(tier)).copied().collect()
    }

    /// What in the policy cannot be meant, and what in it has no effect.
    #[must_use]
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
            let key = |name: &str| format!("{}.{name}", tier.name());
            if rule.percent_remaining_lt > 100 {
                problem(&key("percent_remaining_lt"), "is more than 100".to_owned(), true);
            }
            let idle: Vec<_> =
                rule.requires_any_boundary.difference(&allowed(*tier)).map(|b| b.name()).collect();
            if !idle.is_empty() && *tier != Tier::Emergency {
                let reason = format!("{} never counts at this tier", idle.join(", "));
                problem(&key("requires_any_boundary"), reason, false);
            }
            if *tier == Tier::Emergency && rule.judgment {
                problem(&key("judgment"), "nothing is asked in an emergency".to_owned(), false);
            }
        }
        for pair in Tier::ALL.windows(2) {
            let lt = |tier: Tier| self.tiers.get(&tier).map_or(0, |rule| rule.percent_remaining_lt);
            if lt(pair[1]) > lt(pair[0]) {
                let reason = format!("lies above {}, which never holds", pair[0].name());
                problem(&format!("{}.percent_remaining_lt", pair[1].name()), reason, false);
            }
        }
        problems
    }
}

impl PolicyTable {
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
