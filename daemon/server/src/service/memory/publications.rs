//! The newest generation, cached, and the memory folder.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use longhaul_core::memory::Files;
use longhaul_core::memory::agent::removed_texts;
use longhaul_core::memory::consolidate::{Handbook, Project};
use longhaul_core::memory::edits::Edits;
use longhaul_core::memory::own::Own;
use longhaul_core::redact::redact;
use longhaul_protocol::event::EventKind;
use longhaul_store::{Generation, GenerationTable, NewGeneration, NoteTable};
use serde_json::json;

use super::folder::Folder;
use super::journal::Journal;
use crate::events::EventHub;
use crate::service::error::ServiceError;

/// The state before a publication.
#[derive(Default)]
pub(super) struct Base {
    /// Number of the newest generation, 0 before the first.
    pub(super) number: u64,
    pub(super) input: String,
    pub(super) files: Files,
    /// Its files with the person's changes.
    pub(super) found: Files,
    pub(super) edits: Edits,
    /// What the folder would keep of a lost store.
    pub(super) journal: Option<Journal>,
}

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
    notes: NoteTable,
    folder: Folder,
    events: EventHub,
    newest: Mutex<Option<Arc<Publication>>>,
    /// Set when a lost store's memory was read from the folder since the start.
    is_taken_over: AtomicBool,
    /// Whether there were folders that were set aside at the start or since: the person may delete them.
    has_set_aside: AtomicBool,
}

impl Publications {
    /// `state_dir` contains the memory folder.
    pub fn new(
        generations: GenerationTable,
        notes: NoteTable,
        state_dir: &Path,
        events: EventHub,
    ) -> Self {
        let folder = Folder::new(state_dir);
        let has_set_aside = (!folder.asides().is_empty()).into();
        let (newest, is_taken_over) = (Mutex::default(), false.into());
        Self { generations, notes, folder, events, newest, is_taken_over, has_set_aside }
    }

    pub(super) fn folder(&self) -> &Folder {
        &self.folder
    }

