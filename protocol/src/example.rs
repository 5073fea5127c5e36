//! The examples: exchanges of a client and the daemon, replayed by the tests of both ends.
//!
//! They stand as JSON under `protocol/examples/`, so that clients in any language read them too; its
//! `README.md` says how. This module is the Rust reader: it fills placeholders into a request and compares
//! an answer with the expected one.

use serde::Deserialize;
use serde_json::Value;

mod bindings;

pub use bindings::{Bindings, Mismatch, Unbound, sample};

/// The exchanges of one method.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Example {
    /// The method that is shown; absent for what is the same for all.
    pub method: Option<String>,
    /// What the method is for.
    pub about: String,
    /// In the order of replay, on one connection.
    pub exchanges: Vec<Exchange>,
}

/// A request and its answer.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// What is special about it.
    pub name: String,
    /// A message to the daemon, with placeholders.
    pub request: Value,
    /// The message it answers, with placeholders.
    pub response: Value,
}

macro_rules! examples {
    ($($name:literal)+) => {
        /// Every example as `(file name, text)`, in the order of replay.
        pub const EXAMPLES: &[(&str, &str)] =
            &[$((concat!($name, ".json"), include_str!(concat!("../examples/", $name, ".json"))),)+];
    };
}

examples! {
    "jsonrpc.errors"
    "daemon.initialize"
    "daemon.status"
    "thread.list"
    "thread.items"
    "thread.search"
    "thread.get"
    "thread.sync"
    "thread.open"
    "thread.append"
    "thread.close"
    "context.estimate"
    "context.normalize"
    "context.truncate"
    "context.diff"
    "context.usage"
    "checkpoint.get"
    "checkpoint.view"
    "checkpoint.apply"
    "compaction.should"
    "compaction.run"
    "compaction.list"
    "compaction.get"
    "history.expand"
    "history.get"
    "compaction.undo"
    "thread.continue"
    "compaction.start"
    "job.list"
    "job.get"
    "job.why"
    "compaction.cancel"
    "job.cancel"
    "job.retry"
    "policy.check"
    "policy.templates"
    "compaction.templates"
    "policy.evaluate"
    "policy.step"
    "policy.log"
    "policy.explain"
    "policy.report"
    "job.claim"
    "job.heartbeat"
    "job.complete"
    "job.fail"
    "memory.add_note"
    "memory.run"
    "memory.status"
    "memory.summary"
    "memory.search"
    "memory.list"
    "memory.read"
    "memory.cite"
    "memory.forget"
    "message_history.append"
    "message_history.lookup"
    "event.subscribe"
    "event.unsubscribe"
    "daemon.config"
    "daemon.metrics"
    "daemon.reload"
    "daemon.shutdown"
}

/// Reads every example, in the order of replay.
///
/// # Errors
/// A file that has not the shape of an [`Example`]; a test of this crate keeps that from happening.
pub fn examples() -> Result<Vec<Example>, serde_json::Error> {
    EXAMPLES.iter().map(|(_, text)| serde_json::from_str(text)).collect()
}
