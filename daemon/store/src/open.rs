//! Opens a database that may be absent, old, newer, damaged or not a database at all.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::error::StoreError;
use crate::path::with_suffix;
use crate::pool::Pools;
use crate::salvage::{SalvageReport, salvage};
use crate::schema::{self, SCHEMA_VERSION};
use crate::seal::{self, SealCheck};

/// Maximum bytes of a file that is checked completely at every start. SQLite checks about 1 GB per second, so this
/// takes some tens of milliseconds at most; damage in a larger file is found when its page is read, and handled by
/// [`crate::Database::recover`].
const CHECK_BYTES_MAX: u64 = 64 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenReport {
    /// The database was created.
    pub created: bool,
    /// New path of a damaged database.
    pub moved_aside: Option<PathBuf>,
    /// Rows salvaged from a damaged database in this start.
    pub salvaged: Option<SalvageReport>,
    /// Number of pages whose flipped bit was repaired.
    pub pages_repaired: usize,
    pub schema_version: u32,
}

/// Opens `path`; a damaged file is moved aside (never deleted) and replaced by an empty one.
///
/// Damage counts only if a second attempt finds it too: SQLite also reports damage after a single failed read.
pub(crate) async fn open(path: &Path, now_ms: i64) -> Result<(Pools, OpenReport), StoreError> {
    let moved = finish_moving(path)?;
    let opened = match try_open(path).await {
        Err(StoreError::Corrupt { .. }) => try_open(path).await,
        opened => opened,
    };
    match opened {
        Ok((pools, opened)) => Ok((pools, OpenReport { moved_aside: moved, ..opened })),
        Err(StoreError::Corrupt { detail, .. }) => {
            tracing::warn!(path = %path.display(), detail, "database is corrupt, moving it aside");
            let moved = move_aside(path, now_ms)?;
            let (pools, opened) = try_open(path).await?;
            Ok((pools, OpenReport { moved_aside: Some(moved), ..opened }))
        }
        Err(error) => Err(error),
    }
}

async fn try_open(path: &Path) -> Result<(Pools, OpenReport), StoreError> {
    let pages_repaired = check_seal(path).await?;
    let bytes = std::fs::metadata(path).map(|meta| meta.len()).unwrap_or(0);
    let pools = Pools::open(path).await?;
    let found = prepare(&pools, bytes).await;
    match found {
        Ok((found, salvaged)) => {
            let (created, schema_version) = (found == 0, SCHEMA_VERSION);
            let opened =
                OpenReport { created, moved_aside: None, salvaged, pages_repaired, schema_version };
            Ok((pools, opened))
        }
        Err(error) => {
            pools.close().await;
            Err(error)
        }
    }
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
    let (verdict,): (String,) = sqlx::query_as("PRAGMA quick_check(1)")
        .fetch_one(pools.writer())
        .await
        .map_err(|error| pools.classify(error))?;
    if verdict == "ok" {
        Ok(())
    } else {
        Err(StoreError::Corrupt { path: pools.path.clone(), detail: verdict })
    }
}

/// Renames the database with its `-wal`, `-shm` and seal to `<name>.corrupt-<now_ms>`, and there clears the damaged
/// pages, so that their rows are not salvaged.
///
/// The link `<name>.moving` names the time while this runs: a kill between two of the files would leave a database
/// without its log, which may look sound. The main file is renamed last, since a remaining log would be replayed into
/// the new database.
pub(crate) fn move_aside(path: &Path, now_ms: i64) -> Result<PathBuf, StoreError> {
    let mark = with_suffix(path, ".moving");
    let denied = |path: &Path, error: std::io::Error| StoreError::Access {
        path: path.to_owned(),
        detail: error.to_string(),
    };
    let marked = symlink(now_ms.to_string(), &mark).and_then(|()| sync_folder_of(path));
    marked.map_err(|error| denied(&mark, error))?;
    let target = rename_aside(path, now_ms)?;
    std::fs::remove_file(&mark).map_err(|error| denied(&mark, error))?;
    Ok(target)
}

/// Finishes a move that a kill interrupted.
fn finish_moving(path: &Path) -> Result<Option<PathBuf>, StoreError> {
    let mark = with_suffix(path, ".moving");
    let Ok(stamp) = std::fs::read_link(&mark) else { return Ok(None) };
    let started_ms = stamp.to_str().and_then(|stamp| stamp.parse().ok());
    // With the main file, everything was moved.
    let unfinished_ms = started_ms.filter(|ms| !aside(path, *ms).exists());
    let moved = unfinished_ms.map(|ms| rename_aside(path, ms)).transpose()?;
    match std::fs::remove_file(&mark) {
        Ok(()) => Ok(moved),
        Err(error) => Err(StoreError::Access { path: mark, detail: error.to_string() }),
    }
}

fn aside(path: &Path, now_ms: i64) -> PathBuf {
    with_suffix(path, &format!(".corrupt-{now_ms}"))
}

/// Deletes every file that [`move_aside`] left.
pub(crate) fn remove_aside(path: &Path) -> Result<(), StoreError> {
    let failed = |path: &Path, error: std::io::Error| StoreError::Access {
        path: path.to_owned(),
        detail: error.to_string(),
    };
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Ok(()) };
    let prefix = format!("{}.corrupt-", name.to_string_lossy());
    for entry in std::fs::read_dir(folder).map_err(|error| failed(folder, error))? {
        let path = entry.map_err(|error| failed(folder, error))?.path();
        let is_aside =
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix));
        if is_aside {
            std::fs::remove_file(&path).map_err(|error| failed(&path, error))?;
        }
    }
    sync_folder_of(path).map_err(|error| failed(path, error))
}

fn rename_aside(path: &Path, now_ms: i64) -> Result<PathBuf, StoreError> {
    let target = aside(path, now_ms);
    for part in ["-wal", "-shm", ".seal", ""] {
        let from = with_suffix(path, part);
        match std::fs::rename(&from, with_suffix(&target, part)) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => {
                return Err(StoreError::Access { path: from, detail: error.to_string() });
            }
        }
    }
    if let Ok(SealCheck::Damaged(pages)) = seal::check(&target)
        && let Err(error) = seal::clear(&target, &pages)
    {
        return Err(StoreError::Access { path: target, detail: error.to_string() });
    }
    Ok(target)
}

fn sync_folder_of(path: &Path) -> std::io::Result<()> {
    path.parent().map_or(Ok(()), |folder| std::fs::File::open(folder)?.sync_all())
}

/// Deletes a database with its companion files.
pub(crate) fn remove(path: &Path) -> Result<(), StoreError> {
    for suffix in ["-wal", "-shm", ".seal", ""] {
        let path = with_suffix(path, suffix);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(StoreError::Access { path, detail: error.to_string() });
            }
            _ => {}
        }
    }
    Ok(())
}
