//! Observes files that a thread read or changed: content hash, size, time.
//!
//! Only the host knows a file's content; a transcript only has what a tool printed. An observation is worth more
//! the sooner it is made: if the file changed again in between, it is marked late. Observations are limited to
//! regular files in the thread's own folder, and in number, size and age.

use std::collections::HashMap;
use std::fs;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use longhaul_core::digest::ContentHash;
use longhaul_core::fold::Touch;
use longhaul_store::{FileStat, Observation};

use crate::no_follow;

/// Maximum files observed after one pass over a transcript; newest touches first.
const FILES_MAX: usize = 64;

/// Largest file that is hashed.
const FILE_BYTES_MAX: u64 = 8 << 20;

/// Maximum bytes hashed after one pass.
const TOTAL_BYTES_MAX: u64 = 32 << 20;

/// Touches older than this are skipped: the file's content proves nothing about them any more, and a first start
/// must not hash every old project.
const AGE_MS_MAX: i64 = 7 * 24 * 3_600 * 1_000;

/// A file modified this long after the touch counts as changed again. Agents write the line a moment after the
/// tool writes the file.
const LATE_AFTER_MS: i64 = 2_000;

/// The newest touch of each file, collected over a pass.
#[derive(Debug, Default)]
pub(crate) struct Touches(HashMap<String, Touch>);

impl Touches {
    pub(crate) fn add(&mut self, touches: Vec<Touch>) {
        for touch in touches {
            self.0.insert(touch.path.clone(), touch);
        }
        // Ten times the number observed, so that nothing dropped here would have been observed.
        if self.0.len() > 10 * FILES_MAX {
            let newest = self.newest().into_iter().map(|touch| (touch.path.clone(), touch));
            self.0 = newest.collect();
        }
    }

    fn newest(&mut self) -> Vec<Touch> {
        let mut touches: Vec<Touch> = std::mem::take(&mut self.0).into_values().collect();
        touches.sort_by(|a, b| b.seq.cmp(&a.seq).then_with(|| a.path.cmp(&b.path)));
        touches.truncate(FILES_MAX);
        touches
    }

    /// Observes the files and clears the list.
    pub(crate) fn observe(&mut self, cwd: Option<&str>, now_ms: i64) -> Vec<Observation> {
        let mut budget = TOTAL_BYTES_MAX;
        let mut folders = HashMap::new();
        let mut seen: Vec<Observation> = self
            .newest()
            .into_iter()
            .filter(|touch| touch.at_ms == 0 || now_ms - touch.at_ms <= AGE_MS_MAX)
            .filter_map(|touch| {
                let cwd = touch.cwd.as_deref().or(cwd)?.to_owned();
                let folder = folders.entry(cwd).or_insert_with_key(|cwd| confine(cwd)).clone()?;
                observe(&touch, &folder, now_ms, &mut budget)
            })
            .collect();
        seen.sort_by(|a, b| a.path.cmp(&b.path));
        seen
    }
}

/// The folder to confine observations to; `None` if it does not exist or is the root, which would confine nothing.
fn confine(cwd: &str) -> Option<PathBuf> {
    let folder = fs::canonicalize(cwd).ok()?;
    (folder.is_dir() && folder.components().count() > 1).then_some(folder)
}

fn observe(touch: &Touch, folder: &Path, now_ms: i64, budget: &mut u64) -> Option<Observation> {
    let path = folder.join(&touch.path);
    let absent = Observation {
        path: touch.path.clone(),
        seq: touch.seq,
        at_ms: touch.at_ms,
        observed_at_ms: now_ms,
        hash: None,
        size: 0,
        mtime_ms: 0,
        late: false,
    };
    let resolved = match fs::canonicalize(&path) {
        Ok(resolved) => resolved,
        // Deleted: record its absence, if its parent exists inside the folder.
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let parent = fs::canonicalize(path.parent()?).ok()?;
            return parent.starts_with(folder).then_some(absent);
        }
        Err(_) => return None,
    };
    if !resolved.starts_with(folder) {
        return None;
    }
    let (file, meta) = no_follow::regular(&resolved).ok()?;
    let stat = FileStat::of(&meta);
    if stat.size > FILE_BYTES_MAX.min(*budget) {
        return None;
    }
    let mut content = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut content).ok()?;
    *budget = budget.saturating_sub(content.len() as u64);
    let mtime_ms = stat.mtime_ns.div_euclid(1_000_000);
    Some(Observation {
        hash: Some(ContentHash::of(&content)),
        size: content.len() as u64,
        mtime_ms,
        late: touch.at_ms == 0 || mtime_ms > touch.at_ms + LATE_AFTER_MS,
        ..absent
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_stay_inside_the_thread_s_folder() {
        let temp = tempfile::tempdir().unwrap();
        let project = temp.path().canonicalize().unwrap().join("project");
        fs::create_dir_all(project.join("src")).unwrap();
        fs::write(project.join("src/a.rs"), "abc").unwrap();
        fs::write(temp.path().join("secret"), "x").unwrap();
        std::os::unix::fs::symlink(temp.path().join("secret"), project.join("link")).unwrap();
        fs::File::create(project.join("big")).unwrap().set_len(FILE_BYTES_MAX + 1).unwrap();
        let meta = fs::metadata(project.join("src/a.rs")).unwrap();
        let written_ms = FileStat::of(&meta).mtime_ns / 1_000_000;
        let cwd = project.to_str().unwrap();
        let absolute = project.join("src/a.rs").to_str().unwrap().to_owned();

        let look = |path: &str, at_ms| {
            let mut touches = Touches::default();
            touches.add(vec![Touch { path: path.into(), seq: 1, at_ms, cwd: None }]);
            touches.observe(Some(cwd), written_ms + 5_000).pop()
        };
        let seen = look("src/a.rs", written_ms).unwrap();
        assert_eq!((seen.size, seen.late), (3, false));
        assert_eq!(seen.hash, Some(ContentHash::of(b"abc")));
        assert!(look(&absolute, written_ms).is_some());
        assert!(look("src/a.rs", written_ms - 3_000).unwrap().late);
        assert_eq!(look("src/deleted.rs", written_ms).unwrap().hash, None);
        for path in ["../secret", "link", "/etc/hostname", "big", "src", "no/such/folder/x"] {
            assert_eq!(look(path, written_ms), None, "{path}");
        }
        assert_eq!(look("src/a.rs", written_ms - AGE_MS_MAX - 5_001), None);
    }

    #[test]
    fn the_newest_touches_are_kept_whatever_their_number() {
        let mut touches = Touches::default();
        for seq in 0..5_000 {
            let path = format!("{seq}");
            touches.add(vec![Touch { path, seq, at_ms: 1, cwd: None }]);
        }
        let newest = touches.newest();
        assert_eq!((newest.len(), newest[0].seq), (FILES_MAX, 4_999));
    }
}
