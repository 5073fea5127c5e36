//! The sockets: one owner, one user, one line per message. The person's and the agents' sockets differ only in the
//! [`Caller`](crate::peer::Caller).
//!
//! # Theory of operation
//! [`bind`] takes the path (or the socket systemd hands over), [`accept`] admits this user's clients, `connection`
//! serves each in its own task, and [`dispatch`] answers a message through a method table. Everything a client can
//! grow has a bound in [`Bounds`]; exceeding one is a typed refusal or a clean close, and no other client is
//! affected.
//!
//! Nothing here is durable: a crash at any point loses connections, which clients reopen.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use jsonrpsee::Methods;
use longhaul_protocol::limit;

use crate::clock::Clock;
use crate::peer::Counters;

pub mod accept;
mod batch;
pub mod bind;
mod connection;
pub(crate) mod dispatch;
pub mod envelope;
mod held_bytes;
mod outgoing;

use dispatch::Dispatcher;

/// Bounds on everything that clients can grow.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Bytes of one message without its newline, in both directions.
    pub frame_bytes_max: usize,
    /// Requests of one connection that run at the same time.
    pub in_flight_max: usize,
    pub batch_max: usize,
    pub subscriptions_max: usize,
    /// Open connections per socket.
    pub connections_max: usize,
    /// Bytes of incomplete frames, requests in flight and untaken answers, over all connections.
    pub held_bytes_max: usize,
    /// Methods whose answers may be large: such an answer is made only when there is room for it.
    pub large: &'static [&'static str],
    /// Maximum time from the first byte of a message to its last.
    pub frame_timeout: Duration,
    /// Maximum time in which a client with pending output takes too little of it to count as reading.
    pub write_timeout: Duration,
    /// Maximum time for requests in flight when the daemon stops.
    pub drain: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            frame_bytes_max: limit::FRAME_BYTES_MAX,
            in_flight_max: limit::INFLIGHT_PER_CONNECTION_MAX,
            batch_max: limit::BATCH_MAX,
            subscriptions_max: limit::SUBSCRIPTIONS_PER_CONNECTION_MAX,
            connections_max: limit::CONNECTIONS_MAX,
            held_bytes_max: limit::HELD_BYTES_MAX,
            large: &[],
            frame_timeout: Duration::from_secs(10),
            write_timeout: Duration::from_secs(30),
            drain: Duration::from_secs(5),
        }
    }
}

/// State shared by the accept loops and all connections.
#[derive(Debug)]
pub struct Server {
    dispatcher: Arc<Dispatcher>,
    counters: Arc<Counters>,
    clock: Clock,
    /// The id of the next connection, across all sockets.
    connection_ids: AtomicUsize,
    /// The user whose processes may connect.
    uid: u32,
}

impl Server {
    pub fn new(methods: Methods, bounds: Bounds, counters: Arc<Counters>, clock: Clock) -> Self {
        Self {
            dispatcher: Arc::new(Dispatcher::new(methods, bounds, counters.clone(), clock.clone())),
            counters,
            clock,
            connection_ids: AtomicUsize::new(1),
            uid: rustix::process::geteuid().as_raw(),
        }
    }

    /// Accepts processes of another user instead.
    pub fn for_uid(self, uid: u32) -> Self {
        Self { uid, ..self }
    }
}
