//! Full listing of the agents' folders: names and stats, no content.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::iter;
use std::path::{Path, PathBuf};

use longhaul_core::fold::Source;
use longhaul_core::rollout::records::{RecordFolders, RecordStorage, Records};
use longhaul_core::rollout::source::{Folder, Layout};
use longhaul_store::{FileStat, SessionState};
use notify::RecursiveMode;

use super::databases::Databases;
use crate::transcript::records;

/// Maximum files listed; a folder with more is listed in part, with a warning.
const FILES_MAX: usize = 200_000;

/// Maximum depth below a root. Codex uses three levels (year, month, day).
const DEPTH_MAX: usize = 16;

/// A folder in which an agent keeps transcripts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    pub source: Source,
    /// The folder; it may not exist yet.
    pub path: PathBuf,
    /// Whether the agent archived its contents.
    pub archived: bool,
}

impl Root {
    /// The folders of the agent with this `home`.
    pub fn of(source: Source, home: &Path) -> Vec<Self> {
        let folders = source.spec().folders.iter();
        let root = |folder: &Folder| Self {
            source,
            path: home.join(folder.path),
            archived: folder.archived,
        };
        folders.map(root).collect()
    }

    /// The resolved folder; `None` if it does not exist.
    pub(crate) fn resolved(&self) -> Option<PathBuf> {
        fs::canonicalize(&self.path).ok()
    }

    fn file(&self, path: &str, stat: FileStat) -> ListedFile {
        ListedFile { path: path.to_owned(), source: self.source, archived: self.archived, stat }
    }

    /// The folders that change when a transcript of this root does. Message parts, in a folder per message, are
    /// not watched: the message is written after them.
    pub(super) fn watched(&self, top: &Path) -> Vec<(PathBuf, RecursiveMode)> {
        if top.is_file() {
            let beside =
                top.parent().map(|folder| (folder.to_owned(), RecursiveMode::NonRecursive));
            return beside.into_iter().collect();
        }
        let messages = record_folders(self.source);
        let messages = messages.filter_map(|folders| records::messages_folder(folders, top));
        let folders = iter::once(top.to_owned()).chain(messages.filter(|folder| folder.is_dir()));
        folders.map(|folder| (folder, RecursiveMode::Recursive)).collect()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListedFile {
    pub(crate) path: String,
    pub(crate) source: Source,
    pub(crate) archived: bool,
    pub(crate) stat: FileStat,
}

#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// Sorted by path; a file reached twice is listed once.
    pub(crate) files: Vec<ListedFile>,
    /// Folders that could not be read, with the reason. Known files in them do not count as gone.
    pub(crate) unreadable: Vec<(PathBuf, String)>,
    pub(crate) is_cut: bool,
}

fn is_transcript(source: Source, path: &Path) -> bool {
    layout(source, path).is_some()
}

fn layout(source: Source, path: &Path) -> Option<Layout> {
    source.spec().layout(path.to_str()?)
}

/// Whether a change to a file of that name may change a transcript.
pub(crate) fn may_affect_transcript(path: &Path) -> bool {
    let is_record = |path: &str| {
        let folders = Source::ALL.iter().flat_map(|source| record_folders(*source));
        folders.into_iter().any(|folders| folders.is_message(path))
    };
    Source::ALL.iter().any(|source| is_transcript(*source, path))
        || records::database_of(path).is_some()
        || path.to_str().is_some_and(is_record)
}

fn record_folders(source: Source) -> impl Iterator<Item = RecordFolders> {
    source.spec().files.iter().filter_map(|files| match files.layout {
        Layout::Records(Records { storage: RecordStorage::Folders(folders), .. }) => Some(folders),
        _ => None,
    })
}

/// The transcripts that a change to this file may have changed. Blocking, on a thread of the runtime.
pub(crate) fn affected_by(roots: &[Root], path: &Path) -> Vec<ListedFile> {
    if let Some(database) = records::database_of(path) {
        let tops = roots.iter().filter_map(|root| Some((root, root.resolved()?)));
        let Some((root, top)) = tops.into_iter().find(|(_, top)| *top == database) else {
            return Vec::new();
        };
        let sessions = records::sessions_of(&top, true).unwrap_or_default();
        return sessions.into_iter().filter_map(|session| row(root, &top, session)).collect();
    }
    let folders = roots.iter().flat_map(|root| record_folders(root.source));
    let session = folders.into_iter().find_map(|folders| records::session_of(folders, path));
    inspect(roots, session.as_deref().unwrap_or(path)).ok().flatten().into_iter().collect()
}

/// Lists all transcripts below `roots`. A missing root has none. Blocking, on a thread of the runtime.
pub(crate) fn list(roots: &[Root], databases: &Databases, now_ms: i64) -> Listing {
    let mut listing = Listing::default();
    for root in roots {
        let Some(top) = root.resolved() else {
            if root.path.symlink_metadata().is_ok() {
                listing.unreadable.push((root.path.clone(), "cannot be resolved".into()));
            }
            continue;
        };
        match top.is_file() {
            true => add_sessions(root, &top, (databases, now_ms), &mut listing),
            false => walk(root, &top, &mut listing),
        }
    }
    // Of a file reached twice, keep the last occurrence.
    listing.files.reverse();
    listing.files.sort_by(|a, b| a.path.cmp(&b.path));
    listing.files.dedup_by(|a, b| a.path == b.path);
    drop_shadowed(&mut listing);
    listing
}

fn walk(root: &Root, top: &Path, listing: &mut Listing) {
    let mut folders = vec![(top.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            // Deleted after its parent was read.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => {
                listing.unreadable.push((folder, error.to_string()));
                continue;
            }
        };
        for entry in entries.filter_map(Result::ok) {
            if listing.files.len() >= FILES_MAX {
                listing.is_cut = true;
                return;
            }
            match entry.file_type() {
                // A linked folder is not entered: if it is inside the root, it is listed there.
                Ok(kind) if kind.is_dir() && depth < DEPTH_MAX => {
                    folders.push((entry.path(), depth + 1));
                }
                Ok(kind) if !kind.is_dir() && is_transcript(root.source, &entry.path()) => {
                    listing.files.extend(stat(root, top, &entry.path()).and_then(Result::ok));
                }
                _ => {}
            }
        }
    }
}

