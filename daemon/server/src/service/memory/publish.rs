//! The job `consolidate`: builds the files of a new generation from all extractions.

use std::sync::Arc;

use longhaul_core::digest::Digest128;
use longhaul_core::limits::DAY_MS;
use longhaul_core::memory::agent::{CheckInputs, carry_over, without_dropped};
use longhaul_core::memory::consolidate::{Consolidation, Handbook};
use longhaul_core::memory::edits::Edits;
use longhaul_store::{ExtractionRow, Generation, NewGeneration};
use serde_json::json;
use tokio::sync::{Mutex, watch};

use super::baseline;
use super::passages::passages;
use super::publications::{Base, Publications};
use super::sources::SourceReader;
use super::thread_reader::EXTRACT_VERSION;
use crate::clock::Clock;
use crate::jobs::{Jobs, Owner};
use crate::service::error::ServiceError;

/// Whether to delete older generations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Purge {
    /// Keep the previous generation as usual.
    No,
    /// Delete them, because they contain text to forget; also drop the person's version of this file.
    Yes(Option<String>),
}

/// Builds memory from everything known and publishes it.
pub struct Publisher {
    pub(super) sources: SourceReader,
    publications: Arc<Publications>,
    jobs: Jobs,
    clock: Clock,
    /// Locked during a publication.
    making: Mutex<()>,
    /// Notified when something is to be forgotten; work on older files stops.
    purged: watch::Sender<()>,
}

impl Publisher {
    pub fn new(
        sources: SourceReader,
        publications: Arc<Publications>,
        jobs: Jobs,
        clock: Clock,
    ) -> Self {
        let (making, (purged, _)) = (Mutex::new(()), watch::channel(()));
        Self { sources, publications, jobs, clock, making, purged }
    }

    /// The state before the next publication.
    pub(super) async fn base(&self) -> Result<Base, ServiceError> {
        self.publications.base(self.clock.steady_ms()).await
    }

