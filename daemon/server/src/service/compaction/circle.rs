//! What is said of a compaction while it is made, and whether it should be made at all.

use std::sync::atomic::{AtomicU64, Ordering};

use longhaul_core::compaction::rearm::{self, EarlierCompaction};
use longhaul_protocol::event::EventKind;
use longhaul_store::FileRow;
use serde_json::{Value, json};

use super::gather::Gathered;
use super::original::{Original, Past};
use super::{Compaction, Progress, Request, Watch};
use crate::events::EventHub;
use crate::service::{ServiceError, Services};

/// Earlier compactions that are looked at.
const EARLIER: u32 = 16;

/// Tokens of an answer between two events of its progress.
const STEP_TOKENS: u64 = 64;

impl Services {
    /// Refuses a compaction by rule (`auto`) before the history has really grown since the last one, and
    /// warns of one that is compacted again and again while nothing is done. A person who asks is never
    /// refused.
    pub(super) async fn guard(
        &self,
        id: &str,
        request: &Request,
        gathered: &Gathered,
    ) -> Result<(), ServiceError> {
        let past = match &gathered.original {
            Original::Given { past, .. } => past.clone(),
            Original::Transcript(file) => self.past_of_thread(file, request, gathered).await?,
        };
        if let Some(circle) = rearm::circle(gathered.fold.checkpoint(), &past.earlier) {
            self.deps.events.publish(
                EventKind::CompactionLoop,
                json!({
                    "compaction_id": id,
                    "thread_id": gathered.thread_id,
                    "compactions": circle.compactions,
                    "reread": circle.reread,
                }),
            );
        }
        let Some(grown) = past.grown.filter(|_| request.trigger == "auto") else { return Ok(()) };
        let needed = rearm::growth_needed(gathered.fold.visible().tokens());
        if grown < needed { Err(ServiceError::NotWorthwhile { grown, needed }) } else { Ok(()) }
    }

    /// The compactions of a thread, those that were undone left out, and what it has grown by since, where a
    /// rule asks.
    async fn past_of_thread(
        &self,
        file: &FileRow,
        request: &Request,
        gathered: &Gathered,
    ) -> Result<Past, ServiceError> {
        let Some(thread_id) = gathered.thread_id.as_deref() else { return Ok(Past::default()) };
        let made = self.store.compaction_seqs(thread_id, EARLIER).await?;
        let earlier = made.iter().filter(|seq| **seq < gathered.seq);
        let earlier = earlier.map(|seq| EarlierCompaction { seq: *seq }).collect();
        let grown = match made.first().copied().filter(|_| request.trigger == "auto") {
            None => None,
            Some(last) if gathered.seq <= last => Some(0),
            Some(last) => {
                let heads = self.store.page_heads(file.file_id, file.cursor.generation).await?;
                // The page that the last one ended in counts whole: the error is on the side of compacting.
                let later = heads.iter().filter(|head| head.last_seq > last);
                Some(later.map(|head| head.tokens).sum())
            }
        };
        Ok(Past { earlier, grown })
    }
}

/// Tells the world of a compaction: once that it begins, then by steps how far a model is, then its end.
pub(super) struct Told<'a> {
    events: EventHub,
    facts: Value,
    watch: &'a Watch<'a>,
    last: AtomicU64,
}

impl<'a> Told<'a> {
    pub(super) fn new(
        services: &Services,
        id: &str,
        thread_id: Option<&str>,
        watch: &'a Watch<'a>,
    ) -> Self {
        let facts = json!({ "compaction_id": id, "thread_id": thread_id });
        let events = services.deps.events.clone();
        Self { events, facts, watch, last: AtomicU64::new(0) }
    }

    pub(super) fn begun(&self, request: &Request, before: u64) {
        let mut data = self.facts.clone();
        data["strategy"] = json!(request.strategy.name());
        data["phase"] = json!(request.phase.name());
        data["trigger"] = json!(request.trigger);
        data["tokens"] = json!({ "before": before });
        self.events.publish(EventKind::CompactionStarted, data);
    }

    pub(super) fn hear(&self, progress: Progress) {
        (self.watch.progress)(progress);
        let Progress { strategy, stage, tokens, percent } = progress;
        let last = self.last.load(Ordering::Relaxed);
        if tokens > 0 && tokens < last.saturating_add(STEP_TOKENS) {
            return;
        }
        self.last.store(tokens, Ordering::Relaxed);
        let mut data = self.facts.clone();
        data["strategy"] = json!(strategy.name());
        data["stage"] = json!(stage.name());
        data["tokens"] = json!(tokens);
        data["percent"] = json!(percent);
        self.events.publish(EventKind::CompactionProgress, data);
    }

    pub(super) fn done(&self, made: &Compaction) {
        for warning in &made.warnings {
            let mut data = self.facts.clone();
            data["warning"] = json!(warning.kind);
            data["message"] = json!(warning.message);
            self.events.publish(EventKind::CompactionWarning, data);
        }
        let mut data = self.facts.clone();
        data["tokens"] = json!({ "before": made.tokens.0, "after": made.tokens.1 });
        data["strategy_used"] = json!(made.strategy_used.name());
        self.events.publish(EventKind::CompactionCompleted, data.clone());
        self.events.publish(EventKind::ContextCompacted, data);
    }
}
