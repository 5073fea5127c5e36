//! When a thread is to be compacted, why, and the watcher that sees it through.
//!
//! *Decision* ([`mod@decide`]): a function of a policy and a situation, both plain values that are stored
//! with its result, so that any decision can be made again and gives the same bytes. *Watcher*
//! ([`watcher`]): a function of state and event to state and effects; it decides what is to be done,
//! a client or the daemon does it.
//!
//! # Source
//! Requirement document 003; what its original really does, and the defects that are absent here, are
//! in `facts/codex-compaction.md` §7. Tests name the defect they stand for.

pub mod decide;
pub mod forecast;
pub mod judgment;
pub mod phrase;
pub mod replay;
pub mod repository;
pub mod scratch;
pub mod semantic;
pub mod settings;
pub mod watcher;

use serde::{Deserialize, Serialize};

pub use decide::{Action, Decision, Reason, Situation, decide};
pub use settings::{Policy, PolicyTable};

/// How urgent it is, by what is left of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// A good moment would be taken.
    Early,
    /// More moments are good.
    Ready,
    /// Nearly any moment is good.
    Asap,
    /// Now.
    Emergency,
}

impl Tier {
    /// All of them, the least urgent first.
    pub const ALL: [Self; 4] = [Self::Early, Self::Ready, Self::Asap, Self::Emergency];

    /// Name on the wire, in the configuration and in the store.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Early => "early",
            Self::Ready => "ready",
            Self::Asap => "asap",
            Self::Emergency => "emergency",
        }
    }
}

/// Where in a conversation a decision is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Point {
    /// The turn ended.
    TurnEnd,
    /// Between two model calls of a turn that goes on.
    MidTurn,
}

impl Point {
    /// Name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::TurnEnd => "turn_end",
            Self::MidTurn => "mid_turn",
        }
    }
}
