//! Returns the exact items behind a handle, from the transcript or a stored history.

use std::path::PathBuf;
use std::sync::Arc;

use longhaul_core::compaction::handle::Handle;
use longhaul_store::ThreadTable;
use serde_json::value::RawValue;

use crate::archive::Archive;
use crate::service::archive::{ArchiveLookup, ArchivedLines};
use crate::service::error::ServiceError;
use crate::service::item_index::{FileRows, ItemIndex};
use crate::service::preimage;
use crate::transcript::{Fallback, LineError, LineReader};

/// Generation of a transcript that was never rewritten.
const FIRST_GENERATION: u64 = 1;

#[derive(Debug)]
pub struct ItemsOfHandle {
    /// The items, byte for byte.
    pub items: Vec<Box<RawValue>>,
    pub path: String,
    /// First byte of the first item's line, and the byte after the last item's line.
    pub byte_range: (u64, u64),
    /// The line to continue at if the answer was full.
    pub next_seq: Option<u64>,
    /// The transcript no longer has them or cannot be read: they are from the archive.
    pub is_from_archive: bool,
}

#[derive(Debug, Clone, Copy)]
enum ItemForm {
    /// Byte for byte as in the transcript.
    AsIs,
    /// As in a history.
    History,
}

#[derive(Debug, Clone, Copy)]
struct ItemQuery {
    /// The line to begin at.
    from: Option<u64>,
    form: ItemForm,
    max_bytes: u64,
}

pub struct HandleReader {
    pub(in crate::service) threads: ThreadTable,
    pub(in crate::service) index: ItemIndex,
    /// Folder of stored histories.
    pub(in crate::service) preimages: PathBuf,
    pub(in crate::service) archive: Arc<Archive>,
    pub(in crate::service) archived: ArchiveLookup,
}

impl HandleReader {
    /// Returns the items behind `handle`, from line `from`, at most `max_bytes` of them (but at least one).
    pub async fn expand(
        &self,
        handle: &Handle,
        from: Option<u64>,
        max_bytes: u64,
    ) -> Result<ItemsOfHandle, ServiceError> {
        self.items_of(handle, ItemQuery { from, form: ItemForm::AsIs, max_bytes }).await
    }

    /// The same items in history form, from the first.
    pub async fn history_items(
        &self,
        handle: &Handle,
        max_bytes: u64,
    ) -> Result<ItemsOfHandle, ServiceError> {
        self.items_of(handle, ItemQuery { from: None, form: ItemForm::History, max_bytes }).await
    }

    async fn items_of(
        &self,
        handle: &Handle,
        query: ItemQuery,
    ) -> Result<ItemsOfHandle, ServiceError> {
        let expanded = self.expand_located(handle, query).await;
        let is_lost = matches!(
            expanded,
            Err(ServiceError::SourceChanged { .. }
                | ServiceError::File { .. }
                | ServiceError::ThreadNotFound(_)
                | ServiceError::HandleNotFound(_))
        );
        if !is_lost || preimage::is_id(&handle.of) {
            return expanded;
        }
        // An earlier version of the transcript, or an earlier database, may have had it.
        match self.archived.find(handle, handle.first).await {
            Ok(Some(found)) => returned(handle, found, query).await,
            Ok(None) => expanded,
            // Why the transcript cannot be read is what the person can change.
            Err(_) if matches!(expanded, Err(ServiceError::File { .. })) => expanded,
            // The transcript is there and has no such line, so it is hardly worth another try.
            Err(ServiceError::IndexNotOpen)
                if matches!(expanded, Err(ServiceError::HandleNotFound(_))) =>
            {
                expanded
            }
            Err(error) => Err(error),
        }
    }

    async fn expand_located(
        &self,
        handle: &Handle,
        query: ItemQuery,
    ) -> Result<ItemsOfHandle, ServiceError> {
        let first = query.from.unwrap_or(handle.first).clamp(handle.first, handle.last);
        let mut located = match preimage::is_id(&handle.of) {
            true => preimage::locate(&self.preimages, handle).await?,
            false => self.locate(handle).await?,
        };
        for part in &mut located {
            part.rows.retain(|row| row.seq >= first);
        }
        located.retain(|part| !part.rows.is_empty());
        let handle = handle.to_string();
        // An answer covers one transcript: the next transcript's items are the next page.
        let next_file = located.get(1).and_then(|part| Some(part.rows.first()?.seq));
        let Some(located) = located.into_iter().next() else {
            return Err(ServiceError::HandleNotFound(handle));
        };
        let archive = Arc::clone(&self.archive);
        let read = move || {
            let lines = opened(&handle, &located, archive)?;
            read(&handle, &located, lines, query)
        };
        let mut expanded = tokio::task::spawn_blocking(read).await??;
        expanded.next_seq = expanded.next_seq.or(next_file);
        Ok(expanded)
    }

