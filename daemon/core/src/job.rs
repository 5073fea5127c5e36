//! The state machine of the job table: background work that survives crashes, runs once, and reports why it
//! does not run.
//!
//! # Theory of operation
//! A [`Job`] is one row per key. *wanted* rises with every request; *done* is set to the value of *wanted*
//! that a finished run had read, so anything requested during a run is still pending after it. A run is
//! identified by its *epoch*, which rises with every claim, and a nonce. Finishing requires both, so a run
//! that was taken over can neither publish nor change the row: a [`Fence`] checks them in the transaction
//! that stores the result. The attempt is counted at the claim, so a job that kills its worker ends in
//! [`State::Dead`] instead of looping.
//!
//! *Waiting.* A failed job waits out its backoff even if it is requested again: the input was not the
//! cause. A person's request skips our own backoff, but not a wait that a provider or a budget asked for. A
//! parked job waits for the configuration, a dead one for new input; [`retry`] wakes either.
//!
//! Every decision is a function of the row, the time and the rules; it returns the row to store, or why
//! not. The store reads, decides and writes inside one write transaction.
//!
//! *Time.* Decisions use the boot clock, which counts sleep and never jumps. The wall clock is only for
//! people and for times of another boot; a wait that exceeds its rule's bound by the wall clock counts as
//! over, so a clock that was wrong for a minute cannot stop a queue for a year.

mod claim;
mod database_age;
mod lease;
mod moment;
mod request;
mod rules;
mod settle;
mod why;

use std::fmt;
use strum::VariantArray as _;

use serde::{Deserialize, Serialize};

pub use claim::{Claim, claim, next, renew, rescue};
pub use database_age::DatabaseAge;
pub use lease::{Fence, Lease, LeaseLost, Token};
pub use moment::{Moment, span_ms};
pub use request::{JobRequest, cancel, request, retry};
pub use rules::{Rules, RulesError};
pub use settle::{Failure, FailureKind, fail, finish};
pub use why::{Why, why};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::EnumString, strum::VariantArray)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Kind {
    /// Extracts memory from one thread.
    Extract,
    /// Consolidates the memory of all threads.
    Consolidate,
    /// Edits the published files of memory with a model; a worker outside the daemon does it.
    Curate,
    /// Runs a compaction in the background.
    Compact,
    /// Deletes what is past its retention.
    Prune,
    Reindex,
}

impl Kind {
    pub const ALL: &'static [Self] = Self::VARIANTS;
}

/// Identifies a job; there is one row per key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct JobKey {
    pub kind: Kind,
    /// A thread id, a project, or empty if the kind has only one job.
    pub subject: String,
}

impl fmt::Display for JobKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind.into_str(), self.subject)
    }
}

impl JobKey {
    /// The job that rebuilds the search index.
    pub fn search_index() -> Self {
        Self { kind: Kind::Reindex, subject: "search".to_owned() }
    }

    /// The only job of a kind without subjects.
    pub fn only(kind: Kind) -> Self {
        Self { kind, subject: String::new() }
    }

    /// Whether the job always exists, so that a person may start it without a request.
    pub fn is_standing(&self) -> bool {
        match self.kind {
            Kind::Consolidate | Kind::Curate | Kind::Prune => self.subject.is_empty(),
            Kind::Reindex => *self == Self::search_index(),
            Kind::Extract | Kind::Compact => false,
        }
    }

    /// Parses a key in the printed form `kind/subject`.
    pub fn parse(text: &str) -> Option<Self> {
        let (kind, subject) = text.split_once('/')?;
        Some(Self { kind: kind.parse().ok()?, subject: subject.to_owned() })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::EnumString, strum::VariantArray)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum State {
    /// Pending; runs when there is capacity.
    Queued,
    Running,
    Done,
    /// Failed temporarily; runs again at `not_before`.
    Failed,
    /// Out of attempts, or can never succeed; new input or a person wakes it.
    Dead,
    /// Cannot succeed until the configuration changes, such as a missing key.
    Parked,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    pub key: JobKey,
    pub state: State,
    /// Rises with every claim; never falls.
    pub epoch: u64,
    /// Claims since the last success or wake-up, except returned ones.
    pub attempts: u32,
    /// Rises with every request.
    pub wanted: u64,
    /// Value of `wanted` that the last successful run had read.
    pub done: u64,
    /// Digest of its input; a different one wakes a dead job.
    pub input: String,
    /// Further input in the format of its kind; at most [`PAYLOAD_BYTES`].
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub payload: String,
    /// Runs before others, higher first.
    pub priority: i32,
    /// Skips the cooldown after a success, for example for a deletion.
    pub urgent: bool,
    /// The current lease, while running.
    pub lease: Option<Lease>,
    /// Earliest next claim; also the cooldown of a job that is done.
    pub not_before: Option<Moment>,
    /// The last failure, kept until the next success.
    pub failure: Option<Failure>,
    /// When it was first requested.
    pub created_at: Moment,
    /// When its state or holder last changed; its position in the queue.
    pub updated_at: Moment,
    pub finished_at: Option<Moment>,
    /// The claim that last succeeded: it may report its success again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_by: Option<Token>,
}

/// Maximum bytes of a job's payload; larger data is stored elsewhere and referenced.
pub const PAYLOAD_BYTES: usize = 64 * 1_024;

impl Job {
    /// Whether a provider or a budget requires it to wait.
    fn is_held_back(&self) -> bool {
        let kind = self.failure.as_ref().map(|failure| failure.kind);
        matches!(kind, Some(FailureKind::RateLimited | FailureKind::BudgetSpent))
    }

    pub fn is_pending(&self) -> bool {
        self.wanted > self.done
    }
}

#[cfg(test)]
mod tests;
