//! What a method is, and the closed list of them.
//!
//! A method is a marker type: it carries a name and names its params and result, and has no value.
//! Server and client are generic over it (`register::<M>`, `call::<M>`), so that a name, its params
//! and its result cannot come apart. The list is closed: a name that is not in [`METHODS`] is refused,
//! and tests hold every entry against an example, the schema and `PROTOCOL.md`.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{
    checkpoint, compaction, context, daemon, event, history, job, memory, message_history, policy,
    thread,
};

/// One method of the wire contract, as a marker type.
pub trait Method {
    /// The name on the wire, `namespace/verb` (only the handshake, `initialize`, has no namespace).
    const NAME: &'static str;
    /// What a request carries. Unknown fields are refused.
    type Params: Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static;
    /// What a successful answer carries. Unknown fields are ignored by readers.
    type Result: Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static;
}

/// One entry of [`METHODS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MethodInfo {
    /// The name on the wire.
    pub name: &'static str,
    /// The first protocol revision that has it.
    pub since: u32,
    /// The capability a connection must hold to call it, one of [`CAPABILITIES`].
    pub capability: &'static str,
}

/// Every method of this revision, sorted by name.
pub const METHODS: &[MethodInfo] = &[
    method("checkpoint/apply", "checkpoint"),
    method("checkpoint/get", "checkpoint"),
    method("checkpoint/view", "checkpoint"),
    method("compaction/cancel", "compaction"),
    method("compaction/get", "compaction"),
    method("compaction/list", "compaction"),
    method("compaction/run", "compaction"),
    method("compaction/should", "compaction"),
    method("compaction/start", "compaction"),
    method("compaction/templates", "compaction"),
    method("compaction/undo", "compaction"),
    method("context/diff", "context"),
    method("context/estimate", "context"),
    method("context/normalize", "context"),
    method("context/truncate", "context"),
    method("context/usage", "context"),
    method("daemon/config", "daemon"),
    method("daemon/metrics", "daemon"),
    method("daemon/reload", "daemon"),
    method("daemon/shutdown", "daemon"),
    method("daemon/status", "daemon"),
    method("event/subscribe", "event"),
    method("event/unsubscribe", "event"),
    method("history/expand", "history"),
    method("history/get", "history"),
    method("initialize", "daemon"),
    method("job/cancel", "job"),
    method("job/claim", "job"),
    method("job/complete", "job"),
    method("job/fail", "job"),
    method("job/get", "job"),
    method("job/heartbeat", "job"),
    method("job/list", "job"),
    method("job/retry", "job"),
    method("job/why", "job"),
    method("memory/add_note", "memory"),
    method("memory/cite", "memory"),
    method("memory/forget", "memory"),
    method("memory/list", "memory"),
    method("memory/read", "memory"),
    method("memory/run", "memory"),
    method("memory/search", "memory"),
    method("memory/status", "memory"),
    method("memory/summary", "memory"),
    method("message_history/append", "message_history"),
    method("message_history/lookup", "message_history"),
    method("policy/check", "policy"),
    method("policy/evaluate", "policy"),
    method("policy/explain", "policy"),
    method("policy/log", "policy"),
    method("policy/report", "policy"),
    method("policy/step", "policy"),
    method("policy/templates", "policy"),
    method("thread/append", "thread"),
    method("thread/close", "thread"),
    method("thread/continue", "thread"),
    method("thread/get", "thread"),
    method("thread/items", "thread"),
    method("thread/list", "thread"),
    method("thread/open", "thread"),
    method("thread/search", "thread"),
    method("thread/sync", "thread"),
];

/// The abilities that are negotiated by `initialize`, sorted.
///
/// All of them are the baseline of the major version: a connection that skips `initialize` holds
/// them all. A later revision may add one that must be asked for.
pub const CAPABILITIES: &[&str] = &[
    "checkpoint",
    "compaction",
    "context",
    "daemon",
    "event",
    "history",
    "job",
    "memory",
    "message_history",
    "policy",
    "thread",
];

