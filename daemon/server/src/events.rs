//! The event hub: publishes events without waiting for subscribers.
//!
//! # Theory of operation
//! *State*: a ring of the last [`EVENT_RING_MAX`] events. Publishing appends to the ring, drops the oldest event beyond
//! the bound and wakes the subscribers; it never blocks and never fails. A subscriber is a place in the ring, not a queue:
//! it takes a few bytes and reads at its own speed. A subscriber more than [`EVENT_QUEUE_MAX`] events behind is moved
//! forward and gets a `gap` event with the number of lost events, so no loss is silent. The state itself is in the store,
//! where a client reads it after a gap.
//!
//! Seqs increase across restarts: the first is the start time in milliseconds × 1000, which a daemon that publishes fewer
//! than a million events a second never reaches, unless the clock is set back between two daemons. A client that resumes
//! with a seq of an earlier daemon gets a `gap`; only after such a clock, and if the seq is among this daemon's, it
//! misses events unnoticed. A crash loses only the ring.
//!
//! When the daemon stops, every subscription ends with one `closing` event.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use longhaul_protocol::event::EventKind;
use longhaul_protocol::limit::{EVENT_QUEUE_MAX, EVENT_RING_MAX};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::clock::Clock;

/// An event, in the form of the wire.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Event {
    /// Its position in the order of all events.
    pub seq: u64,
    pub at: i64,
    pub kind: EventKind,
    /// Details, depending on the kind.
    pub data: Value,
}

/// The hub; clones share it.
#[derive(Debug, Clone)]
pub struct EventHub(Arc<Hub>);

#[derive(Debug)]
struct Hub {
    clock: Clock,
    /// The seq of this daemon's first event.
    first_seq: u64,
    ring: Mutex<Ring>,
    /// Wakes subscribers; its value is not read.
    changed: watch::Sender<()>,
}

#[derive(Debug)]
struct Ring {
    events: VecDeque<Arc<Event>>,
    /// The seq of the next event; the ring holds the events right before it, without gaps.
    next_seq: u64,
    /// Why the hub was closed.
    closed: Option<&'static str>,
}

/// One reader of the hub; see [`EventHub::subscribe`].
#[derive(Debug)]
pub struct Subscriber {
    hub: Arc<Hub>,
    changed: watch::Receiver<()>,
    /// Empty: every kind.
    kinds: Vec<EventKind>,
    /// The next seq to read.
    cursor: u64,
    /// Events before this one existed when the subscription began; a resumed subscription may read the whole ring.
    resume_until: u64,
    ended: bool,
}

/// What a subscriber gets next.
enum NextDelivery {
    Event(Arc<Event>),
    Gap { lost_from: u64 },
    Closed(&'static str),
    Wait,
}

impl EventHub {
    /// A hub whose seqs begin after those of every earlier daemon.
    pub fn new(clock: Clock) -> Self {
        let next_seq = u64::try_from(clock.now_ms()).unwrap_or(0).saturating_mul(1000) + 1;
        let ring = Mutex::new(Ring { events: VecDeque::new(), next_seq, closed: None });
        Self(Arc::new(Hub { clock, first_seq: next_seq, ring, changed: watch::Sender::new(()) }))
    }

    /// Publishes an event and returns its seq; never waits.
    pub fn publish(&self, kind: EventKind, data: Value) -> u64 {
        let at = self.0.clock.now_ms();
        let seq = {
            let mut ring = self.0.ring();
            let seq = ring.next_seq;
            ring.next_seq += 1;
            if ring.events.len() == EVENT_RING_MAX {
                ring.events.pop_front();
            }
            ring.events.push_back(Arc::new(Event { seq, at, kind, data }));
            seq
        };
        self.0.changed.send_replace(());
        seq
    }

    /// Ends all current and future subscriptions with a `closing` event.
    pub fn close(&self, reason: &'static str) {
        self.0.ring().closed.get_or_insert(reason);
        self.0.changed.send_replace(());
    }

    /// The seq of the newest event.
    pub fn latest_seq(&self) -> u64 {
        self.0.ring().next_seq - 1
    }

    /// A reader of `kinds` (of every kind if empty), from now on or from the event after `since_seq`.
    pub fn subscribe(&self, kinds: Vec<EventKind>, since_seq: Option<u64>) -> Subscriber {
        let next_seq = self.0.ring().next_seq;
        // A seq of the future is an earlier daemon's, whose clock was ahead: like every other one of an earlier daemon, it
        // is before all of this daemon's events.
        let since_seq = since_seq.map(|seq| if seq < next_seq { seq } else { 0 });
        let cursor = since_seq.map_or(next_seq, |seq| seq + 1);
        Subscriber {
            hub: self.0.clone(),
            changed: self.0.changed.subscribe(),
            kinds,
            cursor,
            resume_until: next_seq,
            ended: false,
        }
    }
}

impl Hub {
    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Subscriber {
    /// The seq of the newest event that was delivered or skipped.
    pub const fn seq(&self) -> u64 {
        self.cursor - 1
    }

    /// The seq of the newest event when the subscription began.
    pub const fn began_after(&self) -> u64 {
        self.resume_until - 1
    }

    /// Waits for the next event; `None` after the closing one.
    ///
    /// Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<Arc<Event>> {
        loop {
            if self.ended {
                return None;
            }
            self.changed.mark_unchanged();
            match self.next_delivery() {
                NextDelivery::Event(event) => return Some(event),
                NextDelivery::Gap { lost_from } => return Some(self.gap(lost_from)),
                NextDelivery::Closed(reason) => {
                    self.ended = true;
                    return Some(self.own_event(EventKind::Closing, json!({ "reason": reason })));
                }
                // The hub outlives its subscribers; a dropped sender would also mean the end.
                NextDelivery::Wait => self.changed.changed().await.ok()?,
            }
        }
    }

    fn next_delivery(&mut self) -> NextDelivery {
        let hub = self.hub.clone();
        let ring = hub.ring();
        let queue_from =
            ring.next_seq.saturating_sub(EVENT_QUEUE_MAX as u64).max(self.resume_until);
        let ring_from = ring.next_seq - ring.events.len() as u64;
        let oldest = match self.cursor < self.resume_until {
            true => ring_from,
            false => ring_from.max(queue_from),
        };
        if self.cursor < oldest {
            return NextDelivery::Gap { lost_from: std::mem::replace(&mut self.cursor, oldest) };
        }
        while self.cursor < ring.next_seq {
            let at = usize::try_from(self.cursor - ring_from).unwrap_or(usize::MAX);
            self.cursor += 1;
            match ring.events.get(at) {
                Some(event) if self.kinds.is_empty() || self.kinds.contains(&event.kind) => {
                    return NextDelivery::Event(event.clone());
                }
                Some(_) | None => {}
            }
        }
        ring.closed.map_or(NextDelivery::Wait, NextDelivery::Closed)
    }

    /// The event that replaces the lost ones, from `lost_from` up to the cursor.
    fn gap(&self, lost_from: u64) -> Arc<Event> {
        let data = match lost_from >= self.hub.first_seq {
            true => json!({ "missed": self.cursor - lost_from, "next_seq": self.cursor }),
            // The number of events that the earlier daemon published after that seq is unknown.
            false => json!({ "next_seq": self.cursor }),
        };
        self.own_event(EventKind::Gap, data)
    }

    /// An event for this subscriber only: it has the subscriber's position and takes no seq.
    fn own_event(&self, kind: EventKind, data: Value) -> Arc<Event> {
        Arc::new(Event { seq: self.seq(), at: self.hub.clock.now_ms(), kind, data })
    }
}

#[cfg(test)]
mod tests;
