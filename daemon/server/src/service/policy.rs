//! `policy/*`: decisions on threads, and the watcher's steps.
//!
//! # Theory of operation
//! *Owns* the watcher of each thread, a row in the store, and the log of decisions. What is decided, and
//! what a step leads to, the core decides on values; here they are gathered and kept.
//!
//! *A step*: gather (the fold, its window, the texts) → in one write transaction read the watcher, take
//! the step, store watcher and decisions → answer the effects. Two steps of one thread come one after the
//! other, those of two threads never meet. *A crash* before the commit: nothing happened, the client tells
//! the event again. After it, before the answer: the state waits; the client says `resume` and is asked for
//! the same once more, or time leads it back.
//!
//! *A judgment* is asked outside of any transaction, and its answer is one more step. A client that goes
//! away in between leaves a watcher that waits until somebody says `resume` or its time is over.

mod adviser;
mod judge;
mod live;
mod log;
mod record;
mod report;
mod step;
mod surroundings;
mod thread_state;
mod watchers;

pub use adviser::Adviser;
pub use judge::StepEffect;
pub use live::LivePolicies;
pub use log::{DecisionLog, LogEntry};
pub use record::NamedDecision;
pub(super) use record::watcher_of;
pub use report::Replays;
pub use step::{ClientEvent, TurnWords};
pub use surroundings::Surroundings;
pub use thread_state::Subject;
pub use watchers::Watchers;
