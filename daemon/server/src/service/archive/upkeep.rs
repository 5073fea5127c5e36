//! The archive kept small, within its bounds, and sound.

use std::collections::{HashMap, HashSet};

use longhaul_core::archive::chunk::ChunkDigest;
use longhaul_core::archive::eviction::{self, Bounds, EvictionCandidate};
use longhaul_core::archive::pack::{PackContents, PackedPiece, TranscriptName};
use longhaul_store::{ArchiveIndex, PackRow, Store};

use super::archiver::BATCH_BYTES;
use super::{ArchiveShared, publishing};
use crate::archive::{PackError, check_pack, chunks_of_pack, contents_of_pack};
use crate::service::error::ServiceError;

/// Bytes in use of a pack that is put together with others of its size, by size.
const SMALL_BYTES: [u64; 3] = [BATCH_BYTES / 64, BATCH_BYTES / 8, BATCH_BYTES / 2];

/// Packs of one size that are put together: so each line of an agent at work is written three more times.
const SMALL_PACKS: usize = 8;

/// A pack is read whole when it was not for so long.
const CHECKED_MAX_MS: i64 = 30 * 86_400_000;

/// Bytes of packs that are read in one round.
const CHECK_BYTES: u64 = 256 << 20;

const DAY_MS: i64 = 86_400_000;

/// Evicts what is over the bounds.
pub(super) async fn keep_bounds(
    shared: &ArchiveShared,
    index: &ArchiveIndex,
    store: &Store,
) -> Result<(), ServiceError> {
    let settings = shared.config.now().archive.clone();
    let days = i64::try_from(*settings.max_age_days).unwrap_or(i64::MAX);
    let max_age_ms = (days > 0).then(|| days.saturating_mul(DAY_MS));
    let totals = index.totals().await?;
    let (bytes, max_bytes) = (totals.bytes + index.bytes(), shared.max_bytes());
    if bytes <= max_bytes && max_age_ms.is_none() {
        return Ok(());
    }
    let own: HashMap<String, u64> = index.own_bytes().await?.into_iter().collect();
    let lived_ms = store.lived_ms(shared.clock.moment()).await?;
    let receipts: HashSet<String> = store.threads_with_compactions().await?.into_iter().collect();
    let pins: HashSet<String> = store.threads_with_pins().await?.into_iter().collect();
    let mut threads: HashMap<String, EvictionCandidate> = HashMap::new();
    for row in index.transcripts().await? {
        let entry = threads.entry(row.thread_id.clone()).or_insert_with(|| EvictionCandidate {
            bytes: scaled(own.get(&row.thread_id).copied().unwrap_or(0), &totals),
            has_pin: pins.contains(&row.thread_id),
            has_receipt: receipts.contains(&row.thread_id),
            thread_id: row.thread_id,
            updated_ms: i64::MIN,
            age_ms: i64::MAX,
        });
        entry.updated_ms = entry.updated_ms.max(row.updated_ms);
        entry.age_ms = entry.age_ms.min(lived_ms.saturating_sub(row.lived_ms));
    }
    let going =
        eviction::plan(threads.into_values().collect(), bytes, Bounds { max_bytes, max_age_ms });
    if going.is_empty() {
        return Ok(());
    }
    tracing::info!(threads = going.len(), "the archive is over its bounds: old threads go");
    index.evict(&going).await?;
    index.sweep().await?;
    rewrite(shared, index, |pack| pack.used_bytes < pack.text_bytes).await
}

/// Bytes on the disk of so many bytes of chunks.
fn scaled(chunk_bytes: u64, totals: &longhaul_store::ArchiveTotals) -> u64 {
    let product = u128::from(chunk_bytes) * u128::from(totals.bytes);
    u64::try_from(product / u128::from(totals.chunk_bytes.max(1))).unwrap_or(u64::MAX)
}

/// Puts small packs together, and rewrites those of which little is in use. A damaged one goes when all it had is stored again.
pub(super) async fn merge(
    shared: &ArchiveShared,
    index: &ArchiveIndex,
) -> Result<(), ServiceError> {
    index.sweep().await?;
    rewrite(shared, index, is_made_good).await?;
    for size in 0..SMALL_BYTES.len() {
        let packs = index.packs().await?;
        if packs.iter().filter(|pack| size_of(pack) == Some(size)).count() >= SMALL_PACKS {
            rewrite(shared, index, |pack| size_of(pack) == Some(size)).await?;
        }
    }
    match index.packs().await?.iter().any(is_wasteful) {
        true => rewrite(shared, index, is_wasteful).await,
        false => Ok(()),
    }
}

