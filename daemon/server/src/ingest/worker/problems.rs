//! What the worker does about an unreadable file and a store that refuses, and its warnings.

use std::path::Path;
use std::time::Duration;

use longhaul_store::StoreError;
use tokio::time::{Instant, sleep};

use super::Worker;
use crate::discovery::catalogue::Failed;
use crate::discovery::plan::Job;
use crate::ingest::error::SyncError;
use crate::ingest::events::{IngestWarning, WarningKind};

/// Maximum pause after the store refused a batch.
const PAUSE_MAX: Duration = Duration::from_secs(60);

const PATHS_WARNED_MAX: usize = 1_024;

impl Worker {
    pub(super) fn on_unreadable(&mut self, job: &Job, error: &str) {
        if let Some(entry) = self.shared.catalogue.lock().get_mut(job.path.as_str()) {
            let before = entry.failed.take();
            let failed = |stat| Box::new(Failed::note(&job.path, stat, error, before.as_deref()));
            entry.failed = entry.listed.map(failed);
        }
        self.shared.hints.watch_permissions(Path::new(&job.path));
        self.warn(WarningKind::Unreadable, Some(job.path.clone()), error);
    }

    /// Handles a refusal of the store: damage is repaired, anything else waits. Either way the next scan finds
    /// again what was not stored, and the files that must be read again.
    pub(super) async fn on_refusal(&mut self, error: &StoreError) {
        tracing::warn!(%error, "store refused what was read");
        self.scanned.clear();
        for job in self.urgent.drain(..).chain(self.hinted.drain(..)).filter(|job| job.restart) {
            self.shared.catalogue.distrust(&job.path);
        }
        let refused = SyncError::refused(error);
        for (_, reply) in self.waiting.drain(..) {
            reply.send(Err(refused.clone())).ok();
        }
        if matches!(error, StoreError::Corrupt { .. } | StoreError::Closed { .. })
            && let Ok(true) = self.shared.recover().await
        {
            self.next_scan = Instant::now();
            return;
        }
        self.shared.progress.set_stalled(Some(refused));
        self.warn(WarningKind::StoreRefused, None, &error.to_string());
        self.pause = (self.pause * 2).clamp(Duration::from_secs(1), PAUSE_MAX);
        self.next_scan = Instant::now() + self.pause;
        tokio::select! {
            () = self.cancel.cancelled() => {}
            () = sleep(self.pause) => {}
            // Answer a new request with the current state.
            request = self.requests.recv() => {
                self.held = request;
                self.next_scan = Instant::now();
            }
        }
    }

    /// Lets everything be listed again when all is read, once for each file: the name of its base need not tell its thread.
    pub(super) fn on_missing_base(&mut self, path: &str) {
        let cause = (WarningKind::BaseMissing, Some(path.to_owned()));
        self.may_find_base |= !self.warned.contains(&cause) && self.warned.len() < PATHS_WARNED_MAX;
        self.warn(cause.0, cause.1, "its base is not there");
    }

    /// Warns once per cause, and of at most [`PATHS_WARNED_MAX`] paths.
    pub(super) fn warn(&mut self, kind: WarningKind, path: Option<String>, detail: &str) {
        let has_room = path.is_none() || self.warned.len() < PATHS_WARNED_MAX;
        if has_room && self.warned.insert((kind, path.clone())) {
            tracing::warn!(?kind, path, detail, "ingest");
            self.shared.events.warning(&IngestWarning { kind, path, detail: detail.to_owned() });
        }
    }
}
