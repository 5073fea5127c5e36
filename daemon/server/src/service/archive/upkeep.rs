//! Keeps the archive small and undamaged.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use longhaul_core::archive::pack::PackContents;
use longhaul_core::limits::DAY_MS;
use longhaul_store::{ArchiveIndex, NewPack, PackRow};

use super::description::{PackDescription, foreign_pieces};
use super::repair;
use super::shared::{ArchiveShared, BATCH_BYTES};
use crate::archive::{PackError, PackWriter, check_pack, chunks_of_pack, next_pack};
use crate::service::error::ServiceError;
use crate::transcript::Presence;

/// Upper limits of the weight of small packs, by size class. Packs of one class are merged.
const SMALL_WEIGHTS: [u64; 3] = [BATCH_BYTES / 64, BATCH_BYTES / 8, BATCH_BYTES / 2];

/// Bytes of text that take as much memory as a chunk and the name of its text while packs are merged. Bounds the number
/// of tiny texts held at once.
const CHUNK_WEIGHT: u64 = 1 << 10;

/// Packs of one class to merge at once: each line of an agent at work is rewritten three more times.
const SMALL_PACKS: usize = 8;

/// Maximum time between two complete reads of a pack.
const CHECKED_MAX_MS: i64 = 30 * DAY_MS;

const CHECK_BYTES: u64 = 256 << 20;

/// Merges small packs, rewrites those with little in use, and removes damaged ones whose chunks are all stored again.
pub(super) async fn merge(
    shared: &ArchiveShared,
    index: &ArchiveIndex,
) -> Result<(), ServiceError> {
    index.packs.sweep().await?;
    // Usually none is due, so list the packs once.
    let mut packs = index.packs.all().await?;
    if packs.iter().any(is_replaced) {
        rewrite(shared, index, is_replaced).await?;
        packs = index.packs.all().await?;
    }
    for size in 0..SMALL_WEIGHTS.len() {
        if packs.iter().filter(|pack| size_class(pack) == Some(size)).count() >= SMALL_PACKS {
            rewrite(shared, index, |pack| size_class(pack) == Some(size)).await?;
            packs = index.packs.all().await?;
        }
    }
    match packs.iter().any(is_wasteful) {
        true => rewrite(shared, index, is_wasteful).await,
        false => Ok(()),
    }
}

/// A damaged pack of which no chunk is in use any more. The contents of a pack that could not be read when the index was
/// rebuilt are unknown, so it does not count.
fn is_replaced(pack: &PackRow) -> bool {
    pack.is_damaged && pack.text_bytes > 0 && pack.used_bytes == 0
}

fn weight(pack: &PackRow) -> u64 {
    pack.used_bytes + pack.chunks * CHUNK_WEIGHT
}

/// The class of a small pack, an index of [`SMALL_WEIGHTS`].
fn size_class(pack: &PackRow) -> Option<usize> {
    let size = SMALL_WEIGHTS.iter().position(|small| weight(pack) < *small);
    size.filter(|_| !pack.is_damaged)
}

/// Whether less than half of a large pack is in use.
fn is_wasteful(pack: &PackRow) -> bool {
    !pack.is_damaged && pack.text_bytes >= BATCH_BYTES / 2 && pack.used_bytes < pack.text_bytes / 2
}

/// Whether rewriting a pack frees space on disk. The used chunks of a damaged one cannot be copied.
pub(super) fn is_reclaimable(pack: &PackRow) -> bool {
    match pack.is_damaged {
        true => is_replaced(pack),
        false => pack.used_bytes < pack.text_bytes,
    }
}

/// Rewrites the packs that `is_due` into packs of up to a batch in use, and removes the old ones. A pack that is damaged
/// stays.
///
/// # Errors
/// A pack cannot be read, or a new one cannot be written: the first of these errors, after all other packs are rewritten.
pub(super) async fn rewrite(
    shared: &ArchiveShared,
    index: &ArchiveIndex,
    is_due: impl Fn(&PackRow) -> bool,
) -> Result<(), ServiceError> {
    let due = index.packs.all().await?.into_iter().filter(|pack| is_due(pack));
    // Removing those first makes room for the others on a full disk.
    let (unused, used): (Vec<PackRow>, Vec<PackRow>) = due.partition(|pack| pack.used_bytes == 0);
    let alone = unused.into_iter().map(|pack| vec![pack.pack]);
    let mut failed = Ok(());
    for group in alone.chain(groups(used)) {
        if let Err(error) = rewrite_readable(shared, index, group).await {
            let ServiceError::File { .. } = error else { return Err(error) };
            tracing::warn!(%error, "cannot rewrite a pack of the archive");
            failed = failed.and(Err(error));
        }
    }
    failed
}

