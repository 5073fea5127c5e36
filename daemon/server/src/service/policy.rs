//! `policy/*`: decisions on threads, and the steps of their watchers.
//!
//! # Theory of operation
//! *Owns* the watcher of each thread, a row in the store, and the log of decisions. The core decides and steps on
//! values; this module gathers the inputs and stores the results.
//!
//! *A step*: gather (the fold, its window, the texts) → in one write transaction read the watcher, step, store
//! watcher and decisions → return the effects. Steps of one thread are serialized; steps of different threads run
//! concurrently. *A crash* before the commit: nothing happened; the client sends the event again. After it, before
//! the answer: the stored state waits; the client sends `resume` and gets the same request again, or the wait
//! times out.
//!
//! *A judgment* is requested outside any transaction, and its answer is another step. A client that disconnects in
//! between leaves a watcher that waits for `resume` or its timeout.

mod adviser;
mod judge;
mod live;
mod log;
mod record;
mod report;
mod situations;
mod step;
mod surroundings;
mod thread_state;
mod watcher_store;
mod watchers;

pub use adviser::Adviser;
pub use judge::StepEffect;
pub use live::LivePolicies;
pub use log::{DecisionLog, LogEntry};
pub use record::NamedDecision;
pub(super) use record::watcher_of;
pub use report::Replays;
pub use situations::{Situations, SteppedThread};
pub use surroundings::Surroundings;
pub use thread_state::Subject;
pub use watcher_store::WatcherStore;
pub use watchers::Watchers;
