//! Finds and creates the transcripts of threads.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use longhaul_core::rollout::compose::{self, Opening};

use crate::folder;
use crate::new_file::{self, NEW};

/// Levels of folders above a transcript: year, month, day.
const DEPTH: usize = 3;

/// Bytes before the thread's id in a name: `rollout-2026-11-21T10-15-00-`.
const BEFORE_ID: usize = 28;

/// Finds the transcript of a thread by its name, in the newest folders first, and syncs its folders: the call that created it
/// may have been interrupted before it did.
pub(super) fn find(folder: &Path, thread_id: &str) -> io::Result<Option<PathBuf>> {
    let end = format!("{thread_id}.jsonl");
    // The whole id: under a part of one, a thread would have two writers.
    let is_it =
        |name: &str| name.starts_with("rollout-") && name.get(BEFORE_ID..) == Some(end.as_str());
    let found = find_below(folder, DEPTH, &is_it)?;
    if let Some(path) = &found {
        sync_folders(path)?;
    }
    Ok(found)
}

fn sync_folders(path: &Path) -> io::Result<()> {
    let mut folders = path.ancestors().skip(1).take(DEPTH + 1);
    folders.try_for_each(|folder| fs::File::open(folder)?.sync_all())
}

fn find_below(
    folder: &Path,
    depth: usize,
    is_it: &dyn Fn(&str) -> bool,
) -> io::Result<Option<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        entries => entries?,
    };
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    if depth == 0 {
        return Ok(names.into_iter().find(|name| is_it(name)).map(|name| folder.join(name)));
    }
    names.sort_unstable_by(|a, b| b.cmp(a));
    for name in names.iter().filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())) {
        if let Some(found) = find_below(&folder.join(name), depth - 1, is_it)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Deletes a transcript, durably.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    folder::remove(path)?;
    folder::sync_folder_of(path)
}

/// Creates a transcript; the caller does this for one thread at a time.
pub(super) fn begin(folder: &Path, opening: &Opening, at_ms: i64) -> io::Result<PathBuf> {
    let name = compose::file_name(at_ms, &opening.thread_id);
    let path = folder.join(compose::folder(at_ms)).join(name);
    sweep_beside(&path);
    new_file::publish(&path, |file| file.write_all(compose::opening(opening, at_ms).as_bytes()))?;
    // An interrupted call may have left a folder that is not synced into the one above.
    sync_folders(&path)?;
    Ok(path)
}

/// Removes unfinished files next to a thread that a crash or a failing disk left. The caller creates no thread meanwhile.
pub(super) fn sweep_beside(path: &Path) {
    let entries = path.parent().map(fs::read_dir).into_iter().flatten().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with('.') && name.ends_with(NEW) {
            fs::remove_file(entry.path()).ok();
        }
    }
}
