//! The archive kept small, within its bounds, and sound.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use longhaul_core::archive::chunk::ChunkDigest;
use longhaul_core::archive::eviction::{self, Bounds, EvictionCandidate};
use longhaul_core::archive::pack::{PackContents, PackedPiece, TranscriptName};
use longhaul_core::digest::DigestStream;
use longhaul_store::{ArchiveIndex, NewPack, PackRow, Store, ThreadAge};

use super::ArchiveShared;
use super::archiver::BATCH_BYTES;
use crate::archive::{
    PackError, PackWriter, check_pack, chunks_of_pack, contents_of_pack, next_pack,
};
use crate::service::error::ServiceError;

/// Weight of a pack that is put together with others of its size, by size.
const SMALL_WEIGHTS: [u64; 3] = [BATCH_BYTES / 64, BATCH_BYTES / 8, BATCH_BYTES / 2];

/// Bytes of text that weigh as much as a chunk and the name of its text do while packs are put together. So tens of
/// thousands of tiny texts are not held at once.
const CHUNK_WEIGHT: u64 = 1 << 10;

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
    let lived_ms = store.advance_age(shared.clock.moment()).await?;
    let ages = index.thread_ages().await?;
    let age_ms = |thread: &ThreadAge| lived_ms.saturating_sub(thread.lived_ms);
    let is_any_old = ages.iter().any(|thread| max_age_ms.is_some_and(|max| age_ms(thread) > max));
    if bytes <= max_bytes && !is_any_old {
        return Ok(());
    }
    let own: HashMap<String, u64> = index.exclusive_bytes().await?.into_iter().collect();
    let receipts: HashSet<String> = store.threads_with_compactions().await?.into_iter().collect();
    let pins: HashSet<String> = store.threads_with_pins().await?.into_iter().collect();
    let threads = ages.into_iter().map(|thread| EvictionCandidate {
        bytes: scaled(own.get(&thread.thread_id).copied().unwrap_or(0), &totals),
        has_pin: pins.contains(&thread.thread_id),
        has_receipt: receipts.contains(&thread.thread_id),
        updated_ms: thread.updated_ms,
        age_ms: age_ms(&thread),
        thread_id: thread.thread_id,
    });
    let going = eviction::plan(threads.collect(), bytes, Bounds { max_bytes, max_age_ms });
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
    // Looking through all packs is asked for once where none is due, as it mostly is.
    let mut packs = index.packs().await?;
    if packs.iter().any(is_made_good) {
        rewrite(shared, index, is_made_good).await?;
        packs = index.packs().await?;
    }
    for size in 0..SMALL_WEIGHTS.len() {
        if packs.iter().filter(|pack| size_of(pack) == Some(size)).count() >= SMALL_PACKS {
            rewrite(shared, index, |pack| size_of(pack) == Some(size)).await?;
            packs = index.packs().await?;
        }
    }
    match packs.iter().any(is_wasteful) {
        true => rewrite(shared, index, is_wasteful).await,
        false => Ok(()),
    }
}

/// A damaged pack of which nothing is missed any more. Of one that could not be read when the index was made anew nobody
/// knows what it had.
fn is_made_good(pack: &PackRow) -> bool {
    pack.is_damaged && pack.text_bytes > 0 && pack.used_bytes == 0
}

fn weight(pack: &PackRow) -> u64 {
    pack.used_bytes + pack.chunks * CHUNK_WEIGHT
}

