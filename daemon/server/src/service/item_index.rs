//! The item index by line of a thread, across the transcripts that the thread continues by reference.

use std::path::PathBuf;

use longhaul_core::item::ItemRow;
use longhaul_core::thread::{HistoryBase, Source};
use longhaul_store::{BaseState, FileRow, PageHead, PageTable, ThreadTable};

use super::error::ServiceError;
use crate::ingest::may_continue;

/// The lines of a lineage in one file.
#[derive(Debug)]
pub struct Stretch {
    pub file: FileRow,
    /// The line after the last one.
    pub end: u64,
}

pub struct FileRows {
    pub source: Source,
    pub path: PathBuf,
    /// Generation of the file when it was read; `None` for a file of the daemon that is not archived.
    pub generation: Option<u64>,
    pub rows: Vec<ItemRow>,
}

#[derive(Clone)]
pub struct ItemIndex {
    pub(super) pages: PageTable,
    pub(super) threads: ThreadTable,
}

impl ItemIndex {
    /// The stretches of the first `end` lines of the lineage that ends in `file`, oldest first.
    pub async fn stretches(&self, file: &FileRow, end: u64) -> Result<Vec<Stretch>, ServiceError> {
        let mut stretches = vec![Stretch { file: file.clone(), end }];
        while may_continue(stretches.len()) {
            let Some(Stretch { file, end }) = stretches.last() else { break };
            let base = file.head.as_ref().and_then(|head| head.history_base.clone());
            let Some(base) = base.filter(|_| file.base == BaseState::Joined) else { break };
            let end = base.end_ordinal_exclusive.min(*end);
            let Some(file) = self.base_file(&base, &stretches).await? else { break };
            stretches.push(Stretch { file, end });
        }
        stretches.reverse();
        Ok(stretches)
    }

    /// The index rows of lines `first` to `last` of the lineage that ends in `file`, by transcript, oldest first; no
    /// element is empty.
    pub async fn lineage_rows(
        &self,
        file: &FileRow,
        first: u64,
        last: u64,
    ) -> Result<Vec<FileRows>, ServiceError> {
        let mut pieces = Vec::new();
        for Stretch { file, end } in self.stretches(file, last.saturating_add(1)).await? {
            let mut rows = self.rows(&file, first, last).await?;
            rows.retain(|row| row.seq < end);
            if !rows.is_empty() {
                let path = PathBuf::from(&file.path);
                let generation = Some(file.cursor.generation);
                pieces.push(FileRows { source: file.source, path, generation, rows });
            }
        }
        Ok(pieces)
    }

    /// The file that `base` cuts. Several files of a thread may reach the cut, but only one has it at the same byte.
    async fn base_file(
        &self,
        base: &HistoryBase,
        visited: &[Stretch],
    ) -> Result<Option<FileRow>, ServiceError> {
        let mut reaching = None;
        for file in self.threads.files(&base.thread_id).await? {
            let is_visited = visited.iter().any(|stretch| stretch.file.file_id == file.file_id);
            if is_visited || file.cursor.next_seq < base.end_ordinal_exclusive {
                continue;
            }
            let around = self.rows_around(&file, base.end_ordinal_exclusive).await?;
            let is_exact = base.end_byte_offset.is_some_and(|cut| {
                around.iter().all(|row| match row.seq < base.end_ordinal_exclusive {
                    true => row.offset + row.bytes <= cut,
                    false => row.offset >= cut,
                })
            });
            if is_exact && !around.is_empty() {
                return Ok(Some(file));
            }
            reaching = reaching.or(Some(file));
        }
        Ok(reaching)
    }

    /// The rows of the two pages around line `seq`.
    async fn rows_around(&self, file: &FileRow, seq: u64) -> Result<Vec<ItemRow>, ServiceError> {
        let heads = self.pages.heads(file.file_id, file.cursor.generation).await?;
        let after = heads.partition_point(|head| head.first_seq < seq);
        let mut rows = Vec::new();
        for head in heads.iter().skip(after.saturating_sub(1)).take(2) {
            rows.extend(self.page(file, head).await?);
        }
        Ok(rows)
    }

    /// The index rows of lines `first` to `last` of a file.
    pub async fn rows(
        &self,
        file: &FileRow,
        first: u64,
        last: u64,
    ) -> Result<Vec<ItemRow>, ServiceError> {
        let generation = file.cursor.generation;
        if first == last {
            // The index finds a single line directly, however long the thread is.
            let row = self.pages.item_at(file.file_id, generation, first).await?;
            return Ok(row.into_iter().collect());
        }
        let heads = self.pages.heads(file.file_id, generation).await?;
        let mut rows = Vec::new();
        for head in heads.iter().filter(|head| head.last_seq >= first && head.first_seq <= last) {
            let page = self.page(file, head).await?.into_iter();
            rows.extend(page.filter(|row| (first..=last).contains(&row.seq)));
        }
        Ok(rows)
    }

    /// The pages of a stretch with lines from `first` up to `end`.
    pub async fn heads(
        &self,
        stretch: &Stretch,
        first: u64,
        end: u64,
    ) -> Result<Vec<PageHead>, ServiceError> {
        let file = &stretch.file;
        let mut heads = self.pages.heads(file.file_id, file.cursor.generation).await?;
        let end = end.min(stretch.end);
        heads.retain(|head| head.last_seq >= first && head.first_seq < end);
        Ok(heads)
    }

    pub async fn page(
        &self,
        file: &FileRow,
        head: &PageHead,
    ) -> Result<Vec<ItemRow>, ServiceError> {
        let page = self.pages.get(file.file_id, file.cursor.generation, head.first_seq).await?;
        Ok(page.unwrap_or_default())
    }

    pub async fn find<'a>(
        &self,
        stretches: &'a [Stretch],
        seq: u64,
    ) -> Result<Option<(&'a FileRow, ItemRow)>, ServiceError> {
        for Stretch { file, .. } in stretches.iter().filter(|stretch| seq < stretch.end) {
            let row = self.pages.item_at(file.file_id, file.cursor.generation, seq).await?;
            if let Some(row) = row {
                return Ok(Some((file, row)));
            }
        }
        Ok(None)
    }
}