/// A damaged pack of which nothing is missed any more. Of one that could not be read when the index was made anew nobody
/// knows what it had.
fn is_made_good(pack: &PackRow) -> bool {
    pack.is_damaged && pack.text_bytes > 0 && pack.used_bytes == 0
}

/// The size of a small pack, an index of [`SMALL_BYTES`].
fn size_of(pack: &PackRow) -> Option<usize> {
    let size = SMALL_BYTES.iter().position(|bytes| pack.used_bytes < *bytes);
    size.filter(|_| !pack.is_damaged)
}

/// A large pack of which less than half is in use.
fn is_wasteful(pack: &PackRow) -> bool {
    !pack.is_damaged && pack.text_bytes >= BATCH_BYTES / 2 && pack.used_bytes < pack.text_bytes / 2
}

/// Rewrites the packs that `is_due`, those in use filled up to a batch; the old ones are removed.
pub(super) async fn rewrite(
    shared: &ArchiveShared,
    index: &ArchiveIndex,
    is_due: impl Fn(&PackRow) -> bool,
) -> Result<(), ServiceError> {
    let due: Vec<PackRow> = index.packs().await?.into_iter().filter(|pack| is_due(pack)).collect();
    let (mut group, mut bytes) = (Vec::new(), 0);
    for pack in due {
        if !group.is_empty() && bytes + pack.used_bytes > BATCH_BYTES {
            rewrite_group(shared, index, &std::mem::take(&mut group)).await?;
            bytes = 0;
        }
        bytes += pack.used_bytes;
        group.push(pack.pack);
    }
    rewrite_group(shared, index, &group).await
}

async fn rewrite_group(
    shared: &ArchiveShared,
    index: &ArchiveIndex,
    packs: &[i64],
) -> Result<(), ServiceError> {
    if packs.is_empty() {
        return Ok(());
    }
    let mut used = Vec::new();
    for pack in packs {
        used.push((shared.archive.pack(*pack), index.contents(*pack).await?));
    }
    let elsewhere = elsewhere(shared, index, packs).await?;
    let (folder, last) = (shared.archive.folder().to_owned(), publishing::last_pack(index).await?);
    let writing = move || {
        let (mut chunks, mut described) = (Vec::new(), Described::default());
        for (path, contents) in used {
            chunks.extend(chunks_of_pack(&path, &contents.chunks)?);
            described.add(&contents);
        }
        described.add(&elsewhere);
        let Described { names, pieces, .. } = described;
        let chunks: Vec<(ChunkDigest, &[u8])> =
            chunks.iter().map(|(digest, chunk)| (*digest, chunk.as_slice())).collect();
        publishing::write((&folder, last), &chunks, names, pieces)
            .map_err(|source| PackError::Io { path: folder, source })
    };
    let written = match tokio::task::spawn_blocking(writing).await? {
        Ok(written) => written,
        Err(PackError::Damaged(path)) => return on_damage(shared, index, &path, packs).await,
        Err(PackError::Io { path, source }) => return Err(ServiceError::file(&path, source)),
    };
    index.repack(packs, written.as_ref()).await?;
    for pack in packs {
        remove(shared, *pack)?;
    }
    Ok(())
}

pub(super) fn remove(shared: &ArchiveShared, pack: i64) -> Result<(), ServiceError> {
    let path = shared.archive.pack(pack);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(ServiceError::file(&path, error))
        }
        _ => Ok(()),
    }
}