fn add_sessions(
    root: &Root,
    top: &Path,
    (databases, now_ms): (&Databases, i64),
    listing: &mut Listing,
) {
    match databases.sessions(top, now_ms) {
        Ok(sessions) => {
            let room = FILES_MAX.saturating_sub(listing.files.len());
            listing.is_cut |= sessions.len() > room;
            let files = sessions.into_iter().take(room);
            listing.files.extend(files.filter_map(|state| row(root, top, state)));
        }
        Err(error) => listing.unreadable.push((top.to_owned(), error.to_string())),
    }
}

/// A session of the database at `root`; `None` for an id that no agent of this source makes.
fn row(root: &Root, top: &Path, session: SessionState) -> Option<ListedFile> {
    let path = top.join(session.id);
    is_transcript(root.source, &path).then_some(())?;
    Some(root.file(path.to_str()?, session.stat))
}

/// Whether a transcript of lines has none: its text was deleted, as with the file, or is not written yet. A document that is
/// written again after every turn may be empty for a moment.
fn is_empty(source: Source, path: &Path, meta: &fs::Metadata) -> bool {
    meta.len() == 0 && matches!(layout(source, path), Some(Layout::Lines))
}

/// Resolves one path below `top`; `None` if it is not a file.
fn stat(root: &Root, top: &Path, path: &Path) -> Option<Result<ListedFile, Outside>> {
    if let Some(Layout::Records(records)) = layout(root.source, path) {
        let stat = records::stat(records.storage, path).ok()??;
        return Some(Ok(root.file(path.to_str()?, stat)));
    }
    let meta = fs::symlink_metadata(path).ok()?;
    let (path, meta) = if meta.is_symlink() {
        let target = fs::canonicalize(path).ok()?;
        if !target.starts_with(top) {
            return Some(Err(Outside));
        }
        let meta = fs::symlink_metadata(&target).ok()?;
        (target, meta)
    } else {
        (path.to_owned(), meta)
    };
    if !meta.is_file() || is_empty(root.source, &path, &meta) {
        return None;
    }
    Some(path.to_str().map(|path| root.file(path, FileStat::of(&meta))).ok_or(Outside))
}

