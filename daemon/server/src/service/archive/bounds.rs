//! Keeps the archive within its bounds.
//!
//! The plan counts the space in use, not the space on disk: an eviction frees the latter only when the packs are rewritten, and
//! the index, of which each chunk counts as using a share. If that fails or is interrupted, it is repeated, and evicts
//! nothing more.

use std::collections::HashSet;

use longhaul_core::archive::eviction::{self, Bounds, EvictionCandidate};
use longhaul_core::limits::DAY_MS;
use longhaul_store::{ArchiveIndex, CompactionTable, IndexSpace, ThreadAge, UpdateTable};

use super::shared::ArchiveShared;
use super::upkeep;
use crate::service::age::AgeClock;
use crate::service::error::ServiceError;

/// The index is rewritten without its free pages if these are more than this part of the others: it is read and written
/// as a whole for that.
const FREE_PART: u64 = 4;

/// Maximum plans in one pass; the next pass goes on.
const ROUNDS_MAX: usize = 4;

/// What the store says about the threads that may be evicted.
pub(in crate::service) struct EvictionFacts {
    pub(in crate::service) age: AgeClock,
    pub(in crate::service) compactions: CompactionTable,
    pub(in crate::service) updates: UpdateTable,
}

/// Lets evicted transcripts be archived again if the bounds are wider than at their eviction; returns whether there are
/// any. Those that do not fit are evicted under the wider bounds, so this happens once.
pub(super) async fn readmit(
    shared: &ArchiveShared,
    index: &ArchiveIndex,
) -> Result<bool, ServiceError> {
    let (now, before) = (bounds(shared), index.threads.eviction_bounds().await?);
    if before.is_some_and(|before| !now.are_wider_than(before)) {
        return Ok(false);
    }
    let transcripts = index.threads.readmit(now).await?;
    if transcripts > 0 {
        tracing::info!(
            transcripts,
            "the archive's bounds are wider: archiving evicted threads again"
        );
    }
    Ok(transcripts > 0)
}

fn bounds(shared: &ArchiveShared) -> Bounds {
    let days = i64::try_from(*shared.config.now().archive.max_age_days).unwrap_or(i64::MAX);
    let max_age_ms = (days > 0).then(|| days.saturating_mul(DAY_MS));
    Bounds { max_bytes: shared.max_bytes(), max_age_ms }
}

/// Evicts threads until the archive is within its bounds, then merges packs.
pub(super) async fn enforce(
    shared: &ArchiveShared,
    index: &ArchiveIndex,
    facts: &EvictionFacts,
) -> Result<(), ServiceError> {
    // Repeated, because the records of evicted texts take space, too.
    let mut evicted = Ok(true);
    for _ in 0..ROUNDS_MAX {
        evicted = evict_planned(shared, index, facts).await;
        if !matches!(evicted, Ok(true)) {
            break;
        }
    }
    // A pack that cannot be rewritten must not stop the merging of others.
    upkeep::merge(shared, index).await?;
    evicted.map(drop)
}

/// Evicts the threads that exceed the bounds as planned; returns whether there were any.
async fn evict_planned(
    shared: &ArchiveShared,
    index: &ArchiveIndex,
    facts: &EvictionFacts,
) -> Result<bool, ServiceError> {
    let bounds = bounds(shared);
    let is_over = index.totals().await?.bytes + index.bytes() > bounds.max_bytes;
    let going = due(index, facts, bounds, is_over).await?;
    if !going.is_empty() {
        tracing::info!(
            threads = going.len(),
            "the archive exceeds its bounds: deleting old threads"
        );
        index.threads.evict(&going, bounds).await?;
        shared.archive.note_deletion();
    }
    // An earlier eviction may have been interrupted.
    if !is_over && !index.threads.is_eviction_unfinished().await? {
        return Ok(false);
    }
    index.packs.sweep().await?;
    upkeep::rewrite(shared, index, upkeep::is_reclaimable).await?;
    index.threads.finish_eviction().await?;
    shrink(index, is_over).await?;
    Ok(!going.is_empty())
}

/// The threads that exceed the bounds.
async fn due(
    index: &ArchiveIndex,
    facts: &EvictionFacts,
    bounds: Bounds,
    is_over: bool,
) -> Result<Vec<String>, ServiceError> {
    if !is_over && bounds.max_age_ms.is_none() {
        return Ok(Vec::new());
    }
    let lived_ms = facts.age.lived_ms().await?;
    index.threads.begin_ages(lived_ms).await?;
    let ages = index.threads.ages().await?;
    let age_ms = |thread: &ThreadAge| lived_ms.saturating_sub(thread.lived_ms);
    let is_old = |thread: &ThreadAge| bounds.max_age_ms.is_some_and(|max| age_ms(thread) > max);
    if !is_over && !ages.iter().any(is_old) {
        return Ok(Vec::new());
    }
    let receipts: HashSet<String> = facts.compactions.threads().await?.into_iter().collect();
    let pins: HashSet<String> = facts.updates.pinned_threads().await?.into_iter().collect();
    let threads = ages.into_iter().map(|thread| EvictionCandidate {
        has_pin: pins.contains(&thread.thread_id),
        has_receipt: receipts.contains(&thread.thread_id),
        updated_ms: thread.updated_ms,
        age_ms: age_ms(&thread),
        thread_id: thread.thread_id,
    });
    let (mut chunks, space) = (index.threads.chunk_groups().await?, index.space().await?);
    eviction::share(&mut chunks, space.rows);
    let packs = index.packs.all().await?;
    let unknown = packs.iter().filter(|pack| pack.text_bytes == 0).map(|pack| pack.bytes);
    let fixed = space.fixed + unknown.sum::<u64>();
    Ok(eviction::plan(threads.collect(), &chunks, fixed, bounds))
}

/// Gives back the pages of the index that an eviction freed, if they are many or the archive is too large with them.
async fn shrink(index: &ArchiveIndex, is_over: bool) -> Result<(), ServiceError> {
    let IndexSpace { free, fixed, rows } = index.space().await?;
    if free == 0 || !is_over && free < (fixed + rows) / FREE_PART {
        return Ok(());
    }
    if let Err(error) = index.scrub().await {
        tracing::warn!(%error, "cannot shrink the archive's index");
    }
    Ok(())
}
