//! Every policy on every live thread, shadows included: decided when a turn ends, and logged. Nothing is
//! done about it. A thread that has filled its window up to its limit is told of, mid-turn as well.
//!
//! *Owns* which turn of which thread was last decided on, and which threads are over their limits; a restart
//! decides once more, which the log shows and nothing else feels. Old transcripts that are read for the first time are no live threads.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use longhaul_core::policy::Point;
use longhaul_protocol::event::EventKind;
use longhaul_store::Store;
use serde_json::json;

use super::thread_state::{Subject, ThreadState, is_live};
use super::watchers::Watchers;
use crate::clock::Clock;
use crate::events::{EventHub, Subscriber};
use crate::ingest::Ingest;
use crate::service::error::ServiceError;

const THREADS_MAX: usize = 512;

/// What was last seen of a thread.
#[derive(Debug, Default)]
struct Seen {
    /// The turn that was decided on.
    turn: Option<u64>,
    is_over_limit: bool,
}

pub struct LivePolicies {
    watchers: Arc<Watchers>,
    store: Store,
    ingest: Arc<Ingest>,
    clock: Clock,
    hub: EventHub,
    events: Subscriber,
    threads: HashMap<String, Seen>,
    order: VecDeque<String>,
}

impl LivePolicies {
    pub fn new(
        watchers: Arc<Watchers>,
        store: Store,
        ingest: Arc<Ingest>,
        clock: Clock,
        events: &EventHub,
    ) -> Self {
        let updates = events.subscribe(vec![EventKind::ThreadUpdated], None);
        let (threads, order) = (HashMap::new(), VecDeque::new());
        Self {
            watchers,
            store,
            ingest,
            clock,
            hub: events.clone(),
            events: updates,
            threads,
            order,
        }
    }

    /// Decides on turns as they end, until the events end.
    pub async fn run(mut self) {
        while let Some(event) = self.events.next().await {
            let Some(thread_id) = event.data["thread_id"].as_str() else { continue };
            let thread_id = thread_id.to_owned();
            if let Err(error) = self.look(&thread_id).await {
                tracing::debug!(%error, "no decision on a live thread");
            }
        }
    }

    async fn look(&mut self, thread_id: &str) -> Result<(), ServiceError> {
        let Some(row) = self.store.thread_get(thread_id).await? else { return Ok(()) };
        let now_ms = self.clock.now_ms();
        let updated_ms = row.file.head.map_or(0, |head| head.updated_at_ms);
        if !is_live(updated_ms, now_ms) {
            return Ok(());
        }
        let Some(fold) = self.ingest.fold(thread_id).await? else { return Ok(()) };
        let subject = Subject { thread_id: thread_id.to_owned(), ..Subject::default() };
        self.look_at_limit(&subject).await?;
        let signals = fold.signals();
        let turn = signals.turn();
        if !signals.is_turn_complete() || self.seen(thread_id).turn == Some(turn) {
            return Ok(());
        }
        self.watchers.evaluate(subject, Point::TurnEnd, true).await?;
        self.seen(thread_id).turn = Some(turn);
        Ok(())
    }

    /// Tells once that a thread holds as much as it is compacted at.
    async fn look_at_limit(&mut self, subject: &Subject) -> Result<(), ServiceError> {
        let ThreadState { window, used, .. } = self.watchers.state(subject).await?;
        let limit = window.trigger.filter(|_| window.is_known());
        let is_over = limit.is_some_and(|limit| used >= limit);
        let seen = self.seen(&subject.thread_id);
        let was_over = std::mem::replace(&mut seen.is_over_limit, is_over);
        if is_over && !was_over {
            let data = json!({
                "thread_id": subject.thread_id,
                "tokens": used,
                "limit": limit,
                "window": window.tokens,
                "percent_remaining": window.percent_left(used),
            });
            self.hub.publish(EventKind::LimitCrossed, data);
        }
        Ok(())
    }

    fn seen(&mut self, thread_id: &str) -> &mut Seen {
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
