//! Evaluates every policy, shadows included, on every live thread when a turn ends, and logs the decision.
//! Nothing acts on it. When a thread has filled its window up to its limit, also mid-turn, an event says so.
//!
//! *Owns* which turn of which thread was last decided on, and which threads are over their limits. After a
//! restart it decides once more, which only the log shows. An old transcript that is read for the first time
//! is not a live thread.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use longhaul_core::policy::Point;
use longhaul_protocol::event::EventKind;
use longhaul_store::ThreadTable;
use serde_json::json;

use super::thread_state::{Subject, ThreadState, is_live};
use super::watchers::Watchers;
use crate::clock::Clock;
use crate::events::{EventHub, Subscriber};
use crate::service::error::ServiceError;

const THREADS_MAX: usize = 512;

#[derive(Debug, Default)]
struct Seen {
    /// The turn of the last decision.
    turn: Option<u64>,
    is_over_limit: bool,
}

#[derive(Debug, Default)]
struct SeenThreads {
    threads: HashMap<String, Seen>,
    order: VecDeque<String>,
}

impl SeenThreads {
    fn of(&mut self, thread_id: &str) -> &mut Seen {
        if !self.threads.contains_key(thread_id) {
            self.order.push_back(thread_id.to_owned());
        }
        if self.order.len() > THREADS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.threads.remove(&oldest);
        }
        self.threads.entry(thread_id.to_owned()).or_default()
    }
}

pub struct LivePolicies {
    watchers: Arc<Watchers>,
    threads: ThreadTable,
    clock: Clock,
    hub: EventHub,
    events: Subscriber,
    seen: SeenThreads,
}

impl LivePolicies {
    pub fn new(watchers: Arc<Watchers>, threads: ThreadTable, clock: Clock, hub: EventHub) -> Self {
        let events = hub.subscribe(vec![EventKind::ThreadUpdated], None);
        Self { watchers, threads, clock, hub, events, seen: SeenThreads::default() }
    }

    /// Decides whenever a turn ends, until the events end.
    pub async fn run(mut self) {
        while let Some(event) = self.events.next().await {
            let Some(thread_id) = event.data["thread_id"].as_str() else { continue };
            let thread_id = thread_id.to_owned();
            if let Err(error) = self.inspect(&thread_id).await {
                tracing::debug!(%error, "no decision on a live thread");
            }
        }
    }

    async fn inspect(&mut self, thread_id: &str) -> Result<(), ServiceError> {
        let Some(row) = self.threads.get(thread_id).await? else { return Ok(()) };
        let now_ms = self.clock.now_ms();
        let updated_ms = row.file.head.map_or(0, |head| head.updated_at_ms);
        if !is_live(updated_ms, now_ms) {
            return Ok(());
        }
        let subject = Subject { thread_id: thread_id.to_owned(), ..Subject::default() };
        let state = self.watchers.situations.state(&subject).await?;
        self.check_limit(&state);
        let signals = state.fold.signals();
        let turn = signals.turn();
        if !signals.is_turn_complete() || self.seen.of(thread_id).turn == Some(turn) {
            return Ok(());
        }
        self.watchers.evaluate(subject, Point::TurnEnd, true).await?;
        self.seen.of(thread_id).turn = Some(turn);
        Ok(())
    }

    /// Reports once that a thread has reached the size at which it is compacted.
    fn check_limit(&mut self, state: &ThreadState) {
        let ThreadState { thread_id, window, used, .. } = state;
        let limit = window.trigger.filter(|_| window.is_known());
        let is_over = limit.is_some_and(|limit| *used >= limit);
        let seen = self.seen.of(thread_id);
        let was_over = std::mem::replace(&mut seen.is_over_limit, is_over);
        if is_over && !was_over {
            let data = json!({
                "thread_id": thread_id,
                "tokens": used,
                "limit": limit,
                "window": window.tokens,
                "percent_remaining": window.percent_left(*used),
            });
            self.hub.publish(EventKind::LimitCrossed, data);
        }
    }
}
