//! The archive's files: compressed copies of transcripts, for when these are gone.
//!
//! # Theory of operation
//!
//! *State*: the folder `archive` of the state folder (0700, files 0600). A text is a sequence of *chunks*
//! ([`longhaul_core::archive::chunk`]), each stored once even if several texts have it. Chunks are in *packs* (`pack`):
//! `NUMBER.pack` is one compressed frame of some MiB with a list of its contents. It is published by a rename when it is
//! on disk, and never changes. `index.db` ([`longhaul_store::ArchiveIndex`]) maps a text to its chunks and their places.
//!
//! *Reading* ([`ArchivedText`]) decompresses the pack up to the chunk and compares its SHA-256; a chunk with another
//! digest is never returned. A flipped bit costs the chunks behind it in one pack.
//!
//! *A damaged, lost or outdated index* (one of an older backup) is rebuilt from the packs (`rebuild`), without forgotten
//! threads ([`ForgottenThreads`]).
//!
//! `service::archive` decides what is archived, and when.

mod files;
mod forgotten;
mod pack;
mod rebuild;
mod text;

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use longhaul_store::{ArchiveIndex, ArchivedTranscript, StoreError};
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};

pub use files::{ArchivedFiles, path_hash};
pub use forgotten::ForgottenThreads;
pub use pack::{
    PackError, PackWriter, check_pack, chunks_of_pack, contents_of_pack, readable_chunks,
};
pub(crate) use text::ArchivedReader;
pub use text::{ArchivedText, damaged};

use crate::folder::make_synced;

/// Name of the folder in the state folder.
const FOLDER: &str = "archive";

const INDEX: &str = "index.db";

const PACK_EXTENSION: &str = "pack";

/// The archive's folder, and its index once that is open.
#[derive(Debug)]
pub struct Archive {
    folder: PathBuf,
    index: watch::Sender<Option<ArchiveIndex>>,
    deleted: Notify,
}

