//! What is said of a compaction while it is made, and whether it should be made at all.

use std::sync::atomic::{AtomicU64, Ordering};

use longhaul_core::compaction::rearm::{self, Earlier};
use longhaul_protocol::event::EventKind;
use serde_json::{Value, json};

use super::gather::Gathered;
use super::original::Original;
use super::{Compaction, Progress, Request, Watch};
use crate::events::EventHub;
use crate::service::{ServiceError, Services};

/// Earlier compactions that are looked at.
const EARLIER: u32 = 16;

/// Tokens of an answer between two events of its progress.
const STEP_TOKENS: u64 = 64;

impl Services {
    /// Refuses a compaction by rule (`auto`) before the thread has really grown since the last one, and
    /// warns of a thread that is compacted again and again while nothing is done. A person who asks is
    /// never refused.
    pub(super) async fn guard(
        &self,
        request: &Request,
        gathered: &Gathered,
    ) -> Result<(), ServiceError> {
        let (Some(thread_id), Original::Transcript(file)) =
            (&gathered.thread_id, &gathered.original)
        else {
            return Ok(());
        };
        let (made, _) = self.store.compaction_list(Some(thread_id), EARLIER, None).await?;
        let earlier: Vec<Earlier> = made
            .iter()
            .filter(|made| made.undone_at_ms.is_none() && made.seq < gathered.seq)
            .map(|made| Earlier { seq: made.seq })
            .collect();
        if let Some(circle) = rearm::circle(gathered.fold.checkpoint(), &earlier) {
            self.deps.events.publish(
                EventKind::CompactionLoop,
                json!({
                    "thread_id": thread_id,
                    "compactions": circle.compactions,
                    "reread": circle.reread,
                }),
            );
        }
        let last = made.iter().find(|made| made.undone_at_ms.is_none());
        let Some(last) = last.filter(|_| request.trigger == "auto") else { return Ok(()) };
        let heads = self.store.page_heads(file.file_id, file.cursor.generation).await?;
        let later = heads.iter().filter(|head| head.last_seq > last.seq);
        let grown: u64 = later.map(|head| head.tokens).sum();
        let needed = rearm::growth_needed(gathered.fold.visible().tokens());
        // The page that the last one ended in counts whole: the error is on the side of compacting.
        if gathered.seq <= last.seq || grown < needed {
            return Err(ServiceError::NotWorthwhile { grown, needed });
        }
        Ok(())
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
