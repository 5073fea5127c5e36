//! Plans the work after a full listing: files to read, moved files, deleted files.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use longhaul_core::thread::Source;
use longhaul_store::FileStat;

use super::catalogue::{Catalogue, Entry};
use super::scan::{Listing, stem};

/// A file to catch up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Job {
    pub(crate) path: String,
    pub(crate) source: Source,
    pub(crate) archived: bool,
    /// Fold the file again although it seems unchanged: its lines are others, or the archive has what it continues.
    pub(crate) restart: bool,
    /// Path of the known file that it seems to be.
    pub(crate) moved_from: Option<String>,
    /// Generation of the archived text to read: the transcript is gone, and the store lost what it had of it.
    pub(crate) archived_text: Option<u64>,
}

impl Job {
    /// Reads what is new in a file.
    pub(crate) fn of(path: String, source: Source, archived: bool) -> Self {
        Self { path, source, archived, restart: false, moved_from: None, archived_text: None }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// Files to read, newest first: the thread in use now is ready at once.
    pub(crate) jobs: Vec<Job>,
    /// Bytes to read, judging by the stats.
    pub(crate) bytes: u64,
    /// Known files that were deleted.
    pub(crate) gone: Vec<String>,
    /// Files that had been gone and are back, unchanged.
    pub(crate) back: Vec<String>,
}

/// Compares the catalogue, to which `listing` was applied, with the stored data. Of the listing it only uses what
/// could not be listed.
pub(crate) fn plan(catalogue: &Catalogue, listing: &Listing) -> Plan {
    let mut plan = Plan::default();
    retry_bases(catalogue);
    let failed = catalogue.failed();
    let entries = catalogue.lock();
    let missing: Vec<(&Arc<str>, &Entry)> =
        entries.iter().filter(|(path, entry)| is_missing(path, entry, listing)).collect();
    let moves = Moves::new(&missing);
    let mut moved: HashSet<&str> = HashSet::new();
    let mut jobs: Vec<(i64, Job)> = Vec::new();
    for (path, entry) in entries.iter() {
        let Some(stat) = entry.listed else { continue };
        let moved_from = match &entry.known {
            Some(known) if known.is_readable && known.stat == stat => {
                if known.gone {
                    plan.back.push(path.to_string());
                }
                continue;
            }
            Some(_) => None,
            None => moves.origin(path, stat),
        };
        if failed.contains(&**path) {
            continue;
        }
        moved.extend(moved_from);
        let read = entry.known.as_ref().map_or(0, |known| known.cursor.offset);
        plan.bytes += stat.size.saturating_sub(read);
        let job = Job::of(path.to_string(), entry.source, entry.archived);
        let moved_from = moved_from.map(str::to_owned);
        jobs.push((stat.mtime_ns, Job { moved_from, ..job }));
    }
    let gone = missing.iter().filter(|(path, _)| !moved.contains(&***path));
    plan.gone = gone.map(|(path, _)| path.to_string()).collect();
    drop(entries);
    jobs.sort_by(|(a, left), (b, right)| b.cmp(a).then_with(|| left.path.cmp(&right.path)));
    plan.jobs = jobs.into_iter().map(|(_, job)| job).collect();
    plan
}

/// A known file is missing only if the listing could have shown it.
fn is_missing(path: &str, entry: &Entry, listing: &Listing) -> bool {
    let is_known = entry.known.as_ref().is_some_and(|known| !known.gone);
    is_known
        && entry.listed.is_none()
        && !listing.is_cut
        && !listing
            .unreadable
            .iter()
            .any(|(folder, _)| std::path::Path::new(path).starts_with(folder))
}

/// Marks files that were folded without their base, and whose possible bases have changed since: they are planned until
/// they are stored anew, whatever listing or refusal of the store comes in between.
fn retry_bases(catalogue: &Catalogue) {
    let waiting: Vec<(Arc<str>, Box<str>, u64)> = catalogue
        .lock()
        .iter()
        .filter_map(|(path, entry)| {
            let known = entry.known.as_ref().filter(|known| known.is_missing_base())?;
            Some((Arc::clone(path), known.base_thread.clone()?, known.base_tried))
        })
        .collect();
    for (path, thread, tried) in waiting {
        let state = catalogue.state_of_thread(&thread, &path);
        if state == tried {
            continue;
        }
        if let Some(known) = catalogue.lock().get_mut(&path).and_then(|entry| entry.known.as_mut())
        {
            known.base_tried = state;
            known.is_readable = false;
        }
    }
}

/// Missing files by the properties a moved file keeps: its inode or its name. Only a guess; reading its lines
/// confirms it.
struct Moves<'a> {
    by_inode: HashMap<(u64, u64), &'a str>,
    by_name: HashMap<&'a str, &'a str>,
}

impl<'a> Moves<'a> {
    fn new(missing: &[(&'a Arc<str>, &'a Entry)]) -> Self {
        let mut moves = Self { by_inode: HashMap::new(), by_name: HashMap::new() };
        for (path, entry) in missing {
            if let Some(known) = &entry.known {
                moves.by_inode.insert((known.stat.dev, known.stat.ino), &***path);
                moves.by_name.insert(stem(path), &***path);
            }
        }
        moves
    }

    fn origin(&self, path: &str, stat: FileStat) -> Option<&'a str> {
        // The name first: the inode may have been reused.
        self.by_name.get(stem(path)).or_else(|| self.by_inode.get(&(stat.dev, stat.ino))).copied()
    }
}
