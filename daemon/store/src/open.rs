//! Opens a database that may be absent, old, newer, damaged or not a database at all.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::error::StoreError;
use crate::path::{
    DAMAGED, OLDER, aside_stamp, if_there, newest_aside, sync_folder_of, with_suffix,
};
use crate::pool::Pools;
use crate::salvage::{SalvageReport, salvage};
use crate::schema;
use crate::seal::{self, SealCheck};

/// Maximum bytes of a file that is checked completely at every start. SQLite checks about 1 GB per second, so this
/// takes some tens of milliseconds at most; damage in a larger file is found when its page is read, and handled by
/// [`crate::Database::recover`].
const CHECK_BYTES_MAX: u64 = 64 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenReport {
    /// The database was created.
    pub created: bool,
    /// New path of a database that was damaged or of an older version.
    pub moved_aside: Option<PathBuf>,
    /// Rows salvaged from such a database in this start.
    pub salvaged: Option<SalvageReport>,
    /// Number of pages whose flipped bit was repaired.
    pub pages_repaired: usize,
}

/// Opens `path`; a file that is damaged or of an older version is moved aside (never deleted) and replaced by an empty one.
///
/// Damage counts only if a second attempt finds it too: SQLite also reports damage after a single failed read.
pub(crate) async fn open(path: &Path, now_ms: i64) -> Result<(Pools, OpenReport), StoreError> {
    let moved = finish_moving(path)?;
    let opened = match try_open(path).await {
        Err(StoreError::Corrupt { .. }) => try_open(path).await,
        opened => opened,
    };
    let (mark, error) = match opened {
        Ok((pools, opened)) => return Ok((pools, OpenReport { moved_aside: moved, ..opened })),
        Err(error @ StoreError::Corrupt { .. }) => (DAMAGED, error),
        Err(error @ StoreError::SchemaTooOld { .. }) => (OLDER, error),
        Err(error) => return Err(error),
    };
    tracing::warn!(%error, "moving the database aside");
    let moved = move_aside(path, mark, now_ms)?;
    let (pools, opened) = try_open(path).await?;
    Ok((pools, OpenReport { moved_aside: Some(moved), ..opened }))
}

async fn try_open(path: &Path) -> Result<(Pools, OpenReport), StoreError> {
    let pages_repaired = check_seal(path).await?;
    let bytes = std::fs::metadata(path).map(|meta| meta.len()).unwrap_or(0);
    let pools = Pools::open(path).await?;
    let (found, salvaged) = pools.or_closed(prepare(&pools, bytes).await).await?;
    let created = found == 0;
    let opened = OpenReport { created, moved_aside: None, salvaged, pages_repaired };
    Ok((pools, opened))
}

async fn prepare(pools: &Pools, bytes: u64) -> Result<(u32, Option<SalvageReport>), StoreError> {
    let found = schema::migrate(pools).await?;
    if found > 0 && bytes <= CHECK_BYTES_MAX {
        check(pools).await?;
    }
    Ok((found, salvage(pools).await?))
}

/// Compares the pages of a database at rest with its seal. Returns the number of repaired pages; `Corrupt` if a page
/// cannot be repaired.
pub(crate) async fn check_seal(path: &Path) -> Result<usize, StoreError> {
    let database = path.to_owned();
    let checked = tokio::task::spawn_blocking(move || seal::check(&database)).await;
    match checked.unwrap_or_else(|panic| Err(std::io::Error::other(panic))) {
        Ok(SealCheck::Repaired(pages)) => {
            tracing::warn!(?pages, "repaired a flipped bit in pages of the database");
            Ok(pages.len())
        }
        Ok(SealCheck::Damaged(pages)) => {
            let detail = format!(
                "{} pages do not match their digests, the first is {}",
                pages.len(),
                pages[0]
            );
            Err(StoreError::Corrupt { path: path.to_owned(), detail })
        }
        Ok(SealCheck::Unsealed | SealCheck::Sound) => Ok(0),
        Err(error) => {
            tracing::warn!(%error, "cannot check the seal of the database");
            Ok(0)
        }
    }
}

