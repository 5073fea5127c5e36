//! Counts the bytes held for clients, over all connections, and reserves room for large answers.
//!
//! # Theory of operation
//! A bound per connection is not enough: many connections at their own bound exceed a machine's memory. So one
//! ledger counts the bytes held for all of them: incomplete frames, requests in progress, and answers from their
//! creation until the socket takes them. Above the common bound, connections are closed: those that have stalled
//! first, then those not known to read, and of these the one that holds the most. Its bytes count as released from
//! then on, so that one heavy client never costs a second one its place.
//!
//! An answer that may be large waits for a [`Reservation`] *before* it is made: few are made at once, none for a
//! connection that has not read its last one, and none while the ledger is full. A request for a page waits only
//! behind other pages, so that no large answer delays it. A client that reads nothing must not block others: if
//! room is missing, the connection that holds the most, of those that have read nothing for [`STALL`], is closed.
//! Clients known to read are served first, and the last room is kept for them, so an attacker that only sends
//! requests comes last. Of the others, those with the fewest pending requests are served first, and of these the
//! newest: under an attack the requests that have waited longest are the attacker's.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Answers of one size made at the same time.
///
/// # Source
/// Measured: making a large answer takes about three times its bytes and tens of milliseconds. A page may have one
/// item that is as large.
const AT_ONCE: usize = 1;
/// An answer up to this size counts as a page.
///
/// # Source
/// Chosen: a page is made in a few milliseconds.
const PAGE_BYTES: u64 = 1 << 20;
/// At this many unread bytes, no further answer is made for a connection.
///
/// # Source
/// Chosen: about as much as a Unix socket buffers itself.
pub(super) const HIGH_WATER_BYTES: usize = 256 * 1024;
/// How long a client may read nothing before its room goes to others.
///
/// # Source
/// Chosen: a client that reads empties a socket in microseconds; one that is stopped for a quarter of a second
/// loses its connection only while the common bound is reached.
const STALL: Duration = Duration::from_millis(250);
/// Interval of the search for stalled clients while a request waits for room.
const LOOK: Duration = Duration::from_millis(20);
/// Maximum time a large answer waits for room.
const RESERVATION_TIMEOUT: Duration = Duration::from_secs(10);

/// The bytes held by all connections of a server.
#[derive(Debug)]
pub(super) struct HeldBytes {
    bytes_max: usize,
    ledger: Mutex<Ledger>,
}

#[derive(Debug, Default)]
struct Ledger {
    /// Of connections and reservations.
    bytes: usize,
    /// Connections that hold bytes, by number.
    holders: HashMap<usize, Holder>,
    /// Answers being made, by size.
    making: [usize; 2],
    /// Requests that wait for room, by size and connection: an attacker may send thousands, and the next one is
    /// chosen after every answer.
    waiting: [HashMap<usize, Queue>; 2],
    /// Number of requests that have waited so far.
    tickets: u64,
    /// A task is looking for room for them.
    is_watched: bool,
    /// Connections whose clients have read their answers.
    readers: HashSet<usize>,
}

#[derive(Debug)]
struct Holder {
    load: ConnectionLoad,
    must_close: CancellationToken,
}

/// Bytes held by a connection at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ConnectionLoad {
    pub(super) bytes: usize,
    /// Bytes the client has not read yet.
    pub(super) unread_bytes: usize,
    /// Since when the client has neither read pending output nor completed a message.
    pub(super) stalled_since: Option<Instant>,
    /// The client took more than its socket buffers, so it has read something.
    pub(super) has_read: bool,
}

/// Size class of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    Page,
    Large,
}

impl Size {
    /// By the bound that the request itself sets.
    pub(super) const fn of(max_bytes: Option<u64>) -> Self {
        match max_bytes {
            Some(..=PAGE_BYTES) => Self::Page,
            _ => Self::Large,
        }
    }
}

/// Waiting requests of a connection, oldest first; not empty.
type Queue = VecDeque<Waiting>;

#[derive(Debug)]
struct Waiting {
    /// Increases with time.
    ticket: u64,
    granted: oneshot::Sender<Reservation>,
}

/// Bytes held by one connection; released on drop.
#[derive(Debug)]
pub(super) struct ConnectionBytes {
    held: Arc<HeldBytes>,
    connection: usize,
    load: ConnectionLoad,
    must_close: CancellationToken,
}

