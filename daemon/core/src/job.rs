//! The job table's one state machine: background work that survives crashes, runs once, and can say
//! why it does not run.
//!
//! # Theory of operation
//! A [`Job`] is a row per key. *wanted* rises with every request for it, *done* is set to the value of
//! *wanted* that a finished run had seen: whatever is asked during a run is still owed after it. A run
//! is owned by its *epoch*, which rises with every claim, and a nonce: whoever finishes must show both,
//! so a run that was taken over can neither publish nor change the row: what it publishes is checked by a
//! [`Fence`] in the transaction that stores it. The attempt is counted when it is claimed, so a job that
//! kills its worker ends in [`State::Dead`] and not in a circle.
//!
//! *Waiting.* A job that failed waits out its pause although something new is asked of it: what failed was
//! not the input. A person's request passes by a pause of our own choice, never one that a provider or a
//! budget asked for. What is parked waits for the configuration, what is dead for new input; [`retry`]
//! wakes either.
//!
//! Every decision is a function of the row, the moment and the rules; it returns the row as it must be
//! stored, or why not. The store reads, decides and writes inside one write transaction.
//!
//! *Time*: decisions compare the boot clock, which counts sleep and never jumps. The wall clock is kept
//! for people and for moments of another boot, and a span it shows beyond its rule's bound counts as
//! over: a clock that was wrong for a minute must not stop a queue for a year.
//!
//! # Source
//! `facts/codex-memory.md` §10, "Rules for a correct lease table".

mod claim;
mod moment;
mod request;
mod rules;
mod settle;
mod why;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use claim::{Claim, Load, Token, claim, next, renew, rescue};
pub use moment::{Moment, span_ms};
pub use request::{Request, cancel, request, retry};
pub use rules::{Rules, RulesError};
pub use settle::{Failure, FailureKind, Fence, Lost, fail, finish};
pub use why::{Why, why};

/// What a job does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Memory out of one thread.
    Extract,
    /// Memory over all threads.
    Consolidate,
    /// A compaction that a client does not wait for.
    Compact,
    /// Forgetting what is over its retention.
    Prune,
    /// Building an index anew.
    Reindex,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 5] =
        [Self::Extract, Self::Consolidate, Self::Compact, Self::Prune, Self::Reindex];

    /// Stable name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Extract => "extract",
            Self::Consolidate => "consolidate",
            Self::Compact => "compact",
            Self::Prune => "prune",
            Self::Reindex => "reindex",
        }
    }

    /// The kind of a stable name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Names a job: there is one row a key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct JobKey {
    /// What it does.
    pub kind: Kind,
    /// To what: a thread id, a project, or empty where there is one of its kind.
    pub subject: String,
}

impl fmt::Display for JobKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind.name(), self.subject)
    }
}

impl JobKey {
    /// The index over transcripts, made anew.
    #[must_use]
    pub fn search_index() -> Self {
        Self { kind: Kind::Reindex, subject: "search".to_owned() }
    }

    /// The one job of a kind that has no subject.
    #[must_use]
    pub fn only(kind: Kind) -> Self {
        Self { kind, subject: String::new() }
    }

    /// Whether there always is a job of that name: a person may wake it though nobody ever asked for it.
    #[must_use]
    pub fn is_standing(&self) -> bool {
        match self.kind {
            Kind::Consolidate | Kind::Prune => self.subject.is_empty(),
            Kind::Reindex => *self == Self::search_index(),
            Kind::Extract | Kind::Compact => false,
        }
    }

    /// Reads a key as it is printed, `kind/subject`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (kind, subject) = text.split_once('/')?;
        Some(Self { kind: Kind::named(kind)?, subject: subject.to_owned() })
    }
}

/// Where a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Owed, and may run when there is room.
    Queued,
    /// Claimed.
    Running,
    /// Nothing is owed.
    Done,
    /// Failed in a way that may pass; runs again at `not_before`.
    Failed,
    /// Its attempts are spent, or it can never succeed; a new input or a person wakes it.
    Dead,
    /// Cannot succeed until the configuration changes, such as a missing key.
    Parked,
}

impl State {
    /// Stable name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Dead => "dead",
            Self::Parked => "parked",
        }
    }

    /// The state of a stable name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        use State::{Dead, Done, Failed, Parked, Queued, Running};
        [Queued, Running, Done, Failed, Dead, Parked].into_iter().find(|state| state.name() == name)
    }
}

/// A job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Its name.
    pub key: JobKey,
    /// Where it stands.
    pub state: State,
    /// Rises with every claim; never falls.
    pub epoch: u64,
    /// Claims since it last succeeded or was woken, those given back not counted.
    pub attempts: u32,
    /// Rises with every request.
    pub wanted: u64,
    /// Value of `wanted` that the last success had seen.
    pub done: u64,
    /// Digest of what it works on; another one wakes a dead job.
    pub input: String,
    /// What it needs to know besides its name, as its kind writes it; at most [`PAYLOAD_BYTES`].
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub payload: String,
    /// Runs before others, higher first.
    pub priority: i32,
    /// Passes by waits after a success, such as for a deletion.
    pub urgent: bool,
    /// Who runs it; only while running.
    pub lease: Option<Lease>,
    /// Not claimed before; also of a job that is done, where its kind rests after a success.
    pub not_before: Option<Moment>,
    /// The last failure, kept until the next success.
    pub failure: Option<Failure>,
    /// When it was asked for first.
    pub created_at: Moment,
    /// When its state or its holder last changed: its place in the queue.
    pub updated_at: Moment,
    /// When it last succeeded.
    pub finished_at: Option<Moment>,
}

/// Bytes of a job's payload; what is larger is stored elsewhere and named.
pub const PAYLOAD_BYTES: usize = 64 * 1_024;

/// A claim on a job, as the row keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Who: the daemon's instance, or an external worker's name.
    pub holder: String,
    /// Tells two claims of one epoch apart, should a row be restored from a copy.
    pub nonce: String,
    /// Value of `wanted` the run works for.
    pub wanted: u64,
    /// When it was claimed.
    pub since: Moment,
    /// When it was last renewed, or claimed.
    pub renewed: Moment,
    /// Milliseconds it holds after that.
    pub lease_ms: u64,
}

impl Lease {
    /// Whether the lease still holds: it was made in this boot, and its time has not run out. One that
    /// seems to be made further ahead than it can last (a container with a boot clock of its own) is over.
    #[must_use]
    pub fn is_live(&self, now: &Moment) -> bool {
        self.renewed.boot == now.boot && self.renewed.boot_ms.abs_diff(now.boot_ms) < self.lease_ms
    }
}

impl Job {
    /// Whether it waits because a provider or a budget asked for it.
    fn is_held_back(&self) -> bool {
        let kind = self.failure.as_ref().map(|failure| failure.kind);
        matches!(kind, Some(FailureKind::RateLimited | FailureKind::BudgetSpent))
    }

    /// Whether something is owed.
    #[must_use]
    pub fn is_owed(&self) -> bool {
        self.wanted > self.done
    }
}

#[cfg(test)]
mod tests;
