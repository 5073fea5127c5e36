//! Events of the daemon, by subscription.
//!
//! The connection delivers to the [`Router`], and a [`Subscription`] reads from it. The first events of a subscription
//! may arrive before the caller gets the answer with its id; so the router opens a queue for an unknown id, and the
//! subscription claims it later. Queues are bounded: a slow reader finds a `gap` event at the end of the queue, as it
//! does if the daemon dropped events.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use longhaul_protocol::event::{
    Event, EventKind, NotificationParams, Unsubscribe, UnsubscribeParams,
};
use longhaul_protocol::limit::SUBSCRIPTIONS_PER_CONNECTION_MAX;
use serde_json::json;
use tokio::sync::mpsc;

use crate::{Client, ClientError};

/// Events waiting for one subscription, including the `gap` at its end.
const QUEUE_EVENTS: usize = 1024;

/// A stream of events. Dropping it unsubscribes.
#[derive(Debug)]
pub struct Subscription {
    id: String,
    /// The seq of the newest event when the subscription began.
    seq: u64,
    events: mpsc::Receiver<Event>,
    client: Client,
}

impl Subscription {
    pub(crate) fn new(id: String, seq: u64, client: Client) -> Self {
        let events = client.router().claim(&id);
        Self { id, seq, events, client }
    }

    /// The seq of the newest event when the subscription began; later ones will follow.
    #[must_use]
    pub const fn seq(&self) -> u64 {
        self.seq
    }

    /// The next event; `None` when the connection or the subscription has ended.
    pub async fn next(&mut self) -> Option<Event> {
        self.events.recv().await
    }

    /// Ends the subscription and waits for the daemon's answer.
    ///
    /// # Errors
    /// As any call; the subscription has ended locally in any case.
    pub async fn close(self) -> Result<(), ClientError> {
        let params = UnsubscribeParams { subscription: self.id.clone() };
        let answer = self.client.call::<Unsubscribe>(params).await;
        // Only now, because an event that arrives before the answer would open a new queue.
        self.client.router().forget(&self.id);
        answer.map(drop)
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let was_live = self.client.router().forget(&self.id);
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if was_live {
            let client = self.client.clone();
            let subscription = std::mem::take(&mut self.id);
            runtime.spawn(async move {
                let params = UnsubscribeParams { subscription: subscription.clone() };
                // There is no caller to report a failure to, and the daemon ends it with the connection.
                drop(client.call::<Unsubscribe>(params).await);
                client.router().forget(&subscription);
            });
        }
    }
}

/// The queues of one connection.
#[derive(Debug, Default)]
pub(crate) struct Router {
    queues: Mutex<Queues>,
}

#[derive(Debug, Default)]
struct Queues {
    by_subscription: HashMap<String, Queue>,
    is_closed: bool,
}

#[derive(Debug)]
struct Queue {
    sender: mpsc::Sender<Event>,
    /// Kept here until the subscription claims it.
    receiver: Option<mpsc::Receiver<Event>>,
}

impl Queue {
    fn open() -> Self {
        let (sender, receiver) = mpsc::channel(QUEUE_EVENTS);
        Self { sender, receiver: Some(receiver) }
    }

    /// Queues the event; a full queue only records that some are missing.
    fn push(&self, event: Event) {
        let kept = match self.sender.capacity() {
            0 => return,
            1 => Event {
                kind: <&str>::from(EventKind::Gap).to_owned(),
                data: json!({ "next_seq": event.seq }),
                ..event
            },
            _ => event,
        };
        // A closed queue belongs to a subscription that is being dropped.
        self.sender.try_send(kept).unwrap_or_default();
    }
}

impl Router {
    pub(crate) fn deliver(&self, notification: NotificationParams) {
        let mut queues = self.lock();
        let unclaimed = |queue: &&Queue| queue.receiver.is_some();
        let is_known = queues.by_subscription.contains_key(&notification.subscription);
        let strangers = queues.by_subscription.values().filter(unclaimed).count();
        if is_known || strangers < SUBSCRIPTIONS_PER_CONNECTION_MAX {
            let queue = queues.by_subscription.entry(notification.subscription);
            queue.or_insert_with(Queue::open).push(notification.result);
        }
    }

    /// The queue of a subscription; already closed if the connection has ended.
    fn claim(&self, subscription: &str) -> mpsc::Receiver<Event> {
        let mut queues = self.lock();
        if queues.is_closed {
            return mpsc::channel(1).1;
        }
        let queue =
            queues.by_subscription.entry(subscription.to_owned()).or_insert_with(Queue::open);
        queue.receiver.take().unwrap_or_else(|| mpsc::channel(1).1)
    }

    /// Whether the subscription was live.
    fn forget(&self, subscription: &str) -> bool {
        self.lock().by_subscription.remove(subscription).is_some()
    }

    /// Ends all subscriptions: each yields its queued events, then `None`.
    pub(crate) fn close(&self) {
        let mut queues = self.lock();
        queues.is_closed = true;
        queues.by_subscription.clear();
    }

    /// No code panics while holding the lock, so a poisoned one is still consistent.
    fn lock(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(seq: u64) -> NotificationParams {
        let result = Event { seq, at: 0, kind: "thread_updated".into(), data: json!({}) };
        NotificationParams { subscription: "s".into(), result }
    }

    #[test]
    fn a_reader_that_falls_behind_finds_a_gap_and_then_what_came_after_it_read_on() {
        let router = Router::default();
        (1..=3 * QUEUE_EVENTS as u64).for_each(|seq| router.deliver(event(seq)));
        let mut events = router.claim("s");
        for seq in 1..QUEUE_EVENTS as u64 {
            assert_eq!(events.try_recv().unwrap().seq, seq);
        }
        let gap = events.try_recv().unwrap();
        assert_eq!(
            (gap.kind.as_str(), gap.data["next_seq"].as_u64()),
            ("gap", Some(QUEUE_EVENTS as u64))
        );
        router.deliver(event(9999));
        assert_eq!(events.try_recv().unwrap().seq, 9999);
    }

    #[test]
    fn events_of_subscriptions_nobody_claims_take_bounded_memory() {
        let router = Router::default();
        for stranger in 0..1000 {
            let mut event = event(1);
            event.subscription = stranger.to_string();
            router.deliver(event);
        }
        assert_eq!(router.lock().by_subscription.len(), SUBSCRIPTIONS_PER_CONNECTION_MAX);
    }

    #[test]
    fn the_end_of_the_connection_ends_every_subscription_also_later_ones() {
        let router = Router::default();
        router.deliver(event(1));
        let mut early = router.claim("s");
        router.close();
        assert_eq!(early.try_recv().unwrap().seq, 1);
        assert!(matches!(early.try_recv(), Err(mpsc::error::TryRecvError::Disconnected)));
        assert!(matches!(
            router.claim("t").try_recv(),
            Err(mpsc::error::TryRecvError::Disconnected)
        ));
    }
}