    /// Runs work that may write to the memory folder, while no other does. It goes on if the caller is cancelled: what
    /// blocks cannot be stopped, and must not meet another writer.
    pub(super) async fn in_turn<T: Send + 'static, W>(
        self: &Arc<Self>,
        work: impl FnOnce(Arc<Self>) -> W + Send + 'static,
    ) -> Result<T, ServiceError>
    where
        W: Future<Output = Result<T, ServiceError>> + Send,
    {
        let publisher = Arc::clone(self);
        let task = tokio::spawn(async move {
            let _making = publisher.making.lock().await;
            work(Arc::clone(&publisher)).await
        });
        task.await?
    }

    /// Changes when something is to be forgotten.
    pub(super) fn purges(&self) -> watch::Receiver<()> {
        self.purged.subscribe()
    }

    /// Restores the folder from the store, for example after a crash.
    pub async fn settle(self: &Arc<Self>) -> Result<(), ServiceError> {
        self.in_turn(|publisher| async move { publisher.publications.settle().await }).await
    }

    /// If the store is new, reads what the folder kept of the lost one.
    pub(super) async fn take_over(self: &Arc<Self>) -> Result<(), ServiceError> {
        self.in_turn(|publisher| async move { publisher.publications.take_over().await }).await
    }

    /// Publishes what is known now; returns the current generation's number, and whether it is new.
    ///
    /// # Errors
    /// If it fails, the previous generation stays current.
    pub(super) async fn publish(
        self: &Arc<Self>,
        purge: Purge,
        owner: Option<&Owner>,
    ) -> Result<(u64, bool), ServiceError> {
        let owner = owner.cloned();
        let work = move |publisher: Arc<Self>| async move {
            publisher.publish_all(purge, owner.as_ref()).await
        };
        self.in_turn(work).await
    }

    async fn publish_all(
        &self,
        purge: Purge,
        owner: Option<&Owner>,
    ) -> Result<(u64, bool), ServiceError> {
        let now_ms = self.clock.steady_ms();
        let mut base = self.publications.base(now_ms).await?;
        if let Purge::Yes(Some(path)) = &purge {
            base.edits.files.remove(path);
        }
        if purge != Purge::No {
            self.sources.purge_baseline().await?;
            self.purged.send_replace(());
        }
        let sources = self.sources.read().await?;
        let baseline = self.sources.agent_baseline().await?;
        let summed = json!([
            sources.threads.iter().map(input_of).collect::<Vec<_>>(),
            sources.notes.iter().map(|note| (&note.note_id, note.origin)).collect::<Vec<_>>(),
            format!("{:?} {:?}", sources.exclusions, sources.bounds),
            base.edits,
            [u64::from(EXTRACT_VERSION), u64::from(Handbook::VERSION)],
            now_ms.div_euclid(DAY_MS),
            sources.engine,
        ]);
        let input = Digest128::of(summed.to_string().as_bytes()).to_string();
        let is_kept = base.journal.as_ref().is_some_and(|journal| {
            journal.notes == sources.notes && journal.exclusions == sources.exclusions
        });
        let may_stay = is_kept && purge == Purge::No;
        if input == base.input && may_stay {
            return Ok((base.number, false));
        }
        let edits = base.edits.clone();
        let made = tokio::task::spawn_blocking(move || {
            let mut made = sources.consolidated(&edits, now_ms);
            if let Some(baseline) = baseline {
                let (draft, book) = (&made.files, &made.handbook);
                let summary_tokens = sources.bounds.summary_tokens;
                let files = carry_over(&baseline, CheckInputs { draft, book, summary_tokens });
                made.files = edits.apply(files);
                made.handbook = without_dropped(made.handbook, &made.files);
            }
            made
        });
        let made = made.await?;
        let is_same = made.files == base.files && base.found == base.files;
        if is_same && may_stay {
            return Ok((base.number, false));
        }
        self.publish_generation(Base { input, ..base }, made, purge, owner).await
    }

    /// What the rules make of everything known.
    pub(super) async fn consolidated_by_rules(
        &self,
        edits: &Edits,
    ) -> Result<Consolidation, ServiceError> {
        let (sources, edits) = (self.sources.read().await?, edits.clone());
        let now_ms = self.clock.steady_ms();
        Ok(tokio::task::spawn_blocking(move || sources.consolidated(&edits, now_ms)).await?)
    }

    /// Publishes `made` on top of `base`; in the turn that read `base`.
    pub(super) async fn publish_generation(
        &self,
        base: Base,
        made: Consolidation,
        purge: Purge,
        owner: Option<&Owner>,
    ) -> Result<(u64, bool), ServiceError> {
        let number = base.number + 1;
        let generation = Generation {
            generation: number,
            at_ms: self.clock.now_ms(),
            input: base.input,
            threads: made.selected.len() as u64,
            handbook: made.handbook.to_json(),
            edits: base.edits,
            files: made.files,
            found: None,
        };
        let passages = passages(&generation.files, &made.handbook, generation.at_ms);
        let (files, journal) =
            (generation.files.clone(), self.publications.journal(&generation).await?);
        let staging = self
            .publications
            .in_folder(move |folder| folder.stage(number, &files, &journal))
            .await?;
        baseline::commit(&staging, generation.at_ms).await;
        let fence = owner.map(|owner| self.jobs.fence(owner));
        let new = NewGeneration {
            generation: &generation,
            found: &base.found,
            passages: &passages,
            fence: fence.as_ref(),
        };
        if !self.publications.put(new).await? {
            return Err(ServiceError::Busy);
        }
        let is_purge = purge != Purge::No;
        if is_purge {
            self.publications.purge(number).await?;
        }
        let kept = if is_purge { vec![number] } else { vec![base.number, number] };
        self.publications.in_folder(move |folder| folder.switch(number, &staging)).await?;
        self.publications.set(&generation);
        match self.publications.in_folder(move |folder| folder.sweep(&kept, is_purge)).await {
            Err(error) if is_purge => Err(error),
            Err(error) => {
                tracing::warn!(%error, "cannot remove an old generation of memory");
                Ok((number, true))
            }
            Ok(()) => Ok((number, true)),
        }
    }
}

fn input_of(row: &ExtractionRow) -> serde_json::Value {
    json!([row.thread_id, row.next_seq, row.version, row.extracted_at_ms, row.uses])
}

#[cfg(test)]
mod tests;
