//! Publishes reports of ingestion as events of the daemon.

use std::path::Path;
use std::sync::Arc;

use longhaul_protocol::event::EventKind;
use serde_json::json;

use super::hints::Hints;
use super::search::IndexProgress;
use crate::events::EventHub;
use crate::ingest::{IngestEvents, IngestWarning, ThreadUpdated};

/// Publishes reports of ingestion to the event hub, and sends hints to the indexer and the archiver.
pub struct IngestReports {
    pub(super) events: EventHub,
    pub(super) index: Arc<IndexProgress>,
    pub(super) archive: Arc<Hints>,
}

impl IngestEvents for IngestReports {
    fn file_stored(&self, path: &str) {
        self.index.hint(path);
        self.archive.hint(path);
    }

    fn files_gone(&self) {
        // What the archive does not have leaves the index.
        self.index.hint_all();
    }

    fn thread_updated(&self, update: &ThreadUpdated) {
        let data = json!({
            "thread_id": update.thread_id,
            "path": update.path,
            "seq": update.next_seq.saturating_sub(1),
            "items": update.items,
            "tokens": update.tokens,
        });
        self.events.publish(EventKind::ThreadUpdated, data);
        if update.compacted {
            let data =
                json!({ "thread_id": update.thread_id, "tokens": { "after": update.tokens } });
            self.events.publish(EventKind::ContextCompacted, data);
        }
    }

    fn warning(&self, warning: &IngestWarning) {
        let kind = warning.kind.into_str();
        tracing::warn!(kind, path = warning.path, detail = warning.detail, "ingest");
        let data =
            json!({ "path": warning.path, "reason": kind, "detail": warning.detail, "count": 1 });
        self.events.publish(EventKind::IngestWarning, data);
    }

    fn store_rebuilt(&self, moved_to: &Path) {
        tracing::warn!(moved_to = %moved_to.display(), "rebuilding the database that was moved aside");
        let data = json!({ "moved_to": moved_to.display().to_string() });
        self.events.publish(EventKind::StoreRebuilt, data);
        self.index.hint_all();
        self.archive.hint_all();
    }
}
