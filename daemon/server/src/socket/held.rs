//! Bytes held for clients, over all connections, and room for the answers that are large.
//!
//! # Theory of operation
//! A bound for each connection is not enough, since many at their own bound are more than a machine has. So
//! one ledger counts what is held for all of them: frames that are not whole yet, requests being worked on,
//! answers from the moment they are made until the socket took them. Over the common bound the connection
//! that holds most of those that do not read is told to go; its bytes count as given back from then on, so that
//! one that takes too much never costs a second one its place.
//!
//! An answer that may be large waits for a [`Room`] *before* it is made: few are made at the same time, none for
//! a connection that has yet to read its last one, and none while the ledger has no place for it. Who asks for a
//! page waits behind other pages alone, so that nobody's large answer holds it up. A client
//! that reads nothing must not keep others waiting: where room is missing, the connection that holds most of
//! those that have taken nothing for [`STALL`] goes. Who has shown that it reads is served first, and the last
//! room is kept for it: an attacker that asks on and on and reads nothing comes behind. Of the others those are
//! served first that ask for least at a time, and of these the newest: under an attack the requests that wait longest
//! are the attacker's.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Answers of one size that are made at the same time.
///
/// # Source
/// Measured: making a large one holds about three times its bytes, and takes tens of milliseconds. A page may have
/// one item that is as large.
const AT_ONCE: usize = 1;
/// Bytes of an answer that count as a page.
///
/// # Source
/// Chosen: a page is made in a few milliseconds.
const PAGE_BYTES: u64 = 1 << 20;
/// Unread bytes from which no further answer is made for a connection.
///
/// # Source
/// Chosen: about what a Unix socket buffers itself.
pub(super) const HIGH_WATER_BYTES: usize = 256 * 1024;
/// How long a client may take nothing before others that need its room get it.
///
/// # Source
/// Chosen: a client that reads empties a socket in microseconds; one that is stopped for a quarter of a second
/// loses its connection only while the bytes of all are at their bound.
const STALL: Duration = Duration::from_millis(250);
/// How often clients that read nothing are looked for while somebody waits for room.
const LOOK: Duration = Duration::from_millis(20);
/// How long a large answer waits for room before it is refused.
const ROOM_TIMEOUT: Duration = Duration::from_secs(10);

/// What all connections of a server hold.
#[derive(Debug)]
pub(super) struct Held {
    bytes_max: usize,
    ledger: Mutex<Ledger>,
}

#[derive(Debug, Default)]
struct Ledger {
    /// Of connections and of rooms.
    bytes: usize,
    /// Connections that hold something, by number.
    holders: HashMap<usize, Holder>,
    /// Answers that are being made, by size.
    making: [usize; 2],
    /// Who waits for room, by size and connection: an attacker asks thousands of times, and whoever is served next is
    /// looked for with every answer.
    waiting: [HashMap<usize, Queue>; 2],
    /// Requests that waited so far.
    tickets: u64,
    /// Whether a task looks for room for them.
    is_watched: bool,
    /// Connections whose clients read what they are sent.
    readers: HashSet<usize>,
}

#[derive(Debug)]
struct Holder {
    load: Load,
    told: CancellationToken,
}

/// What a connection holds at a time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Load {
    pub(super) bytes: usize,
    /// Those of them that the client has yet to read.
    pub(super) unread_bytes: usize,
    /// Since when the client neither took what waits for it nor ended what it began.
    pub(super) stalled_since: Option<Instant>,
    /// The client took more than its socket buffers, so it read some of it.
    pub(super) has_read: bool,
}

/// What an answer may grow to.
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

/// The requests of a connection that wait, oldest first; not empty.
type Queue = VecDeque<Waiting>;

#[derive(Debug)]
struct Waiting {
    /// Rises with time.
    ticket: u64,
    granted: oneshot::Sender<Room>,
}

/// What one connection holds; given back when it is dropped.
#[derive(Debug)]
pub(super) struct Share {
    held: Arc<Held>,
    connection: usize,
    load: Load,
    told: CancellationToken,
}

/// The right to make one answer that may be large, and its bytes until its connection counts them.
#[derive(Debug)]
pub struct Room {
    held: Arc<Held>,
    size: Size,
    bytes: usize,
    is_making: bool,
}