/// Rewrites those packs of a group that can be read into one.
///
/// # Errors
/// Those of [`rewrite`].
async fn rewrite_readable(
    shared: &ArchiveShared,
    index: &ArchiveIndex,
    mut group: Vec<i64>,
) -> Result<(), ServiceError> {
    let mut failed = Ok(());
    while !group.is_empty() {
        let unreadable = match rewrite_group(shared, index, &group).await {
            Ok(None) => break,
            Ok(Some(damaged)) => {
                on_damage(shared, index, &damaged, &group).await?;
                damaged
            }
            Err(ServiceError::File { path, source }) => {
                let unreadable = PathBuf::from(&path);
                failed = failed.and(Err(ServiceError::File { path, source }));
                unreadable
            }
            Err(error) => return Err(error),
        };
        let before = group.len();
        group.retain(|pack| shared.archive.pack(*pack) != unreadable);
        if group.len() == before {
            // The new pack cannot be written.
            break;
        }
    }
    failed
}

/// Groups packs in order, each group up to a batch by weight.
fn groups(packs: Vec<PackRow>) -> Vec<Vec<i64>> {
    let (mut groups, mut total): (Vec<Vec<i64>>, u64) = (Vec::new(), 0);
    for pack in packs {
        total += weight(&pack);
        match groups.last_mut() {
            Some(group) if total <= BATCH_BYTES => group.push(pack.pack),
            _ => {
                total = weight(&pack);
                groups.push(vec![pack.pack]);
            }
        }
    }
    groups
}

/// Rewrites packs into one. If one of them is damaged, returns its path and rewrites nothing.
async fn rewrite_group(
    shared: &ArchiveShared,
    index: &ArchiveIndex,
    packs: &[i64],
) -> Result<Option<PathBuf>, ServiceError> {
    let mut used = Vec::new();
    for pack in packs {
        used.push((shared.archive.pack(*pack), index.packs.contents(*pack).await?));
    }
    let foreign = foreign_pieces(shared, index, packs).await?;
    let (folder, last) = (shared.archive.folder().to_owned(), index.packs.last().await?);
    let writing = move || merge_packs(&folder, last, used, foreign);
    let written = match tokio::task::spawn_blocking(writing).await? {
        Ok(written) => written,
        Err(PackError::Damaged(path)) => return Ok(Some(path)),
        Err(PackError::Io { path, source }) => return Err(ServiceError::file(&path, source)),
    };
    index.packs.repack(packs, written.as_ref()).await?;
    for pack in packs {
        remove(shared, *pack)?;
    }
    Ok(None)
}

/// Writes the used chunks of some packs into one, a chunk at a time; `None` if none is used.
fn merge_packs(
    folder: &Path,
    last: i64,
    used: Vec<(PathBuf, PackContents)>,
    foreign: PackContents,
) -> Result<Option<NewPack>, PackError> {
    let failed = |source| PackError::Io { path: folder.to_owned(), source };
    let is_used = |contents: &PackContents| !contents.pieces.is_empty();
    if !is_used(&foreign) && !used.iter().any(|(_, contents)| is_used(contents)) {
        return Ok(None);
    }
    let chunks = used.iter().flat_map(|(_, contents)| &contents.chunks);
    let text_bytes = chunks.map(|chunk| chunk.bytes).sum();
    let number = next_pack(folder, last).map_err(failed)?;
    let mut pack = PackWriter::begin(folder, number, text_bytes).map_err(failed)?;
    let mut description = PackDescription::default();
    for (path, mut contents) in used {
        let chunks = std::mem::take(&mut contents.chunks);
        chunks_of_pack(&path, chunks, |digest, chunk| pack.add(digest, chunk).map_err(failed))?;
        description.add(contents);
    }
    description.add(foreign);
    pack.describe(description.names, description.pieces);
    pack.finish().map(Some).map_err(failed)
}

/// Deletes the file of a pack that cannot be rewritten because it is damaged. What could be read of it is stored again. If
/// texts need other chunks of it, its row stays, marked as damaged.
///
/// # Errors
/// It is not damaged, or cannot be read now.
pub(super) async fn delete_damaged(shared: &ArchiveShared, pack: i64) -> Result<(), ServiceError> {
    let path = shared.archive.pack(pack);
    let checked = tokio::task::spawn_blocking(move || check_pack(&path)).await?;
    match checked {
        Err(PackError::Damaged(path)) => {
            tracing::error!(pack = %path.display(), "deleting a damaged pack with forgotten text");
            remove(shared, pack)
        }
        Err(PackError::Io { path, source }) => Err(ServiceError::file(&path, source)),
        Ok(()) => {
            let differs = io::Error::new(
                ErrorKind::InvalidData,
                "the archive's index does not match this file: stop the daemon and delete index.db next to it, then the \
                 index is rebuilt",
            );
            Err(ServiceError::file(&shared.archive.pack(pack), differs))
        }
    }
}

