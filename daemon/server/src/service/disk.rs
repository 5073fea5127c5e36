//! The current state on disk of the files a thread knows.
//!
//! *Owns* a bounded cache of content hashes by path. An entry is valid while the file's identity, size and times
//! are unchanged, so an unchanged file costs one `stat`. Only files in the thread's own folder are read: a
//! transcript may name any path, and must not make the daemon read it.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use longhaul_core::checkpoint::file_standing::{Disk, Now, OnDisk};
use longhaul_core::digest::ContentHash;
use longhaul_core::paths;
use longhaul_store::Observation;

use crate::no_follow;

/// Largest file that is hashed.
const FILE_BYTES_MAX: u64 = 8 << 20;

/// Maximum bytes hashed per request; files beyond it stay unknown, never unchanged.
const REQUEST_BYTES_MAX: u64 = 64 << 20;

/// Maximum cached hashes. On overflow the cache is cleared: it is cheap to refill.
const ENTRIES_MAX: usize = 8_192;

#[derive(Debug, Default)]
pub struct HashCache(Mutex<HashMap<PathBuf, (Identity, ContentHash)>>);

/// Distinguishes contents without reading them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity {
    dev: u64,
    ino: u64,
    size: u64,
    mtime_ns: i128,
    ctime_ns: i128,
}

impl Identity {
    fn of(meta: &fs::Metadata) -> Self {
        let ns = |seconds: i64, nanos: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
        Self {
            dev: meta.dev(),
            ino: meta.ino(),
            size: meta.size(),
            mtime_ns: ns(meta.mtime(), meta.mtime_nsec()),
            ctime_ns: ns(meta.ctime(), meta.ctime_nsec()),
        }
    }
}

/// Inspects the files `keys` (absolute paths) that are in `cwd`, with the observations from when the thread
/// touched them. Blocking.
pub fn look(cache: &HashCache, cwd: &str, keys: &[String], seen: &[Observation]) -> Disk {
    let mut disk = Disk::new();
    for observation in seen {
        let key = paths::absolute(&observation.path, Some(cwd));
        let on_disk =
            OnDisk { then: observation.hash.clone(), late: observation.late, now: Now::Unknown };
        disk.insert(key, on_disk);
    }
    let Ok(root) = fs::canonicalize(cwd) else { return disk };
    if root.components().count() <= 1 {
        return disk;
    }
    let mut budget = REQUEST_BYTES_MAX;
    for key in keys {
        let now = cache.now(&root, key, &mut budget);
        disk.entry(key.clone()).or_default().now = now;
    }
    disk
}

impl HashCache {
    fn now(&self, root: &Path, key: &str, budget: &mut u64) -> Now {
        let path = match fs::canonicalize(key) {
            Ok(path) => path,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return if Path::new(key).starts_with(root) { Now::Missing } else { Now::Unknown };
            }
            Err(_) => return Now::Unknown,
        };
        if !path.starts_with(root) {
            return Now::Unknown;
        }
        let Ok(meta) = fs::metadata(&path) else { return Now::Unknown };
        if !meta.is_file() || meta.len() > FILE_BYTES_MAX {
            return Now::Unknown;
        }
        if let Some(hash) = self.known(&path, Identity::of(&meta)) {
            return Now::Content(hash);
        }
        if meta.len() > *budget {
            return Now::Unknown;
        }
        *budget -= meta.len();
        // Others may look at their files meanwhile.
        let Ok((identity, hash)) = read(&path) else { return Now::Unknown };
        let mut cache = self.lock();
        if cache.len() >= ENTRIES_MAX {
            cache.clear();
        }
        cache.insert(path, (identity, hash.clone()));
        Now::Content(hash)
    }

    fn known(&self, path: &Path, identity: Identity) -> Option<ContentHash> {
        let cache = self.lock();
        let (known, hash) = cache.get(path)?;
        (*known == identity).then(|| hash.clone())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, (Identity, ContentHash)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The hash of a file.
///
/// # Errors
/// Something else has taken its place since it was found there: a link to a file elsewhere, or a pipe, which would be read
/// for ever.
fn read(path: &Path) -> io::Result<(Identity, ContentHash)> {
    let (file, meta) = no_follow::regular(path)?;
    let mut content = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut content)?;
    Ok((Identity::of(&meta), ContentHash::of(&content)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_in_the_folder_are_read_and_changed_ones_again() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        let cwd = root.join("project");
        fs::create_dir(&cwd).unwrap();
        fs::write(cwd.join("a"), "one").unwrap();
        fs::write(root.join("outside"), "x").unwrap();
        std::os::unix::fs::symlink(root.join("outside"), cwd.join("link")).unwrap();
        let cache = HashCache::default();
        let keys: Vec<String> =
            [cwd.join("a"), cwd.join("none"), root.join("outside"), cwd.join("link")]
                .iter()
                .map(|path| path.display().to_string())
                .collect();
        let look = || look(&cache, &cwd.display().to_string(), &keys, &[]);
        let first = look();
        let nows: Vec<&Now> = keys.iter().map(|key| &first[key].now).collect();
        let one = Now::Content(ContentHash::of(b"one"));
        assert_eq!(nows, [&one, &Now::Missing, &Now::Unknown, &Now::Unknown]);
        fs::write(cwd.join("a"), "three").unwrap();
        assert_eq!(look()[&keys[0]].now, Now::Content(ContentHash::of(b"three")));
        // They took the place of a file after it was found there.
        let pipe = cwd.join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
        assert!(read(&pipe).is_err());
        assert!(read(&cwd.join("link")).is_err());
        let now = |mut budget| HashCache::default().now(&cwd, &keys[0], &mut budget);
        assert_eq!(now(5), Now::Content(ContentHash::of(b"three")));
        assert_eq!(now(4), Now::Unknown, "the request's budget is spent");
    }
}
