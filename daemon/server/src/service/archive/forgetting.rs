//! Erases threads from the archive.
//!
//! The records of its evictions are removed, the thread is recorded as forgotten, its rows are removed from the index, and
//! every pack that may contain text or a name of it is rewritten. If that is interrupted after it was recorded, the next start
//! continues it; before, the thread is at most archived and evicted once more.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use longhaul_protocol::archive::ForgetResult;
use longhaul_store::{ArchiveIndex, PackRow};

use super::shared::ArchiveShared;
use super::upkeep;
use crate::archive::{ForgottenThreads, contents_of_pack};
use crate::service::error::ServiceError;
use crate::transcript::Presence;

/// Erases a thread whose transcripts are, or were, at `files`. The caller has the turn.
pub(super) async fn forget(
    shared: &ArchiveShared,
    index: &ArchiveIndex,
    thread_id: &str,
    mut files: Vec<String>,
) -> Result<ForgetResult, ServiceError> {
    let rows = index.transcripts.of_thread(thread_id).await?;
    let removed_bytes = rows.iter().map(|row| row.text_bytes).sum();
    let ids: Vec<i64> = rows.iter().map(|row| row.id).collect();
    files.extend(rows.into_iter().map(|row| row.path));
    // Of files that were moved since, too.
    let evicted = index.threads.evicted().await?.into_iter().map(|(path, _)| path);
    files.extend(evicted.filter(|path| path.contains(thread_id)));
    // First: the next start knows only a hash of the id, which finds no path.
    index.threads.drop_evicted(&files).await?;
    let of = thread_id.to_owned();
    let was_begun = shared.in_folder(move |folder| {
        let was_begun = ForgottenThreads::read(folder)?.is_any_unfinished();
        ForgottenThreads::add(folder, &of)?;
        Ok(was_begun)
    });
    let was_begun = was_begun.await?;
    index.transcripts.remove(&ids).await?;
    shared.archive.note_deletion();
    erase(shared, index, was_begun).await?;
    let is_any = move || {
        let mut presence = Presence::default();
        files.iter().any(|path| !presence.is_gone(Path::new(path)))
    };
    let only_copy = removed_bytes > 0 && !tokio::task::spawn_blocking(is_any).await?;
    Ok(ForgetResult { removed_bytes, only_copy })
}

/// Erases threads whose forgetting was interrupted.
pub(super) async fn resume(
    shared: &ArchiveShared,
    index: &ArchiveIndex,
) -> Result<(), ServiceError> {
    let _turn = shared.turn.lock().await;
    if !shared.forgotten().await?.is_any_unfinished() {
        return Ok(());
    }
    tracing::info!("erasing forgotten threads after an interruption");
    erase(shared, index, true).await
}

/// Erases what no text uses any more and what names an unfinished thread.
async fn erase(
    shared: &ArchiveShared,
    index: &ArchiveIndex,
    is_resumed: bool,
) -> Result<(), ServiceError> {
    // Of another thread, too, whose forgetting failed before this step.
    shared.archive.remove_forgotten(index).await?;
    let mut holding: HashSet<i64> = index.packs.sweep().await?.into_iter().collect();
    holding.extend(packs_naming(shared, index).await?);
    let has_unused = |pack: &PackRow| pack.used_bytes < pack.text_bytes;
    if is_resumed {
        // The interrupted call swept chunks that may be in packs that name only other threads.
        let packs = index.packs.all().await?;
        holding.extend(packs.iter().filter(|pack| has_unused(pack)).map(|pack| pack.pack));
    }
    let is_due = |pack: &PackRow| holding.contains(&pack.pack) || has_unused(pack);
    upkeep::rewrite(shared, index, is_due).await?;
    for pack in index.packs.all().await?.iter().filter(|pack| holding.contains(&pack.pack)) {
        upkeep::delete_damaged(shared, pack.pack).await?;
    }
    shared.archive.remove_orphans(index).await?;
    // Pages of the index still contain the deleted text.
    index.scrub().await?;
    shared.in_folder(|folder| ForgottenThreads::read(folder)?.finish(folder)).await
}

/// The packs whose description names an unfinished thread.
async fn packs_naming(
    shared: &ArchiveShared,
    index: &ArchiveIndex,
) -> Result<Vec<i64>, ServiceError> {
    let packs = index.packs.all().await?.into_iter();
    let packs: Vec<(i64, PathBuf)> =
        packs.map(|pack| (pack.pack, shared.archive.pack(pack.pack))).collect();
    let forgotten = shared.forgotten().await?;
    let naming = move || {
        let names = |path: &Path| {
            // An unreadable pack may name one.
            contents_of_pack(path).map_or(true, |contents| {
                let mut names = contents.transcripts.iter();
                names.any(|name| forgotten.is_unfinished(&name.thread_id))
            })
        };
        packs.into_iter().filter(|(_, path)| names(path)).map(|(pack, _)| pack).collect()
    };
    Ok(tokio::task::spawn_blocking(naming).await?)
}