/// Reads every page; `Corrupt` with the first fault found.
pub(crate) async fn check(pools: &Pools) -> Result<(), StoreError> {
    let verdict = sqlx::query_scalar("PRAGMA quick_check(1)");
    let detail: String = pools.write(async |pool| verdict.fetch_one(&pool).await).await?;
    match detail == "ok" {
        true => Ok(()),
        false => Err(StoreError::Corrupt { path: pools.path.clone(), detail }),
    }
}

/// Renames the database with its `-wal`, `-shm` and seal to `<name><mark><time>`, and there clears the damaged
/// pages, so that their rows are not salvaged. `mark` is [`DAMAGED`] or [`OLDER`].
///
/// The link `<name>.moving` has the end of that name while this runs: a kill between two of the files would leave a database
/// without its log, which may look sound. The main file is renamed last, since a remaining log would be replayed into
/// the new database. A move that failed or was interrupted is finished.
pub(crate) fn move_aside(path: &Path, mark: &str, now_ms: i64) -> Result<PathBuf, StoreError> {
    if let Some(moved) = finish_moving(path)? {
        return Ok(moved);
    }
    // The newest one is salvaged, and the clock may have been ahead when an earlier one was moved.
    let after = newest_aside(path).map_or(i64::MIN, |(earlier_ms, _)| earlier_ms.saturating_add(1));
    let (link, end) = (with_suffix(path, ".moving"), format!("{mark}{}", now_ms.max(after)));
    let linked = symlink(&end, &link).and_then(|()| sync_folder_of(path));
    linked.map_err(|error| StoreError::access(&link, &error))?;
    let target = rename_aside(path, with_suffix(path, &end))?;
    std::fs::remove_file(&link).map_err(|error| StoreError::access(&link, &error))?;
    Ok(target)
}

/// Finishes a move that a kill or an error interrupted.
fn finish_moving(path: &Path) -> Result<Option<PathBuf>, StoreError> {
    let link = with_suffix(path, ".moving");
    let Ok(end) = std::fs::read_link(&link) else { return Ok(None) };
    let target = end.to_str().map(|end| with_suffix(path, end));
    let moved = target.map(|target| rename_aside(path, target)).transpose()?;
    std::fs::remove_file(&link).map_err(|error| StoreError::access(&link, &error))?;
    Ok(moved)
}

/// Deletes every file that [`move_aside`] left.
pub(crate) fn remove_aside(path: &Path) -> Result<(), StoreError> {
    let failed = |path: &Path, error| StoreError::access(path, &error);
    let Some(folder) = path.parent() else { return Ok(()) };
    for entry in std::fs::read_dir(folder).map_err(|error| failed(folder, error))? {
        let entry = entry.map_err(|error| failed(folder, error))?;
        if aside_stamp(path, &entry.file_name().to_string_lossy()).is_some() {
            let path = entry.path();
            std::fs::remove_file(&path).map_err(|error| failed(&path, error))?;
        }
    }
    sync_folder_of(path).map_err(|error| failed(path, error))
}

fn rename_aside(path: &Path, target: PathBuf) -> Result<PathBuf, StoreError> {
    // With the main file, everything was moved: what is at `path` now is of its successor.
    let parts = if target.exists() { &[][..] } else { &["-wal", "-shm", ".seal", ""] };
    for part in parts {
        let from = with_suffix(path, part);
        let renamed = if_there(std::fs::rename(&from, with_suffix(&target, part)));
        renamed.map_err(|error| StoreError::access(&from, &error))?;
    }
    seal::clear(&target).map_err(|error| StoreError::access(&target, &error))?;
    Ok(target)
}

/// Deletes a database with its companion files.
pub(crate) fn remove(path: &Path) -> Result<(), StoreError> {
    for suffix in ["-wal", "-shm", ".seal", ""] {
        let path = with_suffix(path, suffix);
        if_there(std::fs::remove_file(&path)).map_err(|error| StoreError::access(&path, &error))?;
    }
    Ok(())
}
