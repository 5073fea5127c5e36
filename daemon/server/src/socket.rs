//! The sockets: one owner, one user, one line a message. The person's and the agents' differ in nothing but who is
//! at the other end ([`Caller`](crate::link::Caller)).
//!
//! # Theory of operation
//! [`bind`] comes into possession of the path (or takes the socket systemd hands over), [`accept`] lets
//! clients of this user in, `connection` serves each of them in a task of its own, [`dispatch`] takes a message
//! to its answer through a method table it knows nothing about. Everything a client can make grow has a
//! bound in [`Bounds`]; what goes over one gets a typed refusal or a clean close, and nobody else notices.
//!
//! Nothing in here is durable: a crash at any point loses connections, which clients open again.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use jsonrpsee::Methods;
use longhaul_protocol::limit;

use crate::clock::Clock;
use crate::link::Counters;

pub mod accept;
mod batch;
pub mod bind;
mod connection;
pub(crate) mod dispatch;
pub mod envelope;
mod held;
mod outgoing;

use dispatch::Dispatcher;

/// What clients can make grow, and how far.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Bytes of one message without its newline, both ways.
    pub frame_bytes_max: usize,
    /// Requests of one connection that are worked on at the same time.
    pub in_flight_max: usize,
    pub batch_max: usize,
    pub subscriptions_max: usize,
    /// Connections of one socket open at the same time.
    pub connections_max: usize,
    /// Bytes of frames not whole yet, requests in flight and answers not taken yet, over all connections.
    pub held_bytes_max: usize,
    /// Methods whose answers may be large: one is made only where there is room for it.
    pub large: &'static [&'static str],
    /// How long a client may take from the first byte of a message to its last.
    pub frame_timeout: Duration,
    /// How long a client may take nothing of what waits for it.
    pub write_timeout: Duration,
    /// How long requests in flight may take when the daemon stops.
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

/// What the accept loop and every connection share.
#[derive(Debug)]
pub struct Server {
    dispatcher: Arc<Dispatcher>,
    counters: Arc<Counters>,
    clock: Clock,
    /// The id of the next connection, whichever socket it comes in on.
    connection_ids: AtomicUsize,
    /// The user whose processes may connect.
    uid: u32,
}

impl Server {
    /// A server of a method table for this process's user.
    #[must_use]
    pub fn new(methods: Methods, bounds: Bounds, counters: Arc<Counters>, clock: Clock) -> Self {
        Self {
            dispatcher: Arc::new(Dispatcher::new(methods, bounds, counters.clone(), clock.clone())),
            counters,
            clock,
            connection_ids: AtomicUsize::new(1),
            uid: rustix::process::geteuid().as_raw(),
        }
    }

    /// The same server for the processes of another user.
    #[must_use]
    pub fn for_uid(self, uid: u32) -> Self {
        Self { uid, ..self }
    }
}