impl Held {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { bytes_max, ledger: Mutex::default() }
    }

    /// The share of a connection, empty.
    pub(super) fn share(self: &Arc<Self>, connection: usize) -> Share {
        let told = CancellationToken::new();
        Share { held: self.clone(), connection, load: Load::default(), told }
    }

    /// Waits until an answer of a size may be made for a connection; `None` when there was no room in time.
    pub(super) async fn room(self: &Arc<Self>, connection: usize, size: Size) -> Option<Room> {
        let room = self.queue(connection, size);
        tokio::time::timeout(ROOM_TIMEOUT, room).await.ok()?.ok()
    }

    /// Joins those that wait, and sees to it that somebody looks for room.
    fn queue(self: &Arc<Self>, connection: usize, size: Size) -> oneshot::Receiver<Room> {
        let (granted, room) = oneshot::channel();
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
        room
    }

    /// Looks for room while anybody waits for it: one task for thousands of requests, not each for itself.
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

    /// Whether anybody still waits for room; else nobody looks for it from now on.
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

    /// Bytes an answer is counted with until it is made.
    const fn room_bytes(&self, size: Size) -> usize {
        match size {
            Size::Page => self.bytes_max / 32,
            Size::Large => self.bytes_max / 4,
        }
    }

    /// Closes connections that take nothing, until there is room for an answer that could be made.
    fn make_room(&self, now: Instant) {
        let mut ledger = self.ledger();
        while ledger.bytes + 2 * self.room_bytes(Size::Large) > self.bytes_max {
            let stalled = ledger.holders.iter().filter(|(_, holder)| holder.is_stalled(now));
            let most = stalled.max_by_key(|(_, holder)| holder.load.bytes);
            let Some(most) = most.map(|(connection, _)| *connection) else { break };
            ledger.tell(most);
        }
    }

    /// The connection that is served next; `None` where there is no room, or nobody to serve.
    fn next(&self, ledger: &Ledger, size: Size) -> Option<usize> {
        let rooms = self.bytes_max.saturating_sub(ledger.bytes) / self.room_bytes(size).max(1);
        // Asked for every request, and there is mostly no room under an attack.
        if ledger.making[size as usize] >= AT_ONCE || rooms == 0 {
            return None;
        }
        let may = |connection: &usize| {
            let holder = ledger.holders.get(connection);
            let is_behind = holder.is_some_and(|it| it.load.unread_bytes >= HIGH_WATER_BYTES);
            !is_behind && (ledger.readers.contains(connection) || rooms > 1)
        };
        let rank = |(connection, queue): &(&usize, &Queue)| {
            let newest = queue.back().map(|waiting| waiting.ticket);
            (!ledger.readers.contains(*connection), queue.len(), Reverse(newest))
        };
        let waiting = ledger.waiting[size as usize].iter();
        let next = waiting.filter(|(connection, _)| may(connection)).min_by_key(rank);
        next.map(|(connection, _)| *connection)
    }

    /// Gives room to those that wait, as far as there is any.
    fn grant(self: &Arc<Self>) {
        for size in [Size::Page, Size::Large] {
            while let Some((waiting, room)) = self.grant_next(size) {
                // One that waits no more gives it back by dropping it, and the next one is looked for.
                drop(waiting.granted.send(room));
            }
        }
    }

    fn grant_next(self: &Arc<Self>, size: Size) -> Option<(Waiting, Room)> {
        let mut ledger = self.ledger();
        let waiting = loop {
            let next = self.next(&ledger, size)?;
            // Without one, nobody of that connection waits any more, and it is not found again.
            if let Some(waiting) = ledger.take_oldest(size, next) {
                break waiting;
            }
        };
        let bytes = self.room_bytes(size);
        ledger.making[size as usize] += 1;
        ledger.bytes += bytes;
        drop(ledger);
        Some((waiting, Room { held: self.clone(), size, bytes, is_making: true }))
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Room {
    /// The answer is made and has so many bytes.
    pub(super) fn is_made(&mut self, bytes: usize) {
        let mut ledger = self.held.ledger();
        ledger.making[self.size as usize] -= usize::from(std::mem::take(&mut self.is_making));
        ledger.bytes = ledger.bytes + bytes - self.bytes;
        self.bytes = bytes;
        drop(ledger);
        self.held.grant();
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.is_made(0);
    }
}

impl Share {
    /// Cancelled when the connection has to go.
    pub(super) fn told(&self) -> CancellationToken {
        self.told.clone()
    }

    /// Notes what the connection holds now, answers included that were counted by their rooms so far. Nothing is
    /// locked where nothing changed: requests that come and go whole never get here.
    pub(super) fn take_over(&mut self, mut rooms: Vec<Room>, load: Load) {
        if load == self.load || self.told.is_cancelled() {
            return;
        }
        let has_less = load.bytes < self.load.bytes;
        self.load = load;
        let mut ledger = self.held.ledger();
        ledger.remove(self.connection);
        ledger.bytes -= rooms.iter_mut().map(|room| std::mem::take(&mut room.bytes)).sum::<usize>();
        match load.has_read && load.stalled_since.is_none() {
            true => ledger.readers.insert(self.connection),
            false => ledger.readers.remove(&self.connection),
        };
        if load.bytes > 0 {
            ledger.bytes += load.bytes;
            let told = self.told.clone();
            ledger.holders.insert(self.connection, Holder { load, told });
        }
        while ledger.bytes > self.held.bytes_max {
            let now = Instant::now();
            let most = ledger.holders.iter().max_by_key(|(_, holder)| {
                (holder.is_stalled(now), !holder.load.has_read, holder.load.bytes)
            });
            let Some(most) = most.map(|(connection, _)| *connection) else { break };
            ledger.tell(most);
        }
        let is_awaited = has_less && ledger.is_awaited();
        drop(ledger);
        if is_awaited {
            self.held.grant();
        }
    }
}

impl Drop for Share {
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

    /// The oldest request of a connection that still waits; its queue goes with its last one.
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

    fn tell(&mut self, connection: usize) {
        if let Some(holder) = self.remove(connection) {
            holder.told.cancel();
        }
    }
}

#[cfg(test)]
mod tests;
