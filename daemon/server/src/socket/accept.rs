//! The accept loop: admits connections and drains them.
//!
//! A peer of another user is closed without an answer. At the bound on connections, the one that has been idle
//! longest is closed for the newcomer; connections that never sent a whole message are closed first, several at a
//! time. If all are busy, the newcomer is answered `server_busy` and closed. So neither ten thousand open
//! connections nor a program that leaks them locks others out. When the process is out of descriptors, accepting
//! pauses, longer each time, and existing connections are still served.
//!
//! The socket's file is checked once a second: if it was removed, alone or with its folder, it is bound again, and
//! open connections continue.
//!
//! To drain, the listener is closed first, then every connection finishes its requests in flight; any left after
//! the grace period are dropped.

use std::cmp::Reverse;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::FutureExt;
use jsonrpsee::{ConnectionId, MethodSink};
use longhaul_protocol::frame;
use longhaul_protocol::{ErrorKind, WireError};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use super::Server;
use super::bind::{BoundSocket, Claim};
use super::connection::{Connection, End};
use super::dispatch::error_reply;
use crate::peer::{Caller, Gauge, IdleKind, Idleness, Peer};
use crate::work_folder::{self, WorkFolder};

/// Milliseconds without a message before a new connection may be evicted.
///
/// # Source
/// Chosen: a client sends its first line when it connects, and that line is read first; fifty thousand newcomers a
/// second pass through 512 places in 10 ms.
const SILENT_MS_MIN: u64 = 10;
/// Silent connections evicted at a time.
///
/// # Source
/// Chosen: finding the longest idle one scans all connections, and ten thousand newcomers would wait for one scan
/// each.
const SILENT_AT_ONCE: usize = 32;
/// Milliseconds a connection that has sent a message may be idle before it may be evicted.
///
/// # Source
/// Chosen: a program that asks several things does so within a second.
const QUIET_MS_MIN: u64 = 1_000;
/// Backlog of connections to accept; a client that connects without waiting is refused beyond it.
///
/// # Source
/// Chosen: one per place, which pass in 50 ms. Behind the system's own bound of 4,096, a newcomer waited for half
/// a second.
const WAITING_MAX: i32 = 512;
/// Pauses of the accept loop while the system is out of descriptors or memory.
const BACKOFF_MIN: Duration = Duration::from_millis(10);
const BACKOFF_MAX: Duration = Duration::from_secs(1);
/// Interval between checks of the socket's file.
const LOOK: Duration = Duration::from_secs(1);
/// Maximum queued subscription messages per connection.
const MESSAGES_MAX: usize = 64;

/// Accepts callers of one kind until `draining`, then waits for their connections, at most for the grace period.
/// Each kind has its own bound on connections, so agents cannot lock the person out.
///
/// Returns the claim to the path, to release after everything else.
pub async fn serve(
    (bound, caller): (BoundSocket, Caller),
    server: Arc<Server>,
    draining: CancellationToken,
) -> io::Result<Option<Claim>> {
    let BoundSocket { listener, claim, .. } = bound;
    let listener = listening(listener)?;
    let (connections, links) = (JoinSet::new(), Vec::new());
    let mut accept = Accept {
        server,
        draining,
        connections,
        links,
        caller,
        claim,
        is_loss_told: false,
        free_places: 0,
    };
    let result = accept.run(listener).await;
    accept.draining.cancel();
    accept.drain().await;
    result.map(|()| accept.claim)
}

fn listening(listener: std::os::unix::net::UnixListener) -> io::Result<UnixListener> {
    listener.set_nonblocking(true)?;
    rustix::net::listen(&listener, WAITING_MAX)?;
    UnixListener::from_std(listener)
}

struct Accept {
    server: Arc<Server>,
    draining: CancellationToken,
    connections: JoinSet<End>,
    /// Connections, including some that have ended.
    links: Vec<Arc<Peer>>,
    /// Who connects to this listener.
    caller: Caller,
    /// The claim to the socket's path; `None` for a socket of systemd.
    claim: Option<Claim>,
    is_loss_told: bool,
    /// Places freed by eviction and not taken yet.
    free_places: usize,
}

