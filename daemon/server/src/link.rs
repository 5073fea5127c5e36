//! What the daemon knows about one connection and its calls.
//!
//! The socket makes a [`Link`] for a connection and a [`CallContext`] for a call; handlers find them in
//! jsonrpsee's `Extensions`. So the socket and the method table share this and stay strangers otherwise.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use jsonrpsee::{BoundedSubscriptions, ConnectionId, MethodSink};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::metering::CallTimes;
use crate::peer::WorkFolder;

/// Who is at the other end. The socket a connection came in on says it; nothing it sends does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// The person: the command line, editors.
    Person,
    /// An agent: the MCP bridge, hooks.
    Agent,
}

#[derive(Debug)]
pub struct Link {
    /// Who is at the other end.
    pub caller: Caller,
    /// Unique in this daemon.
    pub id: ConnectionId,
    /// The peer's process, where the system says.
    pub pid: Option<i32>,
    /// When it was accepted, by the daemon's clock.
    pub since: Duration,
    /// Cancelled when the connection is over: whatever works for it alone stops.
    pub closed: CancellationToken,
    /// Cancelled when its place is given to another connection.
    pub evicted: CancellationToken,
    /// Subscriptions that are fed; awaited before the connection ends.
    pub tasks: TaskTracker,
    pub(crate) sink: MethodSink,
    pub(crate) permits: BoundedSubscriptions,
    /// Whether it ever sent a whole message.
    spoken: AtomicBool,
    /// Milliseconds on the daemon's clock when it last sent a message or was given an answer.
    active_ms: AtomicU64,
    /// Whether the daemon works for it, and it reads; or has yet to see what it says.
    works: AtomicBool,
    /// Abilities it holds, as bits; what each stands for is the method table's affair.
    granted: AtomicU32,
    /// Of an agent: set once, by the system or else by the handshake.
    folder: OnceLock<WorkFolder>,
    subscriptions: Mutex<HashMap<String, CancellationToken>>,
}

impl Link {
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
            since,
            closed: CancellationToken::new(),
            evicted: CancellationToken::new(),
            tasks: TaskTracker::new(),
            sink,
            permits: BoundedSubscriptions::new(subscriptions_max),
            spoken: AtomicBool::new(false),
            active_ms: AtomicU64::new(whole_ms(since)),
            works: AtomicBool::new(true),
            granted: AtomicU32::new(u32::MAX),
            folder: OnceLock::new(),
            subscriptions: Mutex::default(),
        }
    }

    /// The folder an agent works in, where it is known.
    pub fn folder(&self) -> Option<&WorkFolder> {
        self.folder.get()
    }

    /// Notes the folder an agent works in; the first word holds.
    pub(crate) fn note_folder(&self, folder: WorkFolder) {
        self.folder.get_or_init(|| folder);
    }

    /// Whether it ever sent a whole message.
    pub fn has_spoken(&self) -> bool {
        self.spoken.load(Ordering::Relaxed)
    }

    /// How much another connection deserves its place, `None` where it is at work: those that never said
    /// anything come first, those that subscribed last, and of the same kind the one that was idle for longest.
    pub(crate) fn idleness(&self, now: Duration) -> Option<Idleness> {
        let is_at_work = self.works.load(Ordering::Relaxed);
        if is_at_work || self.evicted.is_cancelled() || self.closed.is_cancelled() {
            return None;
        }
        let kind = match self.has_spoken() {
            false => IdleKind::Silent,
            true if self.live().is_empty() => IdleKind::Quiet,
            true => IdleKind::Listening,
        };
        let idle_ms = whole_ms(now).saturating_sub(self.active_ms.load(Ordering::Relaxed));
        Some(Idleness { kind, idle_ms })
    }

    pub(crate) fn note_spoken(&self, now: Duration) {
        self.spoken.store(true, Ordering::Relaxed);
        self.note_active(now);
    }

    pub(crate) fn note_active(&self, now: Duration) {
        self.active_ms.store(whole_ms(now), Ordering::Relaxed);
    }

    pub(crate) fn note_work(&self, works: bool) {
        self.works.store(works, Ordering::Relaxed);
    }

    /// The abilities it holds; all of them until [`grant`](Self::grant) says otherwise.
    pub fn granted(&self) -> u32 {
        self.granted.load(Ordering::Relaxed)
    }

    /// Replaces the abilities it holds.
    pub fn grant(&self, abilities: u32) {
        self.granted.store(abilities, Ordering::Relaxed);
    }

    /// Notes a subscription; the token is cancelled when it is to end.
    pub fn subscribe(&self, subscription: &str) -> CancellationToken {
        let token = self.closed.child_token();
        self.live().insert(subscription.to_owned(), token.clone());
        token
    }

    /// Ends a subscription; answers whether there was one.
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

/// Connections that do nothing, by kind; a later kind gives its place before an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum IdleKind {
    /// It has subscribed to events.
    Listening,
    /// It asked and was answered.
    Quiet,
    /// It never sent a whole message.
    Silent,
}

/// How idle a connection is; the greatest gives its place first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Idleness {
    pub(crate) kind: IdleKind,
    pub(crate) idle_ms: u64,
}

/// A call in its surroundings.
#[derive(Debug, Clone)]
pub struct CallContext {
    /// The connection it came on.
    pub link: Arc<Link>,
    /// Its number since the start of the daemon; names it in the log.
    pub number: u64,
}

impl CallContext {
    /// The name of the request in the log and in `error.data.request_id`.
    pub fn request_id(&self) -> String {
        request_id(self.number)
    }
}

/// The name of a request: the process makes it one of a journal that holds several daemons.
pub(crate) fn request_id(number: u64) -> String {
    format!("{}-{number}", std::process::id())
}

/// Counts since the start, for `daemon/status`.
#[derive(Debug, Default)]
pub struct Counters {
    pub connections: AtomicU64,
    /// Requests seen, answered or not.
    pub requests: AtomicU64,
    /// Requests worked on now that were not answered at once.
    pub in_flight: AtomicU64,
    /// Panics that were caught.
    pub panics: AtomicU64,
    /// Connections that were refused or gave their place to another.
    pub refused: AtomicU64,
    /// How long requests took, for `daemon/metrics`.
    pub calls: CallTimes,
    /// Wakes who waits for a request.
    pub activity: Activity,
}

/// Tells one waiter of the next request. A request that nobody waits for costs one load.
#[derive(Debug, Default)]
pub struct Activity {
    is_awaited: AtomicBool,
    work_started: Notify,
}

impl Activity {
    pub(crate) fn note(&self) {
        if self.is_awaited.load(Ordering::Relaxed) && self.is_awaited.swap(false, Ordering::Relaxed)
        {
            self.work_started.notify_one();
        }
    }

    /// Waits for the next request.
    pub(crate) async fn work_started(&self) {
        self.is_awaited.store(true, Ordering::Relaxed);
        self.work_started.notified().await;
    }
}

/// Counts one up while it lives.
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