fn remove(shared: &ArchiveShared, pack: i64) -> Result<(), ServiceError> {
    let path = shared.archive.pack(pack);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(ServiceError::file(&path, error)),
        _ => Ok(()),
    }
}

/// Reads some packs completely, those not read for longest first. Damaged ones, too: a transcript may be back.
///
/// # Errors
/// A pack cannot be read: the first of these errors, after all others are read.
pub(super) async fn check_some(
    shared: &ArchiveShared,
    index: &ArchiveIndex,
) -> Result<(), ServiceError> {
    let now_ms = shared.clock.now_ms();
    let mut packs = index.packs.all().await?;
    packs.retain(|pack| is_check_due(pack, now_ms));
    packs.sort_by_key(|pack| pack.checked_ms);
    let (mut bytes, mut failed) = (0, Ok(()));
    for pack in packs {
        bytes += pack.bytes;
        if bytes > CHECK_BYTES && bytes > pack.bytes {
            break;
        }
        let _turn = shared.turn.lock().await;
        match check_if_there(shared, index, pack.pack).await {
            Err(error @ ServiceError::File { .. }) => failed = failed.and(Err(error)),
            checked => drop(checked?),
        }
    }
    failed
}

/// Whether to read a pack again. One that was read in the future was read by a clock that was ahead.
fn is_check_due(pack: &PackRow, now_ms: i64) -> bool {
    !(now_ms.saturating_sub(CHECKED_MAX_MS)..=now_ms).contains(&pack.checked_ms)
}

/// Reads a pack completely; returns whether it is undamaged, `None` if it was merged in the meantime. The caller has the turn.
pub(super) async fn check_if_there(
    shared: &ArchiveShared,
    index: &ArchiveIndex,
    pack: i64,
) -> Result<Option<bool>, ServiceError> {
    match index.packs.all().await?.iter().any(|row| row.pack == pack) {
        true => check(shared, index, pack).await.map(Some),
        false => Ok(None),
    }
}

async fn check(
    shared: &ArchiveShared,
    index: &ArchiveIndex,
    pack: i64,
) -> Result<bool, ServiceError> {
    let path = shared.archive.pack(pack);
    let checked = tokio::task::spawn_blocking(move || check_pack(&path)).await?;
    match checked {
        Ok(()) => index.packs.record_check(pack, shared.clock.now_ms(), true).await?,
        Err(PackError::Damaged(path)) => on_damage(shared, index, &path, &[pack]).await?,
        Err(PackError::Io { path, source }) => return Err(ServiceError::file(&path, source)),
    }
    Ok(index.packs.all().await?.iter().any(|row| row.pack == pack && !row.is_damaged))
}