impl Archive {
    pub fn new(state_dir: &Path) -> Self {
        let (index, deleted) = (watch::Sender::default(), Notify::new());
        Self { folder: state_dir.join(FOLDER), index, deleted }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The index, once it is open.
    pub fn index(&self) -> Option<ArchiveIndex> {
        self.index.borrow().clone()
    }

    /// Waits until the index is open.
    pub async fn opened(&self) {
        // The sender lives as long as `self`.
        drop(self.index.subscribe().wait_for(Option::is_some).await);
    }

    /// Reports that texts were deleted, so that the search index drops those whose transcripts are gone.
    pub fn note_deletion(&self) {
        self.deleted.notify_one();
    }

    /// Waits for a deletion; an earlier one that nobody waited for counts.
    pub async fn deletion(&self) {
        self.deleted.notified().await;
    }

    pub fn pack(&self, number: i64) -> PathBuf {
        pack_at(&self.folder, number)
    }

    /// Opens the index, rebuilding a damaged one from the packs, and removes what a crash left.
    pub async fn open(&self) -> Result<ArchiveIndex, StoreError> {
        make_folder(&self.folder).map_err(|error| self.failed(&error))?;
        forgotten::convert_lists(&self.folder).map_err(|error| self.failed(&error))?;
        let path = self.folder.join(INDEX);
        let recreate = async |detail: &str| {
            tracing::warn!(path = %path.display(), detail, "rebuilding the archive's index");
            ArchiveIndex::remove(&path)?;
            ArchiveIndex::open(&path).await
        };
        let mut index = match ArchiveIndex::open(&path).await {
            Err(StoreError::Corrupt { detail, .. }) => recreate(&detail).await?,
            opened => opened?,
        };
        let settled = match self.is_outdated(&index).await {
            Ok(true) => {
                index.close().await;
                index = recreate("newer packs have text that it does not name").await?;
                self.settle(&index).await
            }
            Ok(false) => self.settle(&index).await,
            Err(error) => Err(error),
        };
        if let Err(error) = settled {
            index.close().await;
            return Err(error);
        }
        self.index.send_replace(Some(index.clone()));
        Ok(index)
    }

    /// Reconciles packs and index. An index that never had a pack is rebuilt from the packs. Otherwise, packs that are not in
    /// the index were not committed, or not removed. Afterwards, no text of a forgotten thread is in the index.
    async fn settle(&self, index: &ArchiveIndex) -> Result<(), StoreError> {
        let found = packs_in(&self.folder).map_err(|error| self.failed(&error))?;
        if index.packs.last().await? == 0 && !found.is_empty() {
            rebuild::rebuild(&self.folder, index, &found).await?;
        }
        self.remove_orphans(index).await?;
        self.remove_forgotten(index).await
    }

    /// Removes packs that are not in the index: they were not committed, or could not be removed. No pack is being written.
    pub async fn remove_orphans(&self, index: &ArchiveIndex) -> Result<(), StoreError> {
        let known: Vec<i64> = index.packs.all().await?.iter().map(|pack| pack.pack).collect();
        let found = packs_in(&self.folder).map_err(|error| self.failed(&error))?;
        for orphan in found.iter().filter(|number| !known.contains(number)) {
            fs::remove_file(self.pack(*orphan)).map_err(|error| self.failed(&error))?;
        }
        Ok(())
    }

    /// Whether the index is from an older backup than the packs. Marks packs that are gone.
    async fn is_outdated(&self, index: &ArchiveIndex) -> Result<bool, StoreError> {
        let known = index.packs.all().await?;
        let mut found = packs_in(&self.folder).map_err(|error| self.failed(&error))?;
        for lost in known.iter().filter(|pack| !pack.is_damaged && !found.contains(&pack.pack)) {
            tracing::error!(pack = lost.pack, "a pack of the archive is gone");
            index.packs.record_check(lost.pack, 0, false).await?;
        }
        let last = index.packs.last().await?;
        found.retain(|number| last > 0 && *number > last);
        rebuild::is_needed(&self.folder, index, &found).await
    }

    /// Removes the texts of forgotten threads: an interrupted call has not erased them, or the index was rebuilt or restored.
    pub async fn remove_forgotten(&self, index: &ArchiveIndex) -> Result<(), StoreError> {
        let forgotten =
            ForgottenThreads::read(&self.folder).map_err(|error| self.failed(&error))?;
        if forgotten.is_empty() {
            return Ok(());
        }
        for thread in index.threads.ages().await? {
            if forgotten.has(&thread.thread_id) {
                ForgottenThreads::add(&self.folder, &thread.thread_id)
                    .map_err(|error| self.failed(&error))?;
                let rows = index.transcripts.of_thread(&thread.thread_id).await?;
                let ids: Vec<i64> = rows.iter().map(|row| row.id).collect();
                index.transcripts.remove(&ids).await?;
            }
        }
        Ok(())
    }

    fn failed(&self, error: &io::Error) -> StoreError {
        StoreError::access(&self.folder, error)
    }

    /// Closes the index; it can be opened again.
    pub async fn close(&self) {
        if let Some(index) = self.index.send_replace(None) {
            index.close().await;
        }
    }

    /// Compares the pages of an index at rest with its seal. A damaged one is closed; [`Archive::open`] rebuilds it.
    pub async fn check_index(&self) -> Result<(), StoreError> {
        let Some(index) = self.index() else { return Ok(()) };
        let checked = index.check_pages().await;
        if let Err(StoreError::Corrupt { .. }) = checked {
            self.index.send_replace(None);
            index.close_damaged().await;
        }
        checked
    }

    pub async fn text(
        &self,
        index: &ArchiveIndex,
        transcript: ArchivedTranscript,
    ) -> Result<ArchivedText, StoreError> {
        let pieces = index.packs.pieces(transcript.id).await?;
        Ok(ArchivedText::new(self.folder.clone(), index.clone(), transcript, pieces))
    }

    /// The archived text of one generation of a file. Blocking, on a thread of the runtime.
    pub fn text_of(&self, path: &str, generation: u64) -> io::Result<ArchivedText> {
        let not_found = || io::Error::from(io::ErrorKind::NotFound);
        let index = self.index().ok_or_else(not_found)?;
        let generation = i64::try_from(generation).unwrap_or(i64::MAX);
        Handle::current().block_on(async {
            let found = index.transcripts.get(path, generation).await.map_err(io::Error::other)?;
            self.text(&index, found.ok_or_else(not_found)?).await.map_err(io::Error::other)
        })
    }

    /// The archived texts of a thread, without replaced ones; the longest comes first. Blocking, on a thread of the runtime.
    pub fn texts_of_thread(&self, thread_id: &str) -> io::Result<Vec<ArchivedText>> {
        let Some(index) = self.index() else { return Ok(Vec::new()) };
        Handle::current().block_on(async {
            let mut texts = Vec::new();
            let rows = index.transcripts.of_thread(thread_id).await.map_err(io::Error::other)?;
            for row in rows.into_iter().filter(|row| row.generation >= 0) {
                texts.push(self.text(&index, row).await.map_err(io::Error::other)?);
            }
            Ok(texts)
        })
    }
}

/// The number of the next pack: above all existing ones, in the index or not, and above the last one in the index.
pub fn next_pack(folder: &Path, named: i64) -> io::Result<i64> {
    Ok(packs_in(folder)?.last().map_or(named, |last| named.max(*last)) + 1)
}

fn pack_at(folder: &Path, number: i64) -> PathBuf {
    folder.join(format!("{number:08}.{PACK_EXTENSION}"))
}

/// Numbers of the packs in a folder, in order. Removes packs that a crash left half written.
fn packs_in(folder: &Path) -> io::Result<Vec<i64>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        match path.extension().and_then(|extension| extension.to_str()) {
            Some(PACK_EXTENSION) => numbers.extend(stem.and_then(|stem| stem.parse::<i64>().ok())),
            Some(pack::NEW_EXTENSION) => fs::remove_file(&path)?,
            _ => {}
        }
    }
    numbers.sort_unstable();
    Ok(numbers)
}

fn make_folder(folder: &Path) -> io::Result<()> {
    make_synced(folder)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))
}
