//! Every policy on every live thread, shadows included: decided when a turn ends, and logged. Nothing is
//! done about it.
//!
//! *Owns* which turn of which thread was last decided on; a restart decides once more, which the log
//! shows and nothing else feels. Old transcripts that are read for the first time are no live threads.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use longhaul_core::policy::Point;
use longhaul_protocol::event::EventKind;
use longhaul_store::Store;

use super::thread_state::{Subject, is_live};
use super::watchers::Watchers;
use crate::clock::Clock;
use crate::events::{EventHub, Subscriber};
use crate::ingest::Ingest;
use crate::service::error::ServiceError;

const THREADS_MAX: usize = 512;

pub struct LivePolicies {
    watchers: Arc<Watchers>,
    store: Store,
    ingest: Arc<Ingest>,
    clock: Clock,
    events: Subscriber,
    turns: HashMap<String, u64>,
    order: VecDeque<String>,
}

impl LivePolicies {
    #[must_use]
    pub fn new(
        watchers: Arc<Watchers>,
        store: Store,
        ingest: Arc<Ingest>,
        clock: Clock,
        events: &EventHub,
    ) -> Self {
        let events = events.subscribe(vec![EventKind::ThreadUpdated], None);
        let (turns, order) = (HashMap::new(), VecDeque::new());
        Self { watchers, store, ingest, clock, events, turns, order }
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
        let signals = fold.signals();
        let turn = signals.turn();
        if !signals.is_turn_complete() || self.turns.get(thread_id) == Some(&turn) {
            return Ok(());
        }
        let subject = Subject { thread_id: thread_id.to_owned(), ..Subject::default() };
        self.watchers.evaluate(subject, Point::TurnEnd, true).await?;
        if self.turns.insert(thread_id.to_owned(), turn).is_none() {
            self.order.push_back(thread_id.to_owned());
        }
        if self.order.len() > THREADS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.turns.remove(&oldest);
        }
        Ok(())
    }
}
