//! Rejects compactions that cannot gain, and warns if a thread is compacted again and again.

use longhaul_core::compaction::growth;
use longhaul_protocol::event::EventKind;
use longhaul_store::{CompactionTable, FileRow, PageTable};
use serde_json::json;

use super::input::{Input, ItemSource, Past};
use super::request::Request;
use crate::events::EventHub;
use crate::service::error::ServiceError;

/// Earlier compactions to inspect.
const EARLIER: u32 = 16;

pub struct LoopGuard {
    pub(in crate::service) pages: PageTable,
    pub(in crate::service) compactions: CompactionTable,
    pub(in crate::service) events: EventHub,
}

impl LoopGuard {
    /// Rejects an automatic compaction until the history has grown by [`growth::needed`], and warns of a thread that
    /// is compacted repeatedly without progress. A person's request is never rejected.
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
        if let Some(detected_loop) = growth::detect_loop(input.fold.checkpoint(), &past.earlier) {
            self.events.publish(
                EventKind::CompactionLoop,
                json!({
                    "compaction_id": id,
                    "thread_id": input.thread_id,
                    "compactions": detected_loop.compactions,
                    "reread": detected_loop.reread,
                }),
            );
        }
        // A compaction that was never installed has not shortened the history.
        let grown = if request.install { input.fold.visible().grown() } else { past.grown };
        let Some(grown) = grown.filter(|_| request.trigger == "auto") else { return Ok(()) };
        let needed = growth::needed(input.fold.visible().tokens());
        if grown < needed { Err(ServiceError::NotWorthwhile { grown, needed }) } else { Ok(()) }
    }

    /// The thread's compactions, without undone ones, and its growth since the last one, if the request is
    /// automatic.
    async fn past_of_thread(
        &self,
        file: &FileRow,
        request: &Request,
        input: &Input,
    ) -> Result<Past, ServiceError> {
        let Some(thread_id) = input.thread_id.as_deref() else { return Ok(Past::default()) };
        let made = self.compactions.seqs(thread_id, EARLIER).await?;
        let earlier = made.iter().copied().filter(|seq| *seq < input.seq).collect();
        let grown = match made.first().copied().filter(|_| request.trigger == "auto") {
            None => None,
            Some(last) if input.seq <= last => Some(0),
            Some(last) => {
                let heads = self.pages.heads(file.file_id, file.cursor.generation).await?;
                // The page in which the last one ended counts in full: when in doubt, compact.
                let later = heads.iter().filter(|head| head.last_seq > last);
                Some(later.map(|head| head.tokens).sum())
            }
        };
        Ok(Past { earlier, grown })
    }
}
