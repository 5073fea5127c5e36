//! The archive, started and stopped, and what a person does with it.

use std::sync::{Arc, Mutex, PoisonError};

use longhaul_store::{ArchiveIndex, Store};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::archiver::Archiver;
use super::returning::Returns;
use super::{ArchiveProgress, ArchiveShared, forgotten, upkeep};
use crate::archive::{Archive, contents_of_pack};
use crate::clock::Clock;
use crate::config::Live;
use crate::ingest::Ingest;
use crate::service::error::ServiceError;
use crate::service::hints::Hints;

/// Ids that are looked at for one beginning.
const CANDIDATES_MAX: u32 = 100;

/// The handle on the archive and its task.
pub struct ArchiveKeeper {
    pub(super) shared: Arc<ArchiveShared>,
    pub(super) store: Store,
    cancel: CancellationToken,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl ArchiveKeeper {
    /// Starts archiving and returns at once; the index is opened in the background.
    #[must_use]
    pub fn start(
        (archive, hints): (Arc<Archive>, Arc<Hints>),
        (store, ingest): (Store, Arc<Ingest>),
        config: Live,
        clock: Clock,
    ) -> Self {
        let (turn, progress) = (tokio::sync::Mutex::default(), ArchiveProgress::default());
        // Until all was looked at, nobody may think that everything is archived.
        hints.hint_all();
        let shared = Arc::new(ArchiveShared { archive, hints, config, clock, turn, progress });
        let cancel = CancellationToken::new();
        let archiver = Archiver {
            shared: Arc::clone(&shared),
            store: store.clone(),
            ingest,
            cancel: cancel.clone(),
        };
        let task = Mutex::new(Some(tokio::spawn(archiver.run())));
        Self { shared, store, cancel, task }
    }

    /// Stops after the batch under way.
    pub async fn stop(&self) {
        self.cancel.cancel();
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task
            && let Err(error) = task.await
        {
            tracing::error!(%error, "the archiver failed");
        }
        self.shared.archive.close().await;
    }

    #[must_use]
    pub fn archive(&self) -> &Arc<Archive> {
        &self.shared.archive
    }

    #[must_use]
    pub fn returns(&self) -> Returns {
        Returns { shared: Arc::clone(&self.shared) }
    }

    pub(super) fn index(&self) -> Result<ArchiveIndex, ServiceError> {
        self.shared.archive.index().ok_or(ServiceError::IndexNotOpen)
    }

    /// The whole id of the one archived thread whose id begins with `named`: of a thread that the store does not know
    /// any more, nobody else can tell.
    pub(super) async fn whole(
        &self,
        index: &ArchiveIndex,
        named: &str,
    ) -> Result<String, ServiceError> {
        let mut found = index.threads_with_prefix(named, CANDIDATES_MAX).await?;
        if found.is_empty() || found.iter().any(|id| id == named) {
            return Ok(named.to_owned());
        }
        match found.len() {
            1 => Ok(found.remove(0)),
            _ => Err(ServiceError::Ambiguous {
                what: "thread",
                named: named.to_owned(),
                candidates: found,
            }),
        }
    }

    /// Removes all that the archive has of a thread, and notes that it is not to be archived. Answers the bytes of its
    /// texts.
    ///
    /// # Errors
    /// The archive cannot be written. What was removed stays so; a second try goes on.
    pub async fn forget(&self, thread_id: &str) -> Result<u64, ServiceError> {
        let index = self.index()?;
        let thread_id = &self.whole(&index, thread_id).await?;
        let _turn = self.shared.turn.lock().await;
        let (folder, thread) = (self.shared.archive.folder().to_owned(), thread_id.clone());
        let noting = move || forgotten::add(&folder, &thread);
        let noted = tokio::task::spawn_blocking(noting).await?;
        noted.map_err(|error| ServiceError::file(self.shared.archive.folder(), error))?;
        let rows = index.transcripts_of_thread(thread_id).await?;
        let bytes = rows.iter().map(|row| row.text_bytes).sum();
        let ids: Vec<i64> = rows.iter().map(|row| row.id).collect();
        index.remove_transcripts(&ids).await?;
        index.sweep().await?;
        let naming = self.packs_naming(&index, thread_id).await?;
        let is_due = |pack: &longhaul_store::PackRow| {
            naming.contains(&pack.pack) || pack.used_bytes < pack.text_bytes
        };
        let due: Vec<i64> =
            index.packs().await?.iter().filter(|pack| is_due(pack)).map(|pack| pack.pack).collect();
        upkeep::rewrite(&self.shared, &index, is_due).await?;
        // A damaged pack cannot be rewritten: what else it has goes with it.
        for pack in index.packs().await?.iter().filter(|pack| due.contains(&pack.pack)) {
            tracing::error!(
                pack = pack.pack,
                "a damaged pack is removed with what was to be forgotten"
            );
            index.repack(&[pack.pack], None).await?;
            upkeep::remove(&self.shared, pack.pack)?;
        }
        // Pages of the index still hold what was there.
        index.scrub().await?;
        Ok(bytes)
    }

    /// The packs whose own words name a thread.
    async fn packs_naming(
        &self,
        index: &ArchiveIndex,
        thread_id: &str,
    ) -> Result<Vec<i64>, ServiceError> {
        let packs = index.packs().await?.into_iter();
        let packs: Vec<_> =
            packs.map(|pack| (pack.pack, self.shared.archive.pack(pack.pack))).collect();
        let thread_id = thread_id.to_owned();
        let looking = move || {
            let names = |path: &std::path::Path| {
                // One that cannot be read may name it.
                contents_of_pack(path).map_or(true, |contents| {
                    contents.transcripts.iter().any(|name| name.thread_id == thread_id)
                })
            };
            packs.into_iter().filter(|(_, path)| names(path)).map(|(pack, _)| pack).collect()
        };
        Ok(tokio::task::spawn_blocking(looking).await?)
    }
}
