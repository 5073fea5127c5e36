//! Which transcripts the lines of a thread stand in: its own and those it continues by reference.

use std::path::PathBuf;

use longhaul_core::item::ItemRow;
use longhaul_core::thread::HistoryBase;
use longhaul_store::{BaseState, FileRow};

use super::Located;
use crate::service::{ServiceError, Services};

/// Transcripts on the way to the first ancestor; as in ingestion.
const DEPTH_MAX: usize = 16;

/// Lines of a lineage that stand in one file.
#[derive(Debug)]
pub(in crate::service) struct Stretch {
    pub(in crate::service) file: FileRow,
    /// First line after them.
    pub(in crate::service) end: u64,
}

impl Services {
    /// The stretches of the first `end` lines of the lineage that ends in `file`, oldest first.
    pub(in crate::service) async fn stretches(
        &self,
        file: &FileRow,
        end: u64,
    ) -> Result<Vec<Stretch>, ServiceError> {
        let mut stretches = vec![Stretch { file: file.clone(), end }];
        while stretches.len() < DEPTH_MAX {
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

    /// The index rows of lines `first` to `last` of the lineage that ends in `file`, by the
    /// transcript they stand in, oldest first; none is empty.
    pub(in crate::service) async fn lineage_rows(
        &self,
        file: &FileRow,
        first: u64,
        last: u64,
    ) -> Result<Vec<Located>, ServiceError> {
        let mut pieces = Vec::new();
        for Stretch { file, end } in self.stretches(file, last.saturating_add(1)).await? {
            let mut rows = self.rows(&file, first, last).await?;
            rows.retain(|row| row.seq < end);
            if !rows.is_empty() {
                let path = PathBuf::from(&file.path);
                pieces.push(Located { source: file.source, path, rows });
            }
        }
        Ok(pieces)
    }

    /// The file that `base` cuts: several of one thread can reach the cut, one at the same byte.
    async fn base_file(
        &self,
        base: &HistoryBase,
        visited: &[Stretch],
    ) -> Result<Option<FileRow>, ServiceError> {
        let mut reaching = None;
        for file in self.store.thread_files(&base.thread_id).await? {
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

    /// The rows of the pages next to line `seq`.
    async fn rows_around(&self, file: &FileRow, seq: u64) -> Result<Vec<ItemRow>, ServiceError> {
        let generation = file.cursor.generation;
        let heads = self.store.page_heads(file.file_id, generation).await?;
        let after = heads.partition_point(|head| head.first_seq < seq);
        let mut rows = Vec::new();
        for head in heads.iter().skip(after.saturating_sub(1)).take(2) {
            let page = self.store.page(file.file_id, generation, head.first_seq).await?;
            rows.extend(page.unwrap_or_default());
        }
        Ok(rows)
    }
}