    /// Finds the handle's rows in the thread's current transcript and those it continues, else in another
    /// transcript of the thread: the current one can change.
    async fn locate(&self, handle: &Handle) -> Result<Vec<FileRows>, ServiceError> {
        let not_found = || ServiceError::ThreadNotFound(handle.of.clone());
        let current = self.threads.get(&handle.of).await?.ok_or_else(not_found)?.file;
        let others = self.threads.files(&handle.of).await?;
        let mut changed = None;
        for file in
            std::iter::once(&current).chain(others.iter().filter(|f| f.path != current.path))
        {
            let pieces = self.index.lineage_rows(file, handle.first, handle.last).await?;
            let Some(part) = pieces.first() else { continue };
            match part.rows.first() {
                Some(first) if handle.fits(first.digest) => return Ok(pieces),
                // Never rewritten: the handle is of no item.
                Some(_) if part.generation == Some(FIRST_GENERATION) => {}
                Some(_) => changed = changed.or(Some(file.path.clone())),
                None => {}
            }
        }
        match changed {
            Some(path) => Err(ServiceError::SourceChanged { handle: handle.to_string(), path }),
            None => Err(ServiceError::HandleNotFound(handle.to_string())),
        }
    }
}

/// The items of lines that the archive found.
async fn returned(
    handle: &Handle,
    found: ArchivedLines,
    query: ItemQuery,
) -> Result<ItemsOfHandle, ServiceError> {
    let ArchivedLines { source, path, mut rows, lines, .. } = found;
    rows.retain(|row| row.seq >= query.from.unwrap_or(handle.first));
    let located = FileRows { source, path: path.into(), generation: None, rows };
    let handle = handle.to_string();
    let read = move || read(&handle, &located, lines, query);
    tokio::task::spawn_blocking(read).await?
}

fn opened(
    handle: &str,
    located: &FileRows,
    archive: Arc<Archive>,
) -> Result<LineReader, ServiceError> {
    let FileRows { source, path, generation, .. } = located;
    let fallback = generation.map(|generation| Fallback { archive, generation });
    match LineReader::open(*source, path, fallback) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let (handle, path) = (handle.to_owned(), path.display().to_string());
            Err(ServiceError::SourceChanged { handle, path })
        }
        opened => opened.map_err(|error| ServiceError::file(path, error)),
    }
}

fn read(
    handle: &str,
    located: &FileRows,
    mut lines: LineReader,
    query: ItemQuery,
) -> Result<ItemsOfHandle, ServiceError> {
    let FileRows { path, rows, .. } = located;
    let shown = path.display().to_string();
    let changed = || ServiceError::SourceChanged { handle: handle.to_owned(), path: shown.clone() };
    let first = rows.first().ok_or_else(|| ServiceError::HandleNotFound(handle.to_owned()))?;
    let mut expanded = ItemsOfHandle {
        items: Vec::new(),
        path: shown.clone(),
        byte_range: (first.offset, first.offset),
        next_seq: None,
        is_from_archive: false,
    };
    let mut bytes = 0;
    for row in rows {
        bytes += row.bytes;
        if bytes > query.max_bytes && !expanded.items.is_empty() {
            expanded.next_seq = Some(row.seq);
            break;
        }
        let items = match query.form {
            ItemForm::AsIs => lines.items(row),
            ItemForm::History => lines.history_items(row),
        };
        let items = items.map_err(|error| match error {
            LineError::Changed => changed(),
            LineError::Io(error) => ServiceError::file(path, error),
        })?;
        expanded.items.extend(items);
        expanded.byte_range.1 = row.offset + row.bytes;
    }
    expanded.is_from_archive = lines.is_from_archive();
    Ok(expanded)
}
