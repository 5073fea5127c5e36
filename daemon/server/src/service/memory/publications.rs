//! The newest generation, cached, and the memory folder.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use longhaul_core::memory::Files;
use longhaul_core::memory::consolidate::Handbook;
use longhaul_core::memory::own::Own;
use longhaul_store::{Generation, GenerationTable};

use super::folder::Folder;
use crate::service::error::ServiceError;

#[derive(Debug, Default)]
pub(super) struct Publication {
    pub(super) generation: u64,
    pub(super) at_ms: i64,
    pub(super) threads: u64,
    pub(super) handbook: Handbook,
    /// The text of `memory_summary.md`.
    pub(super) page: String,
    pub(super) own: Own,
}

pub struct Publications {
    generations: GenerationTable,
    folder: Folder,
    newest: Mutex<Option<Arc<Publication>>>,
}

impl Publications {
    /// `state_dir` contains the memory folder.
    pub fn new(generations: GenerationTable, state_dir: &Path) -> Self {
        Self { generations, folder: Folder::new(state_dir), newest: Mutex::new(None) }
    }

    pub(super) fn folder(&self) -> &Folder {
        &self.folder
    }

    /// The newest generation, from the cache or the store.
    pub(super) async fn newest(&self) -> Result<Arc<Publication>, ServiceError> {
        let cached = self.newest.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(publication) = cached {
            return Ok(publication);
        }
        let generations = self.generations.newest().await?;
        let publication = match generations.first() {
            Some(newest) => publication_of(newest, &self.folder),
            None => Publication {
                own: Own::new(self.folder.roots(), &Files::new()),
                ..Publication::default()
            },
        };
        Ok(self.keep(publication))
    }

    /// Makes `generation` the newest in the cache.
    pub(super) fn set(&self, generation: &Generation) -> Arc<Publication> {
        self.keep(publication_of(generation, &self.folder))
    }

    fn keep(&self, publication: Publication) -> Arc<Publication> {
        let publication = Arc::new(publication);
        let mut cached = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        *cached = Some(Arc::clone(&publication));
        publication
    }

    /// Runs `work` in the folder, on a thread for blocking work.
    pub(super) async fn in_folder<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Folder) -> std::io::Result<T> + Send + 'static,
    ) -> Result<T, ServiceError> {
        let folder = self.folder.clone();
        let path = folder.path().display().to_string();
        let done = tokio::task::spawn_blocking(move || work(&folder)).await?;
        done.map_err(|source| ServiceError::File { path, source })
    }
}

fn publication_of(generation: &Generation, folder: &Folder) -> Publication {
    Publication {
        generation: generation.generation,
        at_ms: generation.at_ms,
        threads: generation.threads,
        handbook: Handbook::read(&generation.handbook).unwrap_or_default(),
        page: generation.files.get("memory_summary.md").cloned().unwrap_or_default(),
        own: Own::new(folder.roots(), &generation.files),
    }
}