impl Accept {
    async fn run(&mut self, mut listener: UnixListener) -> io::Result<()> {
        let mut backoff = BACKOFF_MIN;
        let draining = self.draining.clone();
        let mut looks = tokio::time::interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let accepted = tokio::select! {
                () = draining.cancelled() => return Ok(()),
                Some(ended) = self.connections.join_next() => {
                    self.note_end(ended);
                    continue;
                }
                _ = looks.tick(), if self.claim.is_some() => {
                    if let Some(bound) = self.rebound() {
                        // Clients in its queue connected in time.
                        while let Some(Ok((stream, _))) = listener.accept().now_or_never() {
                            self.admit(stream);
                        }
                        listener = listening(bound)?;
                    }
                    continue;
                }
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) => {
                    backoff = BACKOFF_MIN;
                    self.admit(stream);
                }
                Err(error) if is_of_one_connection(&error) => {}
                Err(error) if is_exhaustion(&error) => {
                    tracing::warn!(%error, pause_ms = backoff.as_millis(), "accepting connections pauses");
                    self.pause(backoff).await;
                    backoff = (backoff * 2).min(BACKOFF_MAX);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// A new listener if the previous one's file is gone.
    fn rebound(&mut self) -> Option<std::os::unix::net::UnixListener> {
        let claim =
            self.claim.as_mut().filter(|claim| !claim.is_in_place() && claim.has_state())?;
        match claim.rebind() {
            Ok(listener) => {
                tracing::warn!("the socket file was removed: bound it again");
                self.is_loss_told = false;
                Some(listener)
            }
            Err(error) => {
                // Retried every second: warn once, then log at debug level.
                match std::mem::replace(&mut self.is_loss_told, true) {
                    false => tracing::warn!(%error, "cannot bind the socket again yet: retrying"),
                    true => tracing::debug!(%error, "cannot bind the socket again yet: retrying"),
                }
                None
            }
        }
    }

    /// Pauses, but resumes as soon as a connection ends, since that may free what was missing.
    async fn pause(&mut self, time: Duration) {
        let draining = self.draining.clone();
        tokio::select! {
            () = draining.cancelled() => {}
            () = tokio::time::sleep(time) => {}
            Some(ended) = self.connections.join_next() => self.note_end(ended),
        }
    }

    fn admit(&mut self, stream: UnixStream) {
        let Ok(peer) = stream.peer_cred() else { return };
        if peer.uid() != self.server.uid {
            tracing::warn!(
                uid = peer.uid(),
                pid = peer.pid(),
                "refused a connection of another user"
            );
            self.server.counters.refused.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let connections_max = self.server.dispatcher.bounds.connections_max;
        if self.connections.len() < connections_max {
            self.free_places = 0;
        } else {
            if self.free_places == 0 {
                self.free_places = self.evict_idle();
            }
            let Some(left) = self.free_places.checked_sub(1) else {
                self.server.counters.refused.fetch_add(1, Ordering::Relaxed);
                return refuse(stream, connections_max);
            };
            self.free_places = left;
        }
        self.start(stream, peer.pid());
    }

    fn start(&mut self, stream: UnixStream, pid: Option<i32>) {
        let id = ConnectionId(self.server.connection_ids.fetch_add(1, Ordering::Relaxed));
        let bounds = self.server.dispatcher.bounds;
        let (sender, messages) = mpsc::channel(MESSAGES_MAX);
        let response_max = u32::try_from(bounds.frame_bytes_max).unwrap_or(u32::MAX);
        let sink = MethodSink::new_with_limit(sender, response_max);
        let subscriptions_max = u32::try_from(bounds.subscriptions_max).unwrap_or(u32::MAX);
        let since = self.server.clock.elapsed();
        let peer = Arc::new(Peer::new(self.caller, (id, pid), since, sink, subscriptions_max));
        self.note_link(peer.clone());
        tracing::debug!(connection = id.0, pid, caller = ?self.caller, "connected");
        let (server, draining) = (self.server.clone(), self.draining.clone());
        self.connections.spawn(async move {
            let _open = Gauge::up(&server.counters.connections);
            if peer.caller == Caller::Agent {
                note_folder(&peer).await;
            }
            let share = server.dispatcher.held.share(peer.id.0);
            let connection =
                Connection::new(server.dispatcher.clone(), peer.clone(), messages, share);
            let end = connection.run(stream, draining.cancelled_owned()).await;
            tracing::debug!(connection = peer.id.0, ?end, "disconnected");
            end
        });
    }

    /// Adds a connection, keeping the list within twice the bound.
    fn note_link(&mut self, peer: Arc<Peer>) {
        if self.links.len() >= 2 * self.server.dispatcher.bounds.connections_max {
            self.links.retain(|peer| !peer.closed.is_cancelled());
        }
        self.links.push(peer);
    }

    /// Closes the longest idle connection, or several that never sent a message; returns how many.
    fn evict_idle(&mut self) -> usize {
        self.links.retain(|peer| !peer.closed.is_cancelled());
        let now = self.server.clock.elapsed();
        let idle = self.links.iter().filter_map(|peer| Some((peer.idleness(now)?, peer)));
        let mut long: Vec<_> = idle.filter(|(idleness, _)| is_long(*idleness)).collect();
        long.sort_unstable_by_key(|(idleness, _)| Reverse(*idleness));
        let silent = long.iter().take_while(|(idleness, _)| idleness.kind == IdleKind::Silent);
        let silent = silent.count().min(SILENT_AT_ONCE).min(self.links.len() / 16);
        long.truncate(silent.max(1));
        for (_, peer) in &long {
            peer.evicted.cancel();
        }
        let count = long.len();
        self.server.counters.refused.fetch_add(count as u64, Ordering::Relaxed);
        count
    }

    fn note_end(&self, ended: Result<End, JoinError>) {
        match ended {
            Ok(End::Overfull) => tracing::warn!("closed the client that held the most bytes"),
            Ok(End::WriteTimeout) => tracing::info!("closed a client that did not read"),
            Ok(End::HalfSent) => {
                tracing::info!("closed a client that did not complete its message");
            }
            Ok(End::Finished | End::PeerGone | End::Evicted) => {}
            Err(error) if error.is_panic() => {
                self.server.counters.panics.fetch_add(1, Ordering::Relaxed);
                tracing::error!("a connection's task panicked");
            }
            Err(_) => {}
        }
    }

    async fn drain(&mut self) {
        let deadline = Instant::now() + self.server.dispatcher.bounds.drain;
        while let Ok(Some(ended)) =
            tokio::time::timeout_at(deadline, self.connections.join_next()).await
        {
            self.note_end(ended);
        }
        if !self.connections.is_empty() {
            tracing::warn!(
                connections = self.connections.len(),
                "dropped connections with requests in flight"
            );
            self.connections.shutdown().await;
        }
    }
}

/// Determines an agent's folder once: its later actions cannot change it.
async fn note_folder(peer: &Peer) {
    let pid = peer.pid;
    // Off this thread: the folder may be on a disk that does not respond.
    let found = tokio::task::spawn_blocking(move || work_folder::folder_of(pid)).await;
    if let Some(folder) = found.unwrap_or(Some(WorkFolder::Hidden)) {
        peer.note_folder(folder);
    }
}

/// Whether a connection has been idle long enough to be evicted.
fn is_long(idleness: Idleness) -> bool {
    let ms_min = match idleness.kind {
        IdleKind::Silent => SILENT_MS_MIN,
        IdleKind::Quiet | IdleKind::Listening => QUIET_MS_MIN,
    };
    idleness.idle_ms >= ms_min
}

/// Refuses in JSON-RPC. The socket's buffer is empty, so this never blocks.
fn refuse(stream: UnixStream, connections_max: usize) {
    let error =
        WireError::new(ErrorKind::ServerBusy, format!("{connections_max} connections are open"));
    let line = frame::encode(error_reply("null", &error).as_bytes());
    let written = stream.into_std().and_then(|mut stream| stream.write_all(&line));
    if let Err(error) = written {
        tracing::debug!(%error, "a refused client had already disconnected");
    }
}

/// Whether the error is of the connection to accept, not of the listener.
fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted, WouldBlock};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted | WouldBlock)
}

/// Out of descriptors or memory, which is temporary.
fn is_exhaustion(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(errno, Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM))
}
