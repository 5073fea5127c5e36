//! Which transcripts the archive has: what a reader of deleted ones needs to know before it opens them.

use std::collections::HashSet;

use longhaul_store::StoreError;

use super::Archive;

/// The files of which the archive has a text, by digest of the path and generation: there may be very many.
#[derive(Debug)]
pub struct ArchivedFiles(HashSet<(u128, i64)>);

impl ArchivedFiles {
    pub fn has(&self, path: &str, generation: u64) -> bool {
        i64::try_from(generation)
            .is_ok_and(|generation| self.0.contains(&(digest(path), generation)))
    }
}

impl Archive {
    /// The archived files; `None` while the index is not open.
    pub async fn files(&self) -> Result<Option<ArchivedFiles>, StoreError> {
        let Some(index) = self.index() else { return Ok(None) };
        let (mut files, mut last) = (HashSet::new(), 0);
        loop {
            let rows = index.transcripts.progress_after(last).await?;
            let Some(row) = rows.last() else { return Ok(Some(ArchivedFiles(files))) };
            last = row.0;
            files.extend(rows.iter().map(|(_, path, generation, _)| (digest(path), *generation)));
        }
    }
}

fn digest(path: &str) -> u128 {
    xxhash_rust::xxh3::xxh3_128(path.as_bytes())
}
