//! Which transcripts the archive has: what a reader of deleted ones needs to know before it opens them.

use std::collections::HashMap;

use longhaul_core::digest::Digest128;
use longhaul_store::{ArchiveIndex, FileState, StoreError};

use super::Archive;

/// The files of which the archive has a text, and how far, by the path's hash and the generation.
#[derive(Debug)]
pub struct ArchivedFiles(HashMap<(u128, i64), Reached>);

/// The end of an archived text.
type Reached = (u64, Option<Digest128>);

impl ArchivedFiles {
    pub async fn of(index: &ArchiveIndex) -> Result<Self, StoreError> {
        let (mut files, mut last) = (HashMap::new(), 0);
        loop {
            let texts = index.transcripts.progress_after(last).await?;
            let Some(text) = texts.last() else { return Ok(Self(files)) };
            last = text.id;
            files.extend(texts.into_iter().map(|text| {
                ((path_hash(&text.path), text.generation), (text.source_bytes, text.chain))
            }));
        }
    }

    pub fn has(&self, path: &str, generation: u64) -> bool {
        self.reached(path, generation).is_some()
    }

    /// Whether the archive has everything that was read of a file, and knows it.
    pub fn is_up_to_date(&self, file: &FileState) -> bool {
        self.reached(&file.path, file.generation) == Some((file.offset, Some(file.chain)))
    }

    fn reached(&self, path: &str, generation: u64) -> Option<Reached> {
        let generation = i64::try_from(generation).ok()?;
        self.0.get(&(path_hash(path), generation)).copied()
    }
}

impl Archive {
    /// The archived files; `None` while the index is not open.
    pub async fn files(&self) -> Result<Option<ArchivedFiles>, StoreError> {
        match self.index() {
            Some(index) => ArchivedFiles::of(&index).await.map(Some),
            None => Ok(None),
        }
    }

    /// Whether it has the text of one generation of a file; `None` while the index is not open.
    pub async fn has_text(&self, path: &str, generation: u64) -> Result<Option<bool>, StoreError> {
        let Some(index) = self.index() else { return Ok(None) };
        let generation = i64::try_from(generation).unwrap_or(i64::MAX);
        Ok(Some(index.transcripts.get(path, generation).await?.is_some()))
    }
}

/// A fixed-size hash of a path, since there may be very many.
pub fn path_hash(path: &str) -> u128 {
    xxhash_rust::xxh3::xxh3_128(path.as_bytes())
}