/// Inspects one file. `Ok(None)`: it does not exist or is not a transcript.
///
/// # Errors
/// It is outside every root, leads out of its own, or is not UTF-8.
pub(crate) fn inspect(roots: &[Root], path: &Path) -> Result<Option<ListedFile>, Outside> {
    let resolved = match (path.parent().map(fs::canonicalize), path.file_name()) {
        // The file may be missing: its folder decides where it would be.
        (Some(Ok(folder)), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    };
    for root in roots {
        let Some(top) = root.resolved() else { continue };
        if !resolved.starts_with(&top) {
            continue;
        }
        if !is_transcript(root.source, &resolved) {
            return Ok(None);
        }
        return stat(root, &top, &resolved).transpose();
    }
    Err(Outside)
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outside;

/// Drops duplicates: a plain file is newer than its compressed twin, lines are newer than the document they were
/// made from, and a database is newer than the files imported into it.
fn drop_shadowed(listing: &mut Listing) {
    let in_databases: HashSet<String> = listing
        .files
        .iter()
        .filter(|file| is_stored(file, |storage| storage == RecordStorage::Database))
        .map(|file| stem(&file.path).to_owned())
        .collect();
    let is_there = |wanted: &str| {
        listing.files.binary_search_by(|file| file.path.as_str().cmp(wanted)).is_ok()
    };
    let is_shadowed = |file: &ListedFile| {
        let path = &file.path;
        path.strip_suffix(".zst").is_some_and(is_there)
            || path.ends_with(".json") && is_there(&format!("{path}l"))
            || in_databases.contains(stem(path))
                && is_stored(file, |storage| storage != RecordStorage::Database)
    };
    let mut shadowed = listing.files.iter().map(is_shadowed).collect::<Vec<_>>().into_iter();
    listing.files.retain(|_| !shadowed.next().unwrap_or(false));
}

fn is_stored(file: &ListedFile, so: impl Fn(RecordStorage) -> bool) -> bool {
    let layout = file.source.spec().layout(&file.path);
    matches!(layout, Some(Layout::Records(Records { storage, .. })) if so(storage))
}

/// The name of a transcript without the suffixes of its form.
pub(super) fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    [".zst", ".json"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn transcripts_are_found_but_not_through_links_that_lead_out() {
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path().canonicalize().unwrap().join("home");
        let day = home.join("sessions/2026/11/21");
        fs::create_dir_all(&day).unwrap();
        fs::create_dir_all(home.join("archived_sessions")).unwrap();
        let outside = temp.path().join("outside.jsonl");
        fs::write(&outside, "x").unwrap();
        for name in ["a.jsonl", "b.jsonl.zst", "c.jsonl", "c.jsonl.zst", "d.json", ".e.jsonl"] {
            fs::write(day.join(name), "x").unwrap();
        }
        fs::write(home.join("sessions/rollout-2025-05-01-f.json"), "x").unwrap();
        fs::write(home.join("archived_sessions/z.jsonl"), "x").unwrap();
        fs::write(day.join("empty.jsonl"), "").unwrap();
        symlink(&outside, day.join("out.jsonl")).unwrap();
        symlink(day.join("a.jsonl"), day.join("in.jsonl")).unwrap();
        symlink(temp.path(), day.join("folder.jsonl")).unwrap();
        symlink(temp.path(), day.join("folder")).unwrap();

        let listing = list(&Root::of(Source::Codex, &home), &Databases::default(), 0);
        let names: Vec<_> = listing
            .files
            .iter()
            .map(|file| (file.path.rsplit('/').next().unwrap(), file.archived))
            .collect();
        let expected = [
            ("z.jsonl", true),
            ("a.jsonl", false),
            ("b.jsonl.zst", false),
            ("c.jsonl", false),
            ("rollout-2025-05-01-f.json", false),
        ];
        assert_eq!(names, expected);

        let roots = Root::of(Source::Codex, &home);
        assert!(inspect(&roots, &day.join("a.jsonl")).unwrap().is_some());
        assert_eq!(inspect(&roots, &day.join("gone.jsonl")), Ok(None));
        assert_eq!(inspect(&roots, &day.join("empty.jsonl")), Ok(None));
        assert_eq!(inspect(&roots, &outside), Err(Outside));
        assert_eq!(inspect(&roots, &day.join("out.jsonl")), Err(Outside));
        assert_eq!(inspect(&roots, &day.join("../../../../../outside.jsonl")), Err(Outside));
    }

    #[test]
    fn a_home_that_is_not_there_has_no_files() {
        let listing =
            list(&Root::of(Source::Codex, Path::new("/nowhere/at/all")), &Databases::default(), 0);
        assert!(listing.files.is_empty() && listing.unreadable.is_empty());
    }
}