/// The only notification the daemon sends, to connections that called `event/subscribe`.
pub const EVENT_NOTIFICATION: &str = "event";

/// Is shown every method of the contract, see [`visit_methods`].
pub trait MethodVisitor {
    /// Called once for each method.
    fn visit<M: Method>(&mut self);
}

/// Shows every method of the contract to `visitor`, in the order of [`METHODS`].
///
/// For what has to be complete: the schema, a server's table of handlers, tests.
pub fn visit_methods(visitor: &mut impl MethodVisitor) {
    visitor.visit::<checkpoint::Apply>();
    visitor.visit::<checkpoint::Get>();
    visitor.visit::<checkpoint::View>();
    visitor.visit::<compaction::Cancel>();
    visitor.visit::<compaction::Get>();
    visitor.visit::<compaction::List>();
    visitor.visit::<compaction::Run>();
    visitor.visit::<compaction::Should>();
    visitor.visit::<compaction::Start>();
    visitor.visit::<compaction::Templates>();
    visitor.visit::<compaction::Undo>();
    visitor.visit::<context::Diff>();
    visitor.visit::<context::Estimate>();
    visitor.visit::<context::Normalize>();
    visitor.visit::<context::Truncate>();
    visitor.visit::<context::Usage>();
    visitor.visit::<daemon::ShowConfig>();
    visitor.visit::<daemon::Metrics>();
    visitor.visit::<daemon::Reload>();
    visitor.visit::<daemon::Shutdown>();
    visitor.visit::<daemon::Status>();
    visitor.visit::<event::Subscribe>();
    visitor.visit::<event::Unsubscribe>();
    visitor.visit::<history::Expand>();
    visitor.visit::<history::Get>();
    visitor.visit::<daemon::Initialize>();
    visitor.visit::<job::Cancel>();
    visitor.visit::<job::Claim>();
    visitor.visit::<job::Complete>();
    visitor.visit::<job::Fail>();
    visitor.visit::<job::Get>();
    visitor.visit::<job::Heartbeat>();
    visitor.visit::<job::List>();
    visitor.visit::<job::Retry>();
    visitor.visit::<job::Why>();
    visitor.visit::<memory::AddNote>();
    visitor.visit::<memory::Cite>();
    visitor.visit::<memory::Forget>();
    visitor.visit::<memory::List>();
    visitor.visit::<memory::Read>();
    visitor.visit::<memory::Run>();
    visitor.visit::<memory::Search>();
    visitor.visit::<memory::Status>();
    visitor.visit::<memory::Summary>();
    visitor.visit::<message_history::Append>();
    visitor.visit::<message_history::Lookup>();
    visitor.visit::<policy::Check>();
    visitor.visit::<policy::Evaluate>();
    visitor.visit::<policy::Explain>();
    visitor.visit::<policy::Log>();
    visitor.visit::<policy::Report>();
    visitor.visit::<policy::Step>();
    visitor.visit::<policy::Templates>();
    visitor.visit::<thread::Append>();
    visitor.visit::<thread::Close>();
    visitor.visit::<thread::Continue>();
    visitor.visit::<thread::Get>();
    visitor.visit::<thread::Items>();
    visitor.visit::<thread::List>();
    visitor.visit::<thread::Open>();
    visitor.visit::<thread::Search>();
    visitor.visit::<thread::Sync>();
}

/// Looks a method up by its name on the wire.
#[must_use]
pub fn find(name: &str) -> Option<&'static MethodInfo> {
    METHODS.binary_search_by(|info| info.name.cmp(name)).ok().map(|at| &METHODS[at])
}

const fn method(name: &'static str, capability: &'static str) -> MethodInfo {
    MethodInfo { name, since: 1, capability }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_is_found_by_its_name() {
        for info in METHODS {
            assert_eq!(find(info.name), Some(info));
        }
        assert_eq!(find("thread/erase"), None);
    }
}