    /// The newest generation, from the cache or the store.
    pub(super) async fn newest(&self) -> Result<Arc<Publication>, ServiceError> {
        let cached = self.cached().clone();
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

    /// The path of a thread's summary.
    pub(super) async fn summary_path(
        &self,
        thread_id: &str,
    ) -> Result<Option<String>, ServiceError> {
        let published = self.newest().await?;
        let mut tasks = published.handbook.projects.values().flat_map(Project::threads);
        let task = tasks.find(|task| task.thread_id == thread_id);
        Ok(task.map(|task| task.summary_path.clone()))
    }

    /// Makes `generation` the newest in the cache, and publishes that it is.
    pub(super) fn set(&self, generation: &Generation) {
        let published = self.keep(publication_of(generation, &self.folder));
        let data = json!({ "generation": published.generation, "threads": published.threads });
        self.events.publish(EventKind::MemoryPublished, data);
    }

    /// Stores a generation; false if another one was stored on top of its base.
    pub(super) async fn put(&self, new: NewGeneration<'_>) -> Result<bool, ServiceError> {
        Ok(self.generations.put(new).await?)
    }

    /// Deletes all generations before this one.
    pub(super) async fn purge(&self, generation: u64) -> Result<(), ServiceError> {
        Ok(self.generations.purge(generation).await?)
    }

    /// Restores the folder from the store, or what the store lost from the folder.
    pub(super) async fn settle(&self) -> Result<(), ServiceError> {
        self.take_over().await?;
        let generations = self.generations.newest().await?;
        let kept: Vec<u64> = generations.iter().map(|generation| generation.generation).collect();
        if let Some(newest) = generations.first() {
            self.restore(newest).await?;
        }
        self.in_folder(move |folder| folder.sweep(&kept, false)).await
    }

    /// If the store is new, reads what the folder kept of the lost one.
    pub(super) async fn take_over(&self) -> Result<(), ServiceError> {
        let newest = self.generations.newest().await?;
        let newest = newest.first().map_or(0, |generation| generation.generation);
        let Some(current) = self.in_folder(|folder| Ok(folder.current())).await? else {
            return Ok(());
        };
        if current <= newest && self.generations.knows_folder().await? {
            return Ok(());
        }
        let journal = self.in_folder(move |folder| folder.journal(current)).await?;
        match journal.as_deref().and_then(Journal::read) {
            Some(journal) if journal.generation.generation == current => {
                let Journal { generation, notes, exclusions } = &journal;
                let added = self.generations.take_over(generation, notes, exclusions).await?;
                if added > 0 {
                    tracing::warn!(generation = current, added, "took over memory from its folder");
                    self.is_taken_over.store(true, Ordering::Relaxed);
                    *self.cached() = None;
                }
                Ok(())
            }
            _ if current > newest => {
                tracing::warn!(generation = current, "set memory aside that the store lost");
                self.has_set_aside.store(true, Ordering::Relaxed);
                self.in_folder(move |folder| folder.set_aside(current)).await
            }
            _ => Ok(()),
        }
    }

    /// Writes the folder of a generation, if it is not there.
    async fn restore(&self, newest: &Generation) -> Result<(), ServiceError> {
        let (journal, newest) = (self.journal(newest).await?, newest.clone());
        let restoring = move |folder: &Folder| {
            let number = newest.generation;
            if folder.of(number).is_dir() {
                return folder.point_at(number);
            }
            let staging = folder.stage(number, &newest.files, &journal)?;
            folder.switch(number, &staging)
        };
        self.in_folder(restoring).await
    }

    /// The text of the journal of a generation.
    pub(super) async fn journal(&self, generation: &Generation) -> Result<String, ServiceError> {
        let (notes, exclusions) = (self.notes.list().await?, self.notes.exclusions().await?);
        let text = Journal { generation: generation.clone(), notes, exclusions }.text();
        text.map_err(|error| ServiceError::file(self.folder.path(), error.into()))
    }

    /// Whether memory of a lost store was taken over since the start, and the folders of those that could not be.
    pub fn after_loss(&self) -> (bool, Vec<PathBuf>) {
        let asides = self.has_set_aside.load(Ordering::Relaxed).then(|| self.folder.asides());
        (self.is_taken_over.load(Ordering::Relaxed), asides.unwrap_or_default())
    }

    /// The newest generation with the person's changes to it and to the one before, which may have been open in an
    /// editor when the newest was published.
    pub(super) async fn base(&self, now_ms: i64) -> Result<Base, ServiceError> {
        self.take_over().await?;
        let mut generations = self.generations.newest().await?.into_iter();
        let Some(newest) = generations.next() else { return Ok(Base::default()) };
        let before = generations.next();
        self.restore(&newest).await?;
        // The folder may have refused it when it was published.
        let cached = self.cached().as_ref().map(|cached| cached.generation);
        if cached.is_some_and(|cached| cached < newest.generation) {
            self.set(&newest);
        }
        let reading = self.in_folder(move |folder| {
            let mut edits = newest.edits.clone();
            if let Some(Generation { generation, found: Some(seen), .. }) = before
                && let Some(now) = folder.found(generation)?
            {
                edits.merge(&seen, &redacted(now), now_ms);
            }
            let found = folder.found(newest.generation)?.map(redacted);
            let found = found.unwrap_or_else(|| newest.files.clone());
            edits.merge(&newest.files, &found, now_ms);
            let book = Handbook::read(&newest.handbook).unwrap_or_default();
            for text in removed_texts(&newest.files, &found, &book) {
                edits.take_out("MEMORY.md", text);
            }
            let Generation { generation: number, input, files, .. } = newest;
            let journal = folder.journal(number)?.as_deref().and_then(Journal::read);
            Ok(Base { number, input, files, found, edits, journal })
        });
        reading.await
    }

    fn keep(&self, publication: Publication) -> Arc<Publication> {
        let publication = Arc::new(publication);
        *self.cached() = Some(Arc::clone(&publication));
        publication
    }

    fn cached(&self) -> MutexGuard<'_, Option<Arc<Publication>>> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
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

/// A secret that a person wrote into a file of memory stays there, and is copied nowhere.
fn redacted(files: Files) -> Files {
    let clean = |text: String| redact(&text).text.into_owned();
    files.into_iter().map(|(path, text)| (path, clean(text))).collect()
}