/// What these packs say of chunks in others and the index still says, too: nobody else may say it.
async fn elsewhere(
    shared: &ArchiveShared,
    index: &ArchiveIndex,
    packs: &[i64],
) -> Result<PackContents, ServiceError> {
    let mut kept = Described::default();
    let mut known: HashMap<(String, i64), HashMap<u64, ChunkDigest>> = HashMap::new();
    for pack in packs {
        let path = shared.archive.pack(*pack);
        let read = tokio::task::spawn_blocking(move || contents_of_pack(&path)).await?;
        // One that cannot be read is found out when its chunks are.
        let Ok(contents) = read else { continue };
        let own: HashSet<ChunkDigest> = contents.chunks.iter().map(|chunk| chunk.digest).collect();
        for piece in contents.pieces.iter().filter(|piece| !own.contains(&piece.digest)) {
            let Some(name) = contents.transcripts.get(piece.transcript) else { continue };
            let key = (name.path.clone(), name.generation);
            if !known.contains_key(&key) {
                let row = index.transcript_of(&name.path, name.generation).await?;
                let pieces = match row {
                    Some(row) => index.pieces(row.id).await?,
                    None => Vec::new(),
                };
                let places = pieces.into_iter().map(|piece| (piece.offset, piece.digest));
                known.insert(key.clone(), places.collect());
            }
            if known[&key].get(&piece.offset) == Some(&piece.digest) {
                kept.push(name, piece);
            }
        }
    }
    let Described { names, pieces, .. } = kept;
    Ok(PackContents { transcripts: names, chunks: Vec::new(), pieces })
}

/// What a pack will say: each text once, each place once.
#[derive(Default)]
struct Described {
    names: Vec<TranscriptName>,
    pieces: Vec<PackedPiece>,
    places: HashMap<(String, i64), usize>,
    seen: HashSet<(usize, u64)>,
}

impl Described {
    fn add(&mut self, contents: &PackContents) {
        for piece in &contents.pieces {
            if let Some(name) = contents.transcripts.get(piece.transcript) {
                self.push(name, piece);
            }
        }
    }

    fn push(&mut self, name: &TranscriptName, piece: &PackedPiece) {
        let key = (name.path.clone(), name.generation);
        let transcript = *self.places.entry(key).or_insert_with(|| {
            self.names.push(name.clone());
            self.names.len() - 1
        });
        if self.seen.insert((transcript, piece.offset)) {
            self.pieces.push(PackedPiece { transcript, ..*piece });
        }
    }
}

/// Reads some packs whole, those first that were not for longest.
pub(super) async fn check_some(
    shared: &ArchiveShared,
    index: &ArchiveIndex,
) -> Result<(), ServiceError> {
    let due_ms = shared.clock.now_ms().saturating_sub(CHECKED_MAX_MS);
    let mut packs = index.packs().await?;
    packs.retain(|pack| !pack.is_damaged && pack.checked_ms < due_ms);
    packs.sort_by_key(|pack| pack.checked_ms);
    let mut bytes = 0;
    for pack in packs {
        bytes += pack.bytes;
        if bytes > CHECK_BYTES && bytes > pack.bytes {
            break;
        }
        check(shared, index, pack.pack).await?;
    }
    Ok(())
}

/// Reads a pack whole; whether it is sound.
pub(super) async fn check(
    shared: &ArchiveShared,
    index: &ArchiveIndex,
    pack: i64,
) -> Result<bool, ServiceError> {
    let path = shared.archive.pack(pack);
    let checked = tokio::task::spawn_blocking(move || check_pack(&path)).await?;
    match checked {
        Ok(()) => index.checked(pack, shared.clock.now_ms(), true).await?,
        Err(PackError::Damaged(path)) => on_damage(shared, index, &path, &[pack]).await?,
        Err(PackError::Io { path, source }) => return Err(ServiceError::file(&path, source)),
    }
    Ok(index.packs().await?.iter().any(|row| row.pack == pack && !row.is_damaged))
}

/// Marks damaged packs: their chunks are stored again from the transcripts that are there. What is nowhere else stays,
/// as far as it can be read.
async fn on_damage(
    shared: &ArchiveShared,
    index: &ArchiveIndex,
    path: &std::path::Path,
    packs: &[i64],
) -> Result<(), ServiceError> {
    tracing::error!(pack = %path.display(), "a pack of the archive is damaged");
    for pack in packs.iter().filter(|pack| shared.archive.pack(**pack) == path) {
        index.checked(*pack, shared.clock.now_ms(), false).await?;
        for row in index.transcripts_in(*pack).await? {
            if row.generation >= 0 && std::path::Path::new(&row.path).exists() {
                index.remove_transcripts(&[row.id]).await?;
                shared.hints.hint(&row.path);
            }
        }
    }
    Ok(())
}
