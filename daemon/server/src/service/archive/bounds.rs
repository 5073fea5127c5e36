//! Keeps the archive within its bounds.
//!
//! The plan counts the space in use, not the space on disk: an eviction frees the latter only when the packs are rewritten. If
//! that fails, it is repeated, and evicts nothing more.

use std::collections::HashSet;

use longhaul_core::archive::eviction::{self, Bounds, EvictionCandidate};
use longhaul_store::{ArchiveIndex, CompactionTable, ThreadAge, UpdateTable};

use super::shared::ArchiveShared;
use super::upkeep;
use crate::service::age::AgeClock;
use crate::service::error::ServiceError;

const DAY_MS: i64 = 86_400_000;

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
pub(super) async fn keep(
    shared: &ArchiveShared,
    index: &ArchiveIndex,
    facts: &EvictionFacts,
) -> Result<(), ServiceError> {
    let kept = evict(shared, index, facts).await;
    // A pack that cannot be rewritten must not stop the merging of others.
    upkeep::merge(shared, index).await?;
    kept
}

async fn evict(
    shared: &ArchiveShared,
    index: &ArchiveIndex,
    facts: &EvictionFacts,
) -> Result<(), ServiceError> {
    let bounds @ Bounds { max_bytes, max_age_ms } = bounds(shared);
    let is_over = index.totals().await?.bytes + index.bytes() > max_bytes;
    if !is_over && max_age_ms.is_none() {
        return Ok(());
    }
    let lived_ms = facts.age.lived_ms().await?;
    index.threads.begin_ages(lived_ms).await?;
    let ages = index.threads.ages().await?;
    let age_ms = |thread: &ThreadAge| lived_ms.saturating_sub(thread.lived_ms);
    let is_any_old = ages.iter().any(|thread| max_age_ms.is_some_and(|max| age_ms(thread) > max));
    if !is_over && !is_any_old {
        return Ok(());
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
    let chunks = index.threads.chunk_groups().await?;
    let going = eviction::plan(threads.collect(), &chunks, fixed_bytes(index).await?, bounds);
    if going.is_empty() && !is_over {
        return Ok(());
    }
    if !going.is_empty() {
        tracing::info!(
            threads = going.len(),
            "the archive exceeds its bounds: deleting old threads"
        );
        index.threads.evict(&going, bounds).await?;
    }
    index.packs.sweep().await?;
    upkeep::rewrite(shared, index, upkeep::is_reclaimable).await
}

/// Bytes that no eviction frees: of the index, and of packs whose chunks are unknown.
async fn fixed_bytes(index: &ArchiveIndex) -> Result<u64, ServiceError> {
    let packs = index.packs.all().await?;
    let unknown = packs.iter().filter(|pack| pack.text_bytes == 0).map(|pack| pack.bytes);
    Ok(index.bytes() + unknown.sum::<u64>())
}
