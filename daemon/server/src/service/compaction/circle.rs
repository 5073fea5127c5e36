//! What is said of a compaction while it is made, and whether it should be made at all.

use std::sync::atomic::{AtomicU64, Ordering};

use longhaul_core::compaction::ladder::Strategy;
use longhaul_core::compaction::rearm::{self, Earlier};
use longhaul_protocol::event::EventKind;
use serde_json::{Value, json};

use super::gather::Gathered;
use super::original::Original;
use super::{Request, Watch};
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

/// Tells the world how far a compaction is: once when a rung begins to ask a model, then by steps.
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
        Self { events: services.deps.events.clone(), facts, watch, last: AtomicU64::new(0) }
    }

    pub(super) fn hear(&self, rung: Strategy, tokens: u64) {
        (self.watch.progress)(rung, tokens);
        let last = self.last.load(Ordering::Relaxed);
        if tokens > 0 && tokens < last.saturating_add(STEP_TOKENS) {
            return;
        }
        self.last.store(tokens, Ordering::Relaxed);
        let mut data = self.facts.clone();
        data["strategy"] = json!(rung.name());
        let kind = match tokens {
            0 => EventKind::CompactionStarted,
            _ => {
                data["tokens"] = json!(tokens);
                EventKind::CompactionProgress
            }
        };
        self.events.publish(kind, data);
    }
}