/// Marks a damaged pack, and replaces it as far as transcripts have its chunks. Until then, what can be read of its texts
/// can be read. Chunks without a transcript stay, as far as they can be read.
async fn on_damage(
    shared: &ArchiveShared,
    index: &ArchiveIndex,
    path: &Path,
    packs: &[i64],
) -> Result<(), ServiceError> {
    tracing::error!(pack = %path.display(), "a pack of the archive is damaged");
    for pack in packs.iter().filter(|pack| shared.archive.pack(**pack) == path) {
        index.packs.record_check(*pack, shared.clock.now_ms(), false).await?;
        repair::replace_chunks(shared, index, *pack).await?;
        let mut rows = index.transcripts.in_pack(*pack).await?;
        let existing = move || {
            let mut presence = Presence::default();
            rows.retain(|row| row.generation >= 0 && !presence.is_gone(Path::new(&row.path)));
            rows
        };
        for row in tokio::task::spawn_blocking(existing).await? {
            // Its transcript has other chunks now, so archive it again next to the old text.
            index.transcripts.replace(&row).await?;
            shared.hints.hint(&row.path);
        }
        if index.packs.all().await?.iter().any(|row| row.pack == *pack && is_replaced(row)) {
            rewrite_group(shared, index, &[*pack]).await?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::*;
    use crate::service::tests::fixture::{Fixture, conversation};

    #[tokio::test]
    async fn a_pack_that_cannot_be_read_keeps_no_other_from_being_checked() {
        let fixture = Fixture::new().await;
        let keeper = &fixture.services.archive;
        let packs = async || match keeper.index() {
            Ok(index) => index.packs.all().await.unwrap(),
            Err(_) => Vec::new(),
        };
        for threads in 1..=2 {
            fixture.thread(&conversation(threads)).await;
            let archived = async {
                while packs().await.len() < threads {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            };
            tokio::time::timeout(Duration::from_secs(60), archived).await.unwrap();
        }
        let unreadable = keeper.shared.archive.pack(packs().await[0].pack);
        fs::remove_file(&unreadable).unwrap();
        fs::create_dir(&unreadable).unwrap();
        let now_ms = 2 * CHECKED_MAX_MS;
        fixture.deps.clock.set_wall_ms(now_ms);
        let checked = check_some(&keeper.shared, &keeper.index().unwrap()).await;
        assert!(matches!(checked, Err(ServiceError::File { .. })), "{checked:?}");
        let times: Vec<i64> = packs().await.iter().map(|pack| pack.checked_ms).collect();
        assert_eq!(times, [0, now_ms]);
    }

    /// A pack of one chunk with `text_bytes`, of which `used_bytes` are in use.
    fn pack(number: i64, text_bytes: u64, used_bytes: u64) -> PackRow {
        PackRow {
            pack: number,
            bytes: text_bytes / 8,
            text_bytes,
            used_bytes,
            chunks: 1,
            is_damaged: false,
            checked_ms: 0,
        }
    }

    fn damaged(pack: PackRow) -> PackRow {
        PackRow { is_damaged: true, ..pack }
    }

    #[test]
    fn packs_are_merged_with_those_of_their_size_class() {
        let class = |bytes| size_class(&pack(1, bytes, bytes));
        assert_eq!(class(1), Some(0));
        assert_eq!(class(BATCH_BYTES / 64), Some(1));
        assert_eq!(class(BATCH_BYTES / 8), Some(2));
        assert_eq!(class(BATCH_BYTES / 2), None, "large enough");
        let many = PackRow { chunks: BATCH_BYTES / CHUNK_WEIGHT, ..pack(1, 1, 1) };
        assert_eq!(size_class(&many), None, "tiny chunks have weight, too");
        assert_eq!(size_class(&damaged(pack(1, 1, 1))), None);
    }

    #[test]
    fn a_large_pack_is_rewritten_when_less_than_half_of_it_is_used() {
        let half = BATCH_BYTES / 2;
        assert!(is_wasteful(&pack(1, half, half / 2 - 1)));
        assert!(!is_wasteful(&pack(1, half, half / 2)));
        assert!(!is_wasteful(&pack(1, half - 1, 0)), "a small one is merged instead");
        assert!(!is_wasteful(&damaged(pack(1, half, 0))));
    }

    #[test]
    fn space_is_reclaimed_from_packs_with_unused_text_that_can_be_rewritten() {
        assert!(is_reclaimable(&pack(1, 100, 99)));
        assert!(is_reclaimable(&pack(1, 100, 0)));
        assert!(!is_reclaimable(&pack(1, 100, 100)));
        assert!(!is_reclaimable(&damaged(pack(1, 100, 99))));
        assert!(is_reclaimable(&damaged(pack(1, 100, 0))));
    }

    #[test]
    fn a_damaged_pack_is_removed_only_when_its_known_chunks_are_stored_elsewhere() {
        assert!(is_replaced(&damaged(pack(1, 100, 0))));
        assert!(!is_replaced(&damaged(pack(1, 100, 1))), "a chunk is only here");
        assert!(!is_replaced(&damaged(pack(1, 0, 0))), "its contents are unknown");
        assert!(!is_replaced(&pack(1, 100, 0)));
    }

    #[test]
    fn a_pack_is_read_again_after_a_month_or_if_the_clock_was_ahead_then() {
        let now_ms = 100 * DAY_MS;
        let is_due =
            |checked_ms| is_check_due(&PackRow { checked_ms, ..pack(1, 100, 100) }, now_ms);
        assert!(is_due(0), "never");
        assert!(is_due(now_ms - CHECKED_MAX_MS - 1));
        assert!(!is_due(now_ms - CHECKED_MAX_MS) && !is_due(now_ms));
        assert!(is_due(now_ms + 1));
    }

    #[test]
    fn a_group_of_packs_holds_at_most_a_batch() {
        let most = BATCH_BYTES - CHUNK_WEIGHT;
        let packs = vec![pack(1, most, most / 2), pack(2, most, most / 2), pack(3, most, most)];
        assert_eq!(groups(packs), [vec![1], vec![2], vec![3]]);
        let packs =
            vec![pack(4, 9, 1), pack(5, most, most / 2), pack(6, 9, 1), pack(7, most, most)];
        assert_eq!(groups(packs), [vec![4, 5, 6], vec![7]]);
        assert_eq!(
            groups(vec![pack(8, 2 * most, 2 * most)]),
            [vec![8]],
            "one that is larger is alone"
        );
        assert!(groups(Vec::new()).is_empty());
    }
}