/// The size of a small pack, an index of [`SMALL_WEIGHTS`].
fn size_of(pack: &PackRow) -> Option<usize> {
    let size = SMALL_WEIGHTS.iter().position(|small| weight(pack) < *small);
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
    let (mut group, mut held) = (Vec::new(), 0);
    for pack in due {
        if !group.is_empty() && held + weight(&pack) > BATCH_BYTES {
            rewrite_group(shared, index, &std::mem::take(&mut group)).await?;
            held = 0;
        }
        held += weight(&pack);
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
    let (folder, last) = (shared.archive.folder().to_owned(), index.last_pack().await?);
    let writing = move || put_together((&folder, last), used, elsewhere);
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

/// Writes what is in use of some packs into one, a chunk at a time; `None` when nothing is.
fn put_together(
    (folder, last): (&Path, i64),
    used: Vec<(PathBuf, PackContents)>,
    elsewhere: PackContents,
) -> Result<Option<NewPack>, PackError> {
    let failed = |source| PackError::Io { path: folder.to_owned(), source };
    let is_used = |contents: &PackContents| !contents.pieces.is_empty();
    if !is_used(&elsewhere) && !used.iter().any(|(_, contents)| is_used(contents)) {
        return Ok(None);
    }
    let chunks = used.iter().flat_map(|(_, contents)| &contents.chunks);
    let text_bytes = chunks.map(|chunk| chunk.bytes).sum();
    let number = next_pack(folder, last).map_err(failed)?;
    let mut pack = PackWriter::begin(folder, number, text_bytes).map_err(failed)?;
    let mut described = Described::default();
    for (path, mut contents) in used {
        let chunks = std::mem::take(&mut contents.chunks);
        chunks_of_pack(&path, chunks, |digest, chunk| pack.add(digest, chunk).map_err(failed))?;
        described.add(contents);
    }
    described.add(elsewhere);
    pack.describe(described.names, described.pieces);
    pack.finish().map(Some).map_err(failed)
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
    let mut known: HashMap<u128, HashMap<u64, ChunkDigest>> = HashMap::new();
    for pack in packs {
        let path = shared.archive.pack(*pack);
        let read = tokio::task::spawn_blocking(move || contents_of_pack(&path)).await?;
        // One that cannot be read is found out when its chunks are.
        let Ok(mut contents) = read else { continue };
        let own: HashSet<ChunkDigest> = contents.chunks.iter().map(|chunk| chunk.digest).collect();
        contents.pieces.retain(|piece| !own.contains(&piece.digest));
        for piece in &contents.pieces {
            let name = &contents.transcripts[piece.transcript];
            if let Entry::Vacant(unknown) = known.entry(key(name)) {
                let row = index.transcript_of(&name.path, name.generation).await?;
                let pieces = match row {
                    Some(row) => index.pieces(row.id).await?,
                    None => Vec::new(),
                };
                let places = pieces.into_iter().map(|piece| (piece.offset, piece.digest));
                unknown.insert(places.collect());
            }
        }
        contents.pieces.retain(|piece| {
            let places = known.get(&key(&contents.transcripts[piece.transcript]));
            places.and_then(|places| places.get(&piece.offset)) == Some(&piece.digest)
        });
        kept.add(contents);
    }
    let Described { names, pieces, .. } = kept;
    Ok(PackContents { transcripts: names, chunks: Vec::new(), pieces })
}

/// Stands for a text where there may be very many.
fn key(name: &TranscriptName) -> u128 {
    let mut of = DigestStream::default();
    of.update(name.path.as_bytes());
    of.update(&name.generation.to_be_bytes());
    of.finish().0
}

/// What a pack will say: each text once, each place once.
#[derive(Default)]
struct Described {
    names: Vec<TranscriptName>,
    pieces: Vec<PackedPiece>,
    places: HashMap<u128, usize>,
    seen: HashSet<(usize, u64)>,
}

impl Described {
    fn add(&mut self, contents: PackContents) {
        let mut names: Vec<_> = contents.transcripts.into_iter().map(Some).collect();
        let mut places = vec![0; names.len()];
        for piece in contents.pieces {
            if let Some(name) = names[piece.transcript].take() {
                places[piece.transcript] = *self.places.entry(key(&name)).or_insert_with(|| {
                    self.names.push(name);
                    self.names.len() - 1
                });
            }
            let transcript = places[piece.transcript];
            if self.seen.insert((transcript, piece.offset)) {
                self.pieces.push(PackedPiece { transcript, ..piece });
            }
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
        Ok(()) => index.record_check(pack, shared.clock.now_ms(), true).await?,
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
    path: &Path,
    packs: &[i64],
) -> Result<(), ServiceError> {
    tracing::error!(pack = %path.display(), "a pack of the archive is damaged");
    for pack in packs.iter().filter(|pack| shared.archive.pack(**pack) == path) {
        index.record_check(*pack, shared.clock.now_ms(), false).await?;
        for row in index.transcripts_in(*pack).await? {
            if row.generation >= 0 && Path::new(&row.path).exists() {
                index.remove_transcripts(&[row.id]).await?;
                shared.hints.hint(&row.path);
            }
        }
    }
    Ok(())
}
