//! Refuses compactions that cannot gain, and warns of a thread that is compacted again and again.

use longhaul_core::compaction::rearm::{self, EarlierCompaction};
use longhaul_protocol::event::EventKind;
use longhaul_store::{FileRow, Store};
use serde_json::json;

use super::input::{Input, ItemSource, Past};
use super::request::Request;
use crate::events::EventHub;
use crate::service::error::ServiceError;

/// EarlierCompaction compactions that are looked at.
const EARLIER: u32 = 16;

/// Looks at the compactions before this one.
pub struct LoopGuard {
    store: Store,
    events: EventHub,
}

impl LoopGuard {
    #[must_use]
    pub fn new(store: Store, events: EventHub) -> Self {
        Self { store, events }
    }

    /// Refuses a compaction by rule (`auto`) before the history has really grown since the last one, and
    /// warns of one that is compacted again and again while nothing is done. A person who asks is never
    /// refused.
    pub(super) async fn check(
        &self,
        id: &str,
        request: &Request,
        input: &Input,
    ) -> Result<(), ServiceError> {
        let past = match &input.items {
            ItemSource::Given { past, .. } => past.clone(),
            ItemSource::Transcript(file) => self.past_of_thread(file, request, input).await?,
        };
        if let Some(circle) = rearm::circle(input.fold.checkpoint(), &past.earlier) {
            self.events.publish(
                EventKind::CompactionLoop,
                json!({
                    "compaction_id": id,
                    "thread_id": input.thread_id,
                    "compactions": circle.compactions,
                    "reread": circle.reread,
                }),
            );
        }
        // What was made and never put in force has not made the history shorter.
        let grown = if request.install { input.fold.visible().grown() } else { past.grown };
        let Some(grown) = grown.filter(|_| request.trigger == "auto") else { return Ok(()) };
        let needed = rearm::growth_needed(input.fold.visible().tokens());
        if grown < needed { Err(ServiceError::NotWorthwhile { grown, needed }) } else { Ok(()) }
    }

    /// The compactions of a thread, those that were undone left out, and what it has grown by since, where a
    /// rule asks.
    async fn past_of_thread(
        &self,
        file: &FileRow,
        request: &Request,
        input: &Input,
    ) -> Result<Past, ServiceError> {
        let Some(thread_id) = input.thread_id.as_deref() else { return Ok(Past::default()) };
        let made = self.store.compaction_seqs(thread_id, EARLIER).await?;
        let earlier = made.iter().filter(|seq| **seq < input.seq);
        let earlier = earlier.map(|seq| EarlierCompaction { seq: *seq }).collect();
        let grown = match made.first().copied().filter(|_| request.trigger == "auto") {
            None => None,
            Some(last) if input.seq <= last => Some(0),
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
