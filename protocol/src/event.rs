//! `event/*`: notifications of what happens in the daemon.
//!
//! Events are hints; the other methods return the state. A subscriber that fell behind gets a `gap` and reads the
//! state again. An event's `seq` only grows within one instance of the daemon, so a client that lost its connection
//! can continue with `since_seq`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with_macros::skip_serializing_none;

/// `event/subscribe`: from now on `event` notifications come on this connection.
///
/// # Errors
/// `too_many_subscriptions` beyond
/// `limit::SUBSCRIPTIONS_PER_CONNECTION_MAX`.
pub struct Subscribe;

/// Which events.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "EventSubscribeParams")]
pub struct SubscribeParams {
    /// Only these; absent: all. `gap` and `closing` always come.
    pub kinds: Option<Vec<EventKind>>,
    /// Also those after this seq that the daemon still has; a `gap` comes first if it does not have all of them.
    pub since_seq: Option<u64>,
}

/// A subscription.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "EventSubscribeResult")]
pub struct SubscribeResult {
    /// Its id, unique on this connection; every notification carries it.
    pub subscription: String,
    /// The seq of the newest event at this moment.
    pub seq: u64,
}

/// `event/unsubscribe`: ends a subscription. An unknown one is not an error.
pub struct Unsubscribe;

/// Which subscription.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "EventUnsubscribeParams")]
pub struct UnsubscribeParams {
    /// `subscription` of `event/subscribe`.
    pub subscription: String,
}

/// Whether there was one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "EventUnsubscribeResult")]
pub struct UnsubscribeResult {
    /// Whether a subscription of this id was live.
    pub ended: bool,
}

/// The params of the `event` notification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "EventNotificationParams")]
pub struct NotificationParams {
    /// The subscription it belongs to.
    pub subscription: String,
    /// One event of the subscription.
    pub result: Event,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Its place in the order of all events; grows, also over restarts of the daemon.
    pub seq: u64,
    /// When, Unix milliseconds.
    pub at: i64,
    /// What: the name of an [`EventKind`], or one of a newer daemon.
    pub kind: String,
    /// The facts, by kind; fields may be added.
    pub data: Value,
}

/// The kinds of events of this revision, with the fields of their `data`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum EventKind {
    /// A thread is new or has grown: `{thread_id, path, seq, items, tokens}`.
    ThreadUpdated,
    /// A transcript has lines or a file that cannot be read: `{path, reason, count}`.
    IngestWarning,
    /// The database was damaged or of an older version; it was moved aside and is being rebuilt: `{moved_to}`.
    StoreRebuilt,
    /// A compaction begins: `{compaction_id, thread_id?, strategy, phase, trigger, tokens:{before}}`; the
    /// strategy is the one that was asked for.
    CompactionStarted,
    /// Progress of a rung that asks a model: `{compaction_id, thread_id?, strategy, stage, tokens, percent}`.
    /// The stages are `reading`, `asking`, `writing`, `checking`; `tokens` counts what the model has written, `percent`
    /// its share of the available room.
    CompactionProgress,
    /// No compaction was made: `{compaction_id, reason, retries?}`. The reason is `cancelled` if its client disconnected
    /// or called `compaction/cancel`; with `retries` the job of `compaction/start` tries again. Each
    /// `compaction_started` is followed by this or by `compaction_completed`.
    CompactionFailed,
    /// A warning about a compaction, such as `accuracy`:
    /// `{compaction_id, thread_id?, warning, message}`.
    CompactionWarning,
    /// A thread or a given history is compacted repeatedly without progress:
    /// `{compaction_id, thread_id?, compactions, reread:[path…]}`.
    CompactionLoop,
    /// A compaction is done: `{compaction_id, thread_id?, strategy_used, tokens:{before, after}}`.
    CompactionCompleted,
    /// A history was replaced: `{compaction_id, thread_id?, strategy_used, tokens:{before, after}}`, after
    /// `compaction_completed`, under the name that Codex clients know. If an agent compacted its own thread:
    /// `{thread_id, tokens:{after}}`, after `thread_updated`.
    ContextCompacted,
    /// A decision of the active policy was logged: `{thread_id, decision_id, turn, seq, point, action,
    /// tier, percent_remaining}`.
    PolicyDecided,
    /// A live thread reached its compaction limit: `{thread_id, tokens, limit, window, percent_remaining}`. Sent once
    /// until it is below the limit again; never for an unknown window.
    LimitCrossed,
    /// Memory is being built: `{phase, done, total}`; the phases are `extract` and `consolidate`.
    MemoryProgress,
    /// Memory was published: `{generation, threads}`.
    MemoryPublished,
    /// Events were lost for this subscriber: `{missed?, next_seq}`. Read the state again.
    Gap,
    /// The last event; the daemon shuts down or the subscription ends: `{reason}`.
    Closing,
}
