//! The exact items behind a handle, out of the transcript or of a stored history.

use std::path::PathBuf;

use longhaul_core::compaction::handle::Handle;
use longhaul_store::Store;
use serde_json::value::RawValue;

use crate::service::error::ServiceError;
use crate::service::item_index::{ItemIndex, Located};
use crate::service::preimage;
use crate::transcript::{LineError, LineReader};

/// Bytes of items in one answer when the caller names no bound.
pub const EXPAND_BYTES_DEFAULT: u64 = 1 << 20;

/// Largest bound a caller may name: the rest of a frame is for the envelope.
pub const EXPAND_BYTES_MAX: u64 = 12 << 20;

/// Items out of a transcript.
#[derive(Debug)]
pub struct ItemsOfHandle {
    /// The items, as their bytes stand there.
    pub items: Vec<Box<RawValue>>,
    pub path: String,
    /// First byte of the first item's line, and first byte after the last one's.
    pub byte_range: (u64, u64),
    /// Line to go on from when the answer was full.
    pub next_seq: Option<u64>,
}

/// Gives back the items behind handles.
pub struct HandleReader {
    store: Store,
    index: ItemIndex,
    preimages: PathBuf,
}

impl HandleReader {
    /// `preimages` is the folder of stored histories.
    #[must_use]
    pub fn new(store: Store, index: ItemIndex, preimages: PathBuf) -> Self {
        Self { store, index, preimages }
    }

    /// Gives back the items behind `handle`, from line `from` on, at most `max_bytes` of them (but at
    /// least one).
    ///
    /// # Errors
    /// Nothing was ever there, or the transcript has changed since.
    pub async fn expand(
        &self,
        handle: &Handle,
        from: Option<u64>,
        max_bytes: u64,
    ) -> Result<ItemsOfHandle, ServiceError> {
        let first = from.unwrap_or(handle.first).clamp(handle.first, handle.last);
        let mut located = match preimage::is_id(&handle.of) {
            true => preimage::locate(&self.preimages, handle).await?,
            false => self.locate(handle).await?,
        };
        for part in &mut located {
            part.rows.retain(|row| row.seq >= first);
        }
        located.retain(|part| !part.rows.is_empty());
        let handle = handle.to_string();
        // An answer names one transcript: what stands in the next one is the next page.
        let next_file = located.get(1).and_then(|part| Some(part.rows.first()?.seq));
        let Some(located) = located.into_iter().next() else {
            return Err(ServiceError::HandleNotFound(handle));
        };
        let read = move || read(&handle, &located, max_bytes);
        let mut expanded = tokio::task::spawn_blocking(read).await??;
        expanded.next_seq = expanded.next_seq.or(next_file);
        Ok(expanded)
    }

    /// Finds the handle's rows in the thread's current transcript and those it continues, or in
    /// another one of the thread that has them: a thread's files can change places.
    async fn locate(&self, handle: &Handle) -> Result<Vec<Located>, ServiceError> {
        let not_found = || ServiceError::ThreadNotFound(handle.of.clone());
        let current = self.store.thread_get(&handle.of).await?.ok_or_else(not_found)?.file;
        let others = self.store.thread_files(&handle.of).await?;
        let mut changed = None;
        for file in
            std::iter::once(&current).chain(others.iter().filter(|f| f.path != current.path))
        {
            let pieces = self.index.lineage_rows(file, handle.first, handle.last).await?;
            match pieces.first().and_then(|part| part.rows.first()) {
                Some(first) if handle.fits(first.digest) => return Ok(pieces),
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

fn read(handle: &str, located: &Located, max_bytes: u64) -> Result<ItemsOfHandle, ServiceError> {
    let Located { source, path, rows } = located;
    let shown = path.display().to_string();
    let changed = || ServiceError::SourceChanged { handle: handle.to_owned(), path: shown.clone() };
    let first = rows.first().ok_or_else(|| ServiceError::HandleNotFound(handle.to_owned()))?;
    let mut lines = match LineReader::open(*source, path) {
        Ok(lines) => lines,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(changed()),
        Err(error) => return Err(ServiceError::file(path, error)),
    };
    let mut expanded = ItemsOfHandle {
        items: Vec::new(),
        path: shown.clone(),
        byte_range: (first.offset, first.offset),
        next_seq: None,
    };
    let mut bytes = 0;
    for row in rows {
        bytes += row.bytes;
        if bytes > max_bytes && !expanded.items.is_empty() {
            expanded.next_seq = Some(row.seq);
            break;
        }
        let items = lines.items(row).map_err(|error| match error {
            LineError::Changed => changed(),
            LineError::Io(error) => ServiceError::file(path, error),
        })?;
        expanded.items.extend(items);
        expanded.byte_range.1 = row.offset + row.bytes;
    }
    Ok(expanded)
}
