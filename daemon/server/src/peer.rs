//! The client at the other end of a connection, and its calls.
//!
//! The socket creates a [`Peer`] for a connection and a [`CallContext`] for a call; handlers find them in jsonrpsee's
//! `Extensions`. The socket and the method table share only this module.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use jsonrpsee::{BoundedSubscriptions, ConnectionId, MethodSink};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::metering::CallTimes;
use crate::work_folder::WorkFolder;

/// The kind of client, determined by its socket alone and by nothing it sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// The person: the command line, editors.
    Person,
    /// An agent: the MCP bridge, hooks.
    Agent,
}

/// The client at the other end of a connection: who it is, what it may do, whether it still listens.
#[derive(Debug)]
pub struct Peer {
    pub caller: Caller,
    pub id: ConnectionId,
    /// Its process, if the system reveals it.
    pub pid: Option<i32>,
    /// Cancelled when the connection ends; work for it alone stops.
    pub closed: CancellationToken,
    /// Cancelled when its place goes to another connection.
    pub evicted: CancellationToken,
    /// The tasks of its subscriptions, awaited before the connection ends.
    pub tasks: TaskTracker,
    pub(crate) sink: MethodSink,
    pub(crate) permits: BoundedSubscriptions,
    /// Whether it ever sent a complete message.
    sent_message: AtomicBool,
    /// Milliseconds on the daemon's clock of its last message or answer.
    active_ms: AtomicU64,
    /// Whether the daemon is working for it while it reads, or its first message is still expected.
    works: AtomicBool,
    /// Its capabilities as bits, whose meaning is defined by the method table.
    granted: AtomicU32,
    /// An agent's folder, set once by the system or else by the handshake.
    folder: OnceLock<WorkFolder>,
    subscriptions: Mutex<HashMap<String, CancellationToken>>,
}

impl Peer {
    pub(crate) fn new(
        caller: Caller,
        (id, pid): (ConnectionId, Option<i32>),
        since: Duration,
        sink: MethodSink,
        subscriptions_max: u32,
    ) -> Self {
        Self {
            caller,
            id,
            pid,
            closed: CancellationToken::new(),
            evicted: CancellationToken::new(),
            tasks: TaskTracker::new(),
            sink,
            permits: BoundedSubscriptions::new(subscriptions_max),
            sent_message: AtomicBool::new(false),
            active_ms: AtomicU64::new(whole_ms(since)),
            works: AtomicBool::new(true),
            granted: AtomicU32::new(u32::MAX),
            folder: OnceLock::new(),
            subscriptions: Mutex::default(),
        }
    }

    /// The folder an agent works in, if known.
    pub fn folder(&self) -> Option<&WorkFolder> {
        self.folder.get()
    }

    /// Sets the folder an agent works in; later calls have no effect.
    pub(crate) fn note_folder(&self, folder: WorkFolder) {
        self.folder.get_or_init(|| folder);
    }

    /// Whether it ever sent a complete message.
    pub fn has_sent(&self) -> bool {
        self.sent_message.load(Ordering::Relaxed)
    }

    /// How readily it gives its place to another connection; `None` while the daemon works for it. Connections that never
    /// sent a message come first, those with subscriptions last; within a kind, the one idle for longest.
    pub(crate) fn idleness(&self, now: Duration) -> Option<Idleness> {
        let is_at_work = self.works.load(Ordering::Relaxed);
        if is_at_work || self.evicted.is_cancelled() || self.closed.is_cancelled() {
            return None;
        }
        let kind = match self.has_sent() {
            false => IdleKind::Silent,
            true if self.live().is_empty() => IdleKind::Quiet,
            true => IdleKind::Listening,
        };
        let idle_ms = whole_ms(now).saturating_sub(self.active_ms.load(Ordering::Relaxed));
        Some(Idleness { kind, idle_ms })
    }

    pub(crate) fn note_message(&self, now: Duration) {
        self.sent_message.store(true, Ordering::Relaxed);
        self.note_active(now);
    }

    pub(crate) fn note_active(&self, now: Duration) {
        self.active_ms.store(whole_ms(now), Ordering::Relaxed);
    }

    pub(crate) fn note_work(&self, works: bool) {
        self.works.store(works, Ordering::Relaxed);
    }

    /// Its capabilities; all of them before [`grant`](Self::grant).
    pub fn granted(&self) -> u32 {
        self.granted.load(Ordering::Relaxed)
    }

    pub fn grant(&self, abilities: u32) {
        self.granted.store(abilities, Ordering::Relaxed);
    }

    /// Adds a subscription; the token is cancelled when it must end.
    pub fn subscribe(&self, subscription: &str) -> CancellationToken {
        let token = self.closed.child_token();
        self.live().insert(subscription.to_owned(), token.clone());
        token
    }

    /// Ends a subscription; returns whether there was one.
    pub fn unsubscribe(&self, subscription: &str) -> bool {
        let token = self.live().remove(subscription);
        if let Some(token) = &token {
            token.cancel();
        }
        token.is_some()
    }

    fn live(&self) -> MutexGuard<'_, HashMap<String, CancellationToken>> {
        self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn whole_ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Kinds of idle connections; a later kind gives up its place before an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum IdleKind {
    /// It has subscribed to events.
    Listening,
    /// It has no subscription and no open request.
    Quiet,
    /// It never sent a complete message.
    Silent,
}

/// How idle a connection is; the greatest gives up its place first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Idleness {
    pub(crate) kind: IdleKind,
    pub(crate) idle_ms: u64,
}

#[derive(Debug, Clone)]
pub struct CallContext {
    pub peer: Arc<Peer>,
    /// Its number since the daemon's start, which names it in the log.
    pub number: u64,
}

impl CallContext {
    /// The request's name in the log and in `error.data.request_id`.
    pub fn request_id(&self) -> String {
        request_id(self.number)
    }
}

/// The name of a request. The process id keeps it unique in a journal of several daemons.
pub(crate) fn request_id(number: u64) -> String {
    format!("{}-{number}", std::process::id())
}

/// An answer as JSON. It travels in the extensions of a response, whose own text jsonrpsee copies and parses once more.
#[derive(Debug, Clone)]
pub(crate) struct ReadyAnswer(pub(crate) Box<str>);

/// Counters since the start, for `daemon/status`.
#[derive(Debug, Default)]
pub struct Counters {
    pub connections: AtomicU64,
    /// Requests seen, answered or not.
    pub requests: AtomicU64,
    /// Requests being processed that were not answered immediately.
    pub in_flight: AtomicU64,
    pub panics: AtomicU64,
    /// Connections that were rejected or evicted.
    pub refused: AtomicU64,
    /// Durations of requests, for `daemon/metrics`.
    pub calls: CallTimes,
}

/// Increments a counter for its own lifetime.
#[derive(Debug)]
pub(crate) struct Gauge<'a>(&'a AtomicU64);

impl<'a> Gauge<'a> {
    pub(crate) fn up(counter: &'a AtomicU64) -> Self {
        counter.fetch_add(1, Ordering::Relaxed);
        Self(counter)
    }
}

impl Drop for Gauge<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
