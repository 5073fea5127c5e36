//! Which transcripts the archive has: what a reader of deleted ones needs to know before it opens them.

use std::collections::HashMap;

use longhaul_store::{ArchiveIndex, StoreError};

use super::Archive;

/// The files of which the archive has a text and how far, by the path's hash and the generation.
#[derive(Debug)]
pub struct ArchivedFiles(HashMap<(u128, i64), u64>);

impl ArchivedFiles {
    pub async fn of(index: &ArchiveIndex) -> Result<Self, StoreError> {
        let (mut files, mut last) = (HashMap::new(), 0);
        loop {
            let rows = index.transcripts.progress_after(last).await?;
            let Some(row) = rows.last() else { return Ok(Self(files)) };
            last = row.0;
            let rows = rows.into_iter();
            files
                .extend(rows.map(|(_, path, generation, at)| ((path_hash(&path), generation), at)));
        }
    }

    pub fn has(&self, path: &str, generation: u64) -> bool {
        self.reached(path, generation).is_some()
    }

    /// Where the archived text of a file ends.
    pub fn reached(&self, path: &str, generation: u64) -> Option<u64> {
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
}

/// A fixed-size hash of a path, since there may be very many.
pub fn path_hash(path: &str) -> u128 {
    xxhash_rust::xxh3::xxh3_128(path.as_bytes())
}
