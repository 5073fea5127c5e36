//! When and why to compact a thread, and the watcher that carries it out.
//!
//! *Decision* ([`mod@decide`]): a function of a policy and a situation. Both are stored with the result, so
//! every decision can be repeated with the same bytes. *Watcher* ([`watcher`]): a function of state and
//! event to state and effects; it decides what to do, a client or the daemon does it.
//!
//! `DEFECTS.md` lists defects of an earlier program that this one avoids; tests name the defect they cover.

pub mod decide;
pub mod forecast;
pub mod judgment;
pub(crate) mod phrase;
pub mod replay;
pub mod repository;
pub mod scratch;
pub mod semantic;
pub mod settings;
pub mod watcher;
pub mod without_effect;

use serde::{Deserialize, Serialize};
use strum::VariantArray as _;

pub use decide::{Decision, PolicyAction, Reason, Situation, decide};
pub use settings::{Policy, PolicySettings};

/// Urgency, by percent left of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Tier {
    /// Compacts only at a good boundary.
    Early,
    Ready,
    /// Accepts nearly any boundary.
    Asap,
    Emergency,
}

impl Tier {
    /// All tiers, least urgent first.
    pub const ALL: &'static [Self] = Self::VARIANTS;
}

/// Point in a conversation where a decision is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Point {
    TurnEnd,
    /// Between two model calls of a running turn.
    MidTurn,
}
