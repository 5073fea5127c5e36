//! `thread/items`: lists the index of a thread, item by item.

use std::path::Path;
use std::sync::Arc;

use longhaul_core::item::{ItemRow, PAGE_ITEMS};
use longhaul_core::search::item;
use longhaul_store::FileRow;

use super::Threads;
use crate::archive::Archive;
use crate::service::error::ServiceError;
use crate::transcript::{Fallback, LineReader};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemRange {
    From(u64),
    Last,
}

#[derive(Debug)]
pub struct Items {
    /// In order, each with the time on its line, if any.
    pub rows: Vec<(ItemRow, Option<i64>)>,
    /// Line to continue at.
    pub next_seq: u64,
    pub more: bool,
}

pub(super) async fn items(
    of: &Threads,
    thread_id: &str,
    range: ItemRange,
    limit: usize,
) -> Result<Items, ServiceError> {
    let thread = of.threads.get(thread_id).await?;
    let file = thread.ok_or_else(|| ServiceError::ThreadNotFound(thread_id.to_owned()))?.file;
    let generation = file.cursor.generation;
    // Not all pages are full: the last one grows.
    let count = u32::try_from(limit / PAGE_ITEMS + 2).unwrap_or(u32::MAX);
    let mut rows = match range {
        ItemRange::From(seq) => of.pages.rows_from(file.file_id, generation, seq, count).await?,
        ItemRange::Last => of.pages.last_rows(file.file_id, generation, count).await?,
    };
    let more = range != ItemRange::Last && rows.len() > limit;
    match more {
        true => rows.truncate(limit),
        false => drop(rows.drain(..rows.len().saturating_sub(limit))),
    }
    let end = rows.last().map_or(0, |row| row.seq + 1);
    let next_seq = if more { end } else { end.max(file.cursor.next_seq) };
    let archive = Arc::clone(&of.archive);
    let rows = tokio::task::spawn_blocking(move || dated(&file, archive, rows)).await?;
    Ok(Items { rows, next_seq, more })
}

/// Reads the time on each row's line; `None` if the line cannot be read.
fn dated(file: &FileRow, archive: Arc<Archive>, rows: Vec<ItemRow>) -> Vec<(ItemRow, Option<i64>)> {
    let fallback = Some(Fallback::of(archive, file));
    let mut lines = LineReader::open(file.source, Path::new(&file.path), fallback).ok();
    let mut at_ms = |row: &ItemRow| {
        let line = lines.as_mut()?.read(row).ok()?;
        item::at_ms(file.source, &line)
    };
    rows.into_iter().map(|row| (at_ms(&row), row)).map(|(at_ms, row)| (row, at_ms)).collect()
}
