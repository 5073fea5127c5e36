//! Gathers the situation of a thread, the input of a decision.

use std::collections::BTreeSet;
use std::sync::Arc;

use longhaul_core::policy::decide::Baseline;
use longhaul_core::policy::{Point, Situation, replay, watcher};
use longhaul_core::signal::Boundary;

use super::surroundings::Surroundings;
use super::thread_state::{Subject, ThreadState};
use crate::clock::Clock;
use crate::service::context::{Contexts, UsageQuery};
use crate::service::error::ServiceError;

pub struct Situations {
    pub(in crate::service) contexts: Arc<Contexts>,
    pub(in crate::service) surroundings: Surroundings,
    pub(in crate::service) clock: Clock,
}

impl Situations {
    /// The current state of a thread and its window.
    pub(super) async fn state(&self, subject: &Subject) -> Result<ThreadState, ServiceError> {
        let query = UsageQuery {
            thread_id: Some(subject.thread_id.clone()),
            as_of: subject.as_of,
            model: subject.model.clone(),
            context_window: subject.context_window,
            ..UsageQuery::default()
        };
        let usage = self.contexts.usage(query).await?;
        let not_found = || ServiceError::CheckpointNotFound(subject.thread_id.clone());
        let fold = usage.fold.ok_or_else(not_found)?;
        let thread_id = subject.thread_id.clone();
        Ok(ThreadState { thread_id, fold, window: usage.window, used: usage.used })
    }

    /// The situation as far as the transcript shows it.
    pub(super) fn of(&self, state: &ThreadState, point: Point) -> Situation {
        let ThreadState { thread_id, fold, window, used } = state;
        replay::situation(fold, (window, *used), thread_id, (self.clock.now_ms(), point))
    }
}

/// The thread of an event, for what the client does not know.
pub struct SteppedThread<'a> {
    pub(super) state: &'a ThreadState,
    pub(super) situations: &'a Situations,
}

impl SteppedThread<'_> {
    /// Its situation, with what the client knows and the transcript lacks.
    pub fn situation(
        &self,
        point: Point,
        words: Option<String>,
        signs: BTreeSet<Boundary>,
    ) -> Situation {
        let mut situation = self.situations.of(self.state, point);
        if let Some(words) = words {
            let words = longhaul_core::text::cut_middle(&words, watcher::PACKET_BYTES);
            situation.message = Some(longhaul_core::redact::redact(&words).text.into_owned());
        }
        situation.boundaries.extend(signs);
        situation
    }

    pub fn used(&self) -> u64 {
        self.state.used
    }

    /// The newest compaction in its transcript.
    pub fn compacted(&self) -> Option<Baseline> {
        replay::compacted(&self.state.fold)
    }
}
