//! `event/*`: notifications of what happens in the daemon.
//!
//! Events are hints, the state is behind the other methods: a subscriber that fell behind gets a `gap` and
//! reads again. Every event has a `seq` that only grows within one instance of the daemon, so that a client
//! that lost its connection continues with `since_seq`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// `event/subscribe`: from now on `event` notifications come on this connection.
///
/// # Errors
/// `too_many_subscriptions` beyond
/// `limit::SUBSCRIPTIONS_PER_CONNECTION_MAX`.
#[derive(Debug, Clone, Copy)]
pub struct Subscribe;

/// Which events.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "EventSubscribeParams")]
pub struct SubscribeParams {
    /// Only these; absent: all. `gap` and `closing` always come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kinds: Option<Vec<EventKind>>,
    /// Also those after this seq that the daemon still remembers; a `gap` comes first when it does not
    /// remember all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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

/// `event/unsubscribe`: ends a subscription. One that is not there is no error.
#[derive(Debug, Clone, Copy)]
pub struct Unsubscribe;

/// Which subscription.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "EventUnsubscribeParams")]
pub struct UnsubscribeParams {
    /// Its id.
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
    /// The event.
    pub result: Event,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Its place in the order of all events of this instance; starts at 1.
    pub seq: u64,
    /// When, Unix milliseconds.
    pub at: i64,
    /// What: the name of an [`EventKind`], or one of a newer daemon.
    pub kind: String,
    /// The facts, as the kind says; more fields may come.
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
    /// The damaged database was moved aside and is built again: `{moved_to}`.
    StoreRebuilt,
    /// A compaction begins: `{compaction_id, thread_id?, strategy, phase, trigger, tokens:{before}}`; the
    /// strategy is the one that was asked for.
    CompactionStarted,
    /// How far a rung that asks a model is: `{compaction_id, thread_id?, strategy, stage, tokens, percent}`.
    /// The stages are `reading`, `asking`, `writing`, `checking`; tokens are what the model has written, the
    /// percentage is of what there is room for.
    CompactionProgress,
    /// No compaction was made: `{compaction_id, reason, retries?}`. The reason is `cancelled` where its client went away
    /// or `compaction/cancel` took it back; with `retries` the job of `compaction/start` tries again. Each
    /// `compaction_started` is followed by this or by `compaction_completed`.
    CompactionFailed,
    /// What a person should know of a compaction, such as `accuracy`:
    /// `{compaction_id, thread_id?, warning, message}`.
    CompactionWarning,
    /// A thread or a given history is compacted again and again without progress:
    /// `{compaction_id, thread_id?, compactions, reread:[path…]}`.
    CompactionLoop,
    /// A compaction is done: `{compaction_id, thread_id?, strategy_used, tokens:{before, after}}`.
    CompactionCompleted,
    /// A history has a replacement: `{compaction_id, thread_id?, strategy_used, tokens:{before, after}}`, after
    /// `compaction_completed`. The name under which clients of Codex know it. Of an agent that compacted its
    /// thread by itself: `{thread_id, tokens:{after}}`, after `thread_updated`.
    ContextCompacted,
    /// A decision of the policy in force went into the log: `{thread_id, decision_id, turn, seq, point, action,
    /// tier, percent_remaining}`.
    PolicyDecided,
    /// A live thread holds as much as it is compacted at: `{thread_id, tokens, limit, window, percent_remaining}`.
    /// Once, until it holds less again; never of a window that nobody states.
    LimitCrossed,
    /// Memory is being made: `{phase, done, total}`; the phases are `extract` and `consolidate`.
    MemoryProgress,
    /// Memory was published: `{generation, threads}`.
    MemoryPublished,
    /// Events were lost for this subscriber: `{missed?, next_seq}`. Read the state again.
    Gap,
    /// The last event: the daemon shuts down or the subscription ends: `{reason}`.
    Closing,
}