/// Permission to make one possibly large answer, with its bytes until its connection counts them.
#[derive(Debug)]
pub struct Reservation {
    held: Arc<HeldBytes>,
    size: Size,
    bytes: usize,
    is_making: bool,
}

impl HeldBytes {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { bytes_max, ledger: Mutex::default() }
    }

    pub(super) fn share(self: &Arc<Self>, connection: usize) -> ConnectionBytes {
        let must_close = CancellationToken::new();
        ConnectionBytes {
            held: self.clone(),
            connection,
            load: ConnectionLoad::default(),
            must_close,
        }
    }

    /// Waits until an answer of this size may be made; `None` if there was no room in time.
    pub(super) async fn reserve(
        self: &Arc<Self>,
        connection: usize,
        size: Size,
    ) -> Option<Reservation> {
        let reserved = self.queue(connection, size);
        tokio::time::timeout(RESERVATION_TIMEOUT, reserved).await.ok()?.ok()
    }

    /// Queues a request for room, and starts the task that looks for it.
    fn queue(self: &Arc<Self>, connection: usize, size: Size) -> oneshot::Receiver<Reservation> {
        let (granted, reserved) = oneshot::channel();
        let mut ledger = self.ledger();
        let ticket = ledger.tickets;
        ledger.tickets += 1;
        let waiting = Waiting { ticket, granted };
        ledger.waiting[size as usize].entry(connection).or_default().push_back(waiting);
        let is_watched = std::mem::replace(&mut ledger.is_watched, true);
        drop(ledger);
        self.grant();
        if !is_watched {
            tokio::spawn(self.clone().watch());
        }
        reserved
    }

    /// Looks for room while any request waits: one task for thousands of requests.
    async fn watch(self: Arc<Self>) {
        loop {
            self.make_room(Instant::now());
            self.grant();
            if !self.is_awaited() {
                return;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Whether any request still waits for room; otherwise the task ends.
    fn is_awaited(&self) -> bool {
        let mut ledger = self.ledger();
        for queue in ledger.waiting.iter_mut().flat_map(HashMap::values_mut) {
            queue.retain(|waiting| !waiting.granted.is_closed());
        }
        for waiting in &mut ledger.waiting {
            waiting.retain(|_, queue| !queue.is_empty());
        }
        ledger.is_watched = ledger.is_awaited();
        ledger.is_watched
    }

    /// Bytes counted for an answer until it is made.
    const fn room_bytes(&self, size: Size) -> usize {
        match size {
            Size::Page => self.bytes_max / 32,
            Size::Large => self.bytes_max / 4,
        }
    }

    /// Closes stalled connections until there is room for an answer.
    fn make_room(&self, now: Instant) {
        let mut ledger = self.ledger();
        while ledger.bytes + 2 * self.room_bytes(Size::Large) > self.bytes_max {
            let stalled = ledger.holders.iter().filter(|(_, holder)| holder.is_stalled(now));
            let most = stalled.max_by_key(|(_, holder)| holder.load.bytes);
            let Some(most) = most.map(|(connection, _)| *connection) else { break };
            ledger.close(most);
        }
    }

    /// The connection to serve next; `None` if there is no room or no request.
    fn next(&self, ledger: &Ledger, size: Size) -> Option<usize> {
        let reservations =
            self.bytes_max.saturating_sub(ledger.bytes) / self.room_bytes(size).max(1);
        // Called for every request, and under an attack there is usually no room.
        if ledger.making[size as usize] >= AT_ONCE || reservations == 0 {
            return None;
        }
        let may = |connection: &usize| {
            let holder = ledger.holders.get(connection);
            let is_behind = holder.is_some_and(|it| it.load.unread_bytes >= HIGH_WATER_BYTES);
            !is_behind && (ledger.readers.contains(connection) || reservations > 1)
        };
        let rank = |(connection, queue): &(&usize, &Queue)| {
            let newest = queue.back().map(|waiting| waiting.ticket);
            (!ledger.readers.contains(*connection), queue.len(), Reverse(newest))
        };
        let waiting = ledger.waiting[size as usize].iter();
        let next = waiting.filter(|(connection, _)| may(connection)).min_by_key(rank);
        next.map(|(connection, _)| *connection)
    }

    /// Grants room to waiting requests, as far as there is any.
    fn grant(self: &Arc<Self>) {
        for size in [Size::Page, Size::Large] {
            while let Some((waiting, reservation)) = self.grant_next(size) {
                // A request that gave up returns the reservation by dropping it, and the next one is chosen.
                drop(waiting.granted.send(reservation));
            }
        }
    }

    fn grant_next(self: &Arc<Self>, size: Size) -> Option<(Waiting, Reservation)> {
        let mut ledger = self.ledger();
        let waiting = loop {
            let next = self.next(&ledger, size)?;
            // Otherwise no request of that connection waits, and it is not chosen again.
            if let Some(waiting) = ledger.take_oldest(size, next) {
                break waiting;
            }
        };
        let bytes = self.room_bytes(size);
        ledger.making[size as usize] += 1;
        ledger.bytes += bytes;
        drop(ledger);
        Some((waiting, Reservation { held: self.clone(), size, bytes, is_making: true }))
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reservation {
    /// Records the size of the finished answer.
    pub(super) fn settle(&mut self, bytes: usize) {
        let mut ledger = self.held.ledger();
        ledger.making[self.size as usize] -= usize::from(std::mem::take(&mut self.is_making));
        ledger.bytes = ledger.bytes + bytes - self.bytes;
        self.bytes = bytes;
        drop(ledger);
        self.held.grant();
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.settle(0);
    }
}

impl ConnectionBytes {
    /// Cancelled when the connection must close.
    pub(super) fn must_close(&self) -> CancellationToken {
        self.must_close.clone()
    }

    /// Records the bytes the connection holds, including answers counted by their reservations until now. Takes no lock
    /// if nothing changed: small complete requests never get here.
    pub(super) fn take_over(&mut self, mut reservations: Vec<Reservation>, load: ConnectionLoad) {
        if load == self.load || self.must_close.is_cancelled() {
            return;
        }
        let has_less = load.bytes < self.load.bytes;
        self.load = load;
        let mut ledger = self.held.ledger();
        ledger.remove(self.connection);
        ledger.bytes -=
            reservations.iter_mut().map(|it| std::mem::take(&mut it.bytes)).sum::<usize>();
        match load.has_read && load.stalled_since.is_none() {
            true => ledger.readers.insert(self.connection),
            false => ledger.readers.remove(&self.connection),
        };
        if load.bytes > 0 {
            ledger.bytes += load.bytes;
            let must_close = self.must_close.clone();
            ledger.holders.insert(self.connection, Holder { load, must_close });
        }
        while ledger.bytes > self.held.bytes_max {
            let now = Instant::now();
            let most = ledger.holders.iter().max_by_key(|(_, holder)| {
                (holder.is_stalled(now), !holder.load.has_read, holder.load.bytes)
            });
            let Some(most) = most.map(|(connection, _)| *connection) else { break };
            ledger.close(most);
        }
        let is_awaited = has_less && ledger.is_awaited();
        drop(ledger);
        if is_awaited {
            self.held.grant();
        }
    }
}

impl Drop for ConnectionBytes {
    fn drop(&mut self) {
        let mut ledger = self.held.ledger();
        ledger.remove(self.connection);
        ledger.readers.remove(&self.connection);
        drop(ledger);
        self.held.grant();
    }
}

impl Holder {
    fn is_stalled(&self, now: Instant) -> bool {
        self.load.stalled_since.is_some_and(|since| now.duration_since(since) >= STALL)
    }
}

impl Ledger {
    fn is_awaited(&self) -> bool {
        self.waiting.iter().any(|waiting| !waiting.is_empty())
    }

    /// Takes the oldest waiting request of a connection; removes its queue with its last one.
    fn take_oldest(&mut self, size: Size, connection: usize) -> Option<Waiting> {
        let queues = &mut self.waiting[size as usize];
        let queue = queues.get_mut(&connection)?;
        let oldest = std::iter::from_fn(|| queue.pop_front()).find(|it| !it.granted.is_closed());
        if queue.is_empty() {
            queues.remove(&connection);
        }
        oldest
    }

    fn remove(&mut self, connection: usize) -> Option<Holder> {
        let holder = self.holders.remove(&connection)?;
        self.bytes -= holder.load.bytes;
        Some(holder)
    }

    fn close(&mut self, connection: usize) {
        if let Some(holder) = self.remove(connection) {
            holder.must_close.cancel();
        }
    }
}

#[cfg(test)]
mod tests;
