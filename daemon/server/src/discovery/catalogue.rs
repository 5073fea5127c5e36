//! All existing transcript files, in memory: an unchanged file costs one comparison, and a fork finds the
//! transcript it continues.
//!
//! Of deleted files only the number and the sums are kept; otherwise a folder whose old files are deleted would
//! fill the memory. The store's data on one is loaded when its path is listed again.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::{Deref, DerefMut};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use longhaul_core::fold::{Fold, Source, ThreadHead};
use longhaul_store::{BaseState, Cursor, FileCommit, FileId, FileRow, FileStat};

use super::names::{is_uuid, name_of, thread_in_name};
use super::scan::{ListedFile, Listing};

#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) source: Source,
    pub(crate) archived: bool,
    /// Stat from the last listing; `None` if it was not there.
    pub(crate) listed: Option<FileStat>,
    /// Stored data of the file. Boxed, like the next field, to keep the table small: it has room for twice as many
    /// files.
    pub(crate) known: Option<Box<KnownFile>>,
    pub(crate) failed: Option<Box<Failed>>,
    /// Number of the last full listing that had the file.
    listing: u64,
}

impl Entry {
    fn new(source: Source, archived: bool) -> Self {
        Self { source, archived, listed: None, known: None, failed: None, listing: 0 }
    }
}

/// With fifty thousand files the table has room for twice as many, so the entry must stay small.
const _: () = assert!(size_of::<(Arc<str>, Entry)>() <= 96);

#[derive(Debug, Clone)]
pub(crate) struct Failed {
    /// Its state at that time.
    stat: FileStat,
    /// When its permissions or content last changed, Unix nanoseconds: `chmod` changes nothing else.
    changed_ns: Option<i64>,
    pub(crate) why: String,
    tries: u32,
    /// Listings to skip before it is retried without a change.
    listings: u32,
}

/// Maximum listings skipped between two retries: an hour, if no hints come.
const LISTINGS_MAX: u32 = 64;

impl Failed {
    /// Records that a file in this state could not be read; `before` is the previous failure.
    pub(crate) fn note(path: &str, stat: FileStat, why: &str, before: Option<&Self>) -> Self {
        let tries = before.map_or(0, |before| before.tries).saturating_add(1);
        let listings = 1_u32.checked_shl(tries).unwrap_or(LISTINGS_MAX).min(LISTINGS_MAX);
        Self { stat, changed_ns: changed_ns(path), why: why.to_owned(), tries, listings }
    }

    /// Whether to retry; called once per listing.
    fn is_due(&mut self, path: &str, listed: FileStat) -> bool {
        self.listings = self.listings.saturating_sub(1);
        self.listings == 0 || self.stat != listed || self.changed_ns != changed_ns(path)
    }
}

fn changed_ns(path: &str) -> Option<i64> {
    let found = std::fs::symlink_metadata(path).ok()?;
    Some(found.ctime().saturating_mul(1_000_000_000).saturating_add(found.ctime_nsec()))
}

/// Stored data of a file.
#[derive(Debug, Clone)]
pub(crate) struct KnownFile {
    pub(crate) file_id: FileId,
    pub(crate) stat: FileStat,
    pub(crate) cursor: Cursor,
    pub(crate) base: BaseState,
    pub(crate) thread_id: Option<Box<str>>,
    /// Thread of the transcript that this one continues.
    pub(crate) base_thread: Option<Box<str>>,
    /// State of the possible bases when the last search for the base failed.
    pub(crate) base_tried: u64,
    pub(crate) gone: bool,
    /// Whether its fold can be used: one of another version, or without a base that has appeared, is made again.
    pub(crate) is_readable: bool,
    pub(crate) counts: Counts,
}

/// Line counts of one file or of all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Lines that are not blank.
    pub lines: u64,
    /// Lines that are not one JSON object.
    pub malformed: u64,
    pub oversized: u64,
    /// Lines of a kind this version does not know.
    pub unknown: u64,
}

/// The files, shared by the worker and its reading threads. Locked for a lookup, never across a read or an await.
#[derive(Debug, Default)]
pub(crate) struct Catalogue {
    files: Mutex<Files>,
    revision: AtomicU64,
}

#[derive(Debug, Default)]
struct Files {
    entries: HashMap<Arc<str>, Entry>,
    /// Candidate files of a thread, by digest of the stored thread id and of the id in the file's name. Too many
    /// rather than too few: [`belongs`] decides.
    by_thread: BTreeSet<(u64, Arc<str>)>,
    gone: GoneFiles,
    /// Number of full listings so far.
    listings: u64,
}

/// Data kept about files that the store has marked gone.
#[derive(Debug, Clone, Copy, Default)]
struct GoneFiles {
    files: u64,
    counts: Counts,
}

/// A table filled to less than one in this many slots is shrunk.
const ROOM_MAX: usize = 4;

/// Files added per lock, so that a concurrent lookup waits only briefly.
const HELD_FILES: usize = 1_024;

/// The locked files. Any change raises the catalogue's revision.
pub(crate) struct Entries<'a> {
    held: MutexGuard<'a, Files>,
    revision: &'a AtomicU64,
}

impl Deref for Entries<'_> {
    type Target = HashMap<Arc<str>, Entry>;

    fn deref(&self) -> &Self::Target {
        &self.held.entries
    }
}

impl DerefMut for Entries<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.revision.fetch_add(1, Ordering::Relaxed);
        &mut self.held.entries
    }
}

impl Entries<'_> {
    /// Adds a file, and indexes it by thread.
    fn put(&mut self, path: &str, entry: Entry) {
        let path = match self.held.entries.get_key_value(path) {
            None => Arc::from(path),
            Some((path, before)) => {
                let (path, before) = (Arc::clone(path), threads(path, before));
                for thread in before {
                    self.held.by_thread.remove(&(thread, Arc::clone(&path)));
                }
                path
            }
        };
        for thread in threads(&path, &entry) {
            self.held.by_thread.insert((thread, Arc::clone(&path)));
        }
        self.insert(path, entry);
    }

    fn take(&mut self, path: &str) -> Option<Entry> {
        let (path, entry) = self.remove_entry(path)?;
        for thread in threads(&path, &entry) {
            self.held.by_thread.remove(&(thread, Arc::clone(&path)));
        }
        Some(entry)
    }

    /// Lines of deleted files.
    pub(crate) fn gone_counts(&self) -> Counts {
        self.held.gone.counts
    }

    /// Drops a deleted file.
    pub(crate) fn forget(&mut self, path: &str) {
        let Some(known) = self.take(path).and_then(|entry| entry.known) else { return };
        self.held.gone.files += 1;
        self.held.gone.counts.add(known.counts);
    }

    fn shrink(&mut self) {
        let entries = &mut self.held.entries;
        if entries.capacity() / ROOM_MAX > entries.len() {
            entries.shrink_to_fit();
        }
    }

    /// Files that belong to `thread_id`, sorted.
    fn of_thread(&self, thread_id: &str) -> Vec<(&Arc<str>, &Entry)> {
        let is_its = |(path, entry): &(&Arc<str>, &Entry)| belongs(path, entry, thread_id);
        if !is_uuid(thread_id) {
            // An id that no agent made may be anywhere in a name.
            let mut found: Vec<_> = self.iter().filter(is_its).collect();
            found.sort_unstable_by_key(|(path, _)| *path);
            return found;
        }
        let thread = digest(thread_id);
        let paths = self.held.by_thread.range((thread, Arc::from(""))..);
        let paths = paths.take_while(|(of, _)| *of == thread);
        paths.filter_map(|(_, path)| self.get_key_value(path)).filter(is_its).collect()
    }
}

impl Catalogue {
    pub(crate) fn lock(&self) -> Entries<'_> {
        let held = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        Entries { held, revision: &self.revision }
    }

    /// Increases with every change: values derived at an equal revision are current.
    pub(crate) fn revision(&self) -> u64 {
        self.revision.load(Ordering::Relaxed)
    }

    /// Marks a file whose saved fold cannot be used: the next listing has it read from its start.
    pub(crate) fn distrust(&self, path: &str) {
        if let Some(known) = self.lock().get_mut(path).and_then(|entry| entry.known.as_mut()) {
            known.is_readable = false;
        }
    }

    pub(crate) fn clear(&self) {
        *self.lock().held = Files::default();
    }

    /// Adds files from the store, except those already present, which may be newer.
    pub(crate) fn load(&self, rows: &[FileRow]) {
        let mut entries = self.lock();
        for row in rows {
            if entries.get(row.path.as_str()).is_some_and(|entry| entry.known.is_some()) {
                continue;
            }
            if row.gone_at_ms.is_some() {
                entries.held.gone.files += 1;
                entries.held.gone.counts.add(KnownFile::of_row(row).counts);
                continue;
            }
            let known = Some(Box::new(KnownFile::of_row(row)));
            entries.put(&row.path, Entry { known, ..Entry::new(row.source, row.archived) });
        }
    }

    /// Applies a full listing; files not in it are no longer listed.
    pub(crate) fn list(&self, listing: &Listing) {
        let number = {
            let mut entries = self.lock();
            entries.held.listings += 1;
            entries.held.listings
        };
        for files in listing.files.chunks(HELD_FILES) {
            let mut entries = self.lock();
            for file in files {
                Self::put(&mut entries, file, number);
            }
        }
        let mut entries = self.lock();
        let (mut strange, mut gone) = (Vec::new(), Vec::new());
        for (path, entry) in entries.iter_mut().filter(|(_, entry)| entry.listing != number) {
            entry.listed = None;
            match &entry.known {
                None => strange.push(Arc::clone(path)),
                // They reappeared and were deleted again before they were read.
                Some(known) if known.gone => gone.push(Arc::clone(path)),
                Some(_) => {}
            }
        }
        for path in strange {
            entries.take(&path);
        }
        for path in gone {
            entries.forget(&path);
        }
        entries.shrink();
    }

    /// Those of `paths` that are unknown here but may be in the store.
    pub(crate) fn strangers<'a>(&self, paths: impl Iterator<Item = &'a String>) -> Vec<String> {
        let entries = self.lock();
        if entries.held.gone.files == 0 {
            return Vec::new();
        }
        let is_known =
            |path: &&String| entries.get(path.as_str()).is_some_and(|entry| entry.known.is_some());
        paths.filter(|path| !is_known(path)).cloned().collect()
    }

    /// Restores the store's data on files that were gone.
    pub(crate) fn recall(&self, rows: Vec<FileRow>) {
        let mut entries = self.lock();
        for row in rows {
            let known = KnownFile::of_row(&row);
            entries.held.gone.files = entries.held.gone.files.saturating_sub(1);
            entries.held.gone.counts.take_away(known.counts);
            let before = entries.take(&row.path);
            let before = before.unwrap_or_else(|| Entry::new(row.source, row.archived));
            let known = Some(Box::new(known));
            entries.put(&row.path, Entry { source: row.source, known, ..before });
        }
    }

    /// Files that could not be read and are not due for a retry. Blocking.
    pub(crate) fn failed(&self) -> HashSet<String> {
        let mut entries = self.lock();
        let failed = entries.held.entries.iter_mut().filter_map(|(path, entry)| {
            let (failed, listed) = (entry.failed.as_mut()?, entry.listed?);
            (!failed.is_due(path, listed)).then(|| path.to_string())
        });
        failed.collect()
    }

    /// Why a file could not be read.
    pub(crate) fn why_failed(&self, path: &str) -> Option<String> {
        Some(self.lock().get(path)?.failed.as_ref()?.why.clone())
    }

    pub(crate) fn list_one(&self, file: &ListedFile) {
        let mut entries = self.lock();
        let number = entries.held.listings;
        Self::put(&mut entries, file, number);
    }

    fn put(entries: &mut Entries<'_>, file: &ListedFile, listing: u64) {
        if let Some(entry) = entries.get_mut(file.path.as_str()) {
            (entry.listed, entry.listing) = (Some(file.stat), listing);
            entry.archived = file.archived;
            return;
        }
        let entry = Entry::new(file.source, file.archived);
        entries.put(&file.path, Entry { listed: Some(file.stat), listing, ..entry });
    }

    /// Applies a commit; returns whether its lines are new. Two passes that begin at the same place may read the
    /// same lines.
    pub(crate) fn stored(&self, commit: &FileCommit, file_id: FileId) -> bool {
        let mut entries = self.lock();
        if let Some(old) = &commit.moved_from {
            entries.take(old);
        }
        let before = entries.get(commit.path.as_str());
        let known = before.and_then(|entry| entry.known.as_ref());
        let is_new = known.is_none_or(|known| known.cursor != commit.cursor);
        let listed = before.and_then(|entry| entry.listed).or(Some(commit.stat));
        let base_tried = known.map_or(0, |known| known.base_tried);
        let listing = before.map_or(entries.held.listings, |entry| entry.listing);
        let known = KnownFile {
            file_id,
            stat: commit.stat,
            cursor: commit.cursor,
            base: commit.base,
            thread_id: commit.thread_id.as_deref().map(Box::from),
            base_thread: base_thread(&commit.head),
            base_tried,
            gone: commit.gone_at_ms.is_some(),
            is_readable: true,
            counts: Counts::of(&commit.head),
        };
        let entry = Entry::new(commit.source, commit.archived);
        let known = Some(Box::new(known));
        entries.put(&commit.path, Entry { listed, known, listing, ..entry });
        is_new
    }

    /// Files that may hold the transcript of `thread_id`: those known to, and unread ones whose name says so.
    pub(crate) fn of_thread(&self, thread_id: &str) -> Vec<(PathBuf, Source)> {
        let entries = self.lock();
        let listed = entries.of_thread(thread_id).into_iter();
        let listed = listed.filter(|(_, entry)| entry.listed.is_some());
        listed.map(|(path, entry)| (PathBuf::from(&**path), entry.source)).collect()
    }

    /// The thread that a thread continues, whose lines its state is on top of.
    pub(crate) fn base_of_thread(&self, thread_id: &str) -> Option<String> {
        let entries = self.lock();
        let known =
            entries.of_thread(thread_id).into_iter().filter_map(|(_, it)| it.known.as_ref());
        let mut joined = known.filter(|known| known.base == BaseState::Joined);
        joined.find_map(|known| known.base_thread.as_deref().map(str::to_owned))
    }

    /// A number that changes when the files of `thread_id` other than `except` do; 0 if there are none. `except`
    /// is for a revert, which continues its own thread: its own growth adds no base.
    pub(crate) fn state_of_thread(&self, thread_id: &str, except: &str) -> u64 {
        let entries = self.lock();
        let others =
            entries.of_thread(thread_id).into_iter().filter(|(path, _)| ***path != *except);
        others
            .filter_map(|(path, entry)| Some((path, entry.listed?)))
            .map(|(path, stat)| xxhash_rust::xxh3::xxh3_64_with_seed(path.as_bytes(), stat.size))
            .fold(0, u64::wrapping_add)
    }
}

fn belongs(path: &str, entry: &Entry, thread_id: &str) -> bool {
    match entry.known.as_ref().and_then(|known| known.thread_id.as_deref()) {
        Some(known) => known == thread_id,
        None => name_of(path).contains(thread_id),
    }
}

fn base_thread(head: &ThreadHead) -> Option<Box<str>> {
    head.history_base.as_ref().map(|base| base.thread_id.as_str().into())
}

/// The threads to index a file under.
fn threads(path: &str, entry: &Entry) -> impl Iterator<Item = u64> + use<> {
    let known = entry.known.as_ref().and_then(|known| known.thread_id.as_deref());
    [thread_in_name(path), known].map(|thread_id| thread_id.map(digest)).into_iter().flatten()
}

fn digest(thread_id: &str) -> u64 {
    xxhash_rust::xxh3::xxh3_64(thread_id.as_bytes())
}

impl KnownFile {
    /// Whether the transcript it continues is missing.
    pub(crate) fn is_missing_base(&self) -> bool {
        self.base == BaseState::Missing && !self.gone
    }

    fn of_row(row: &FileRow) -> Self {
        Self {
            file_id: row.file_id,
            stat: row.stat,
            cursor: row.cursor,
            base: row.base,
            thread_id: row.thread_id.as_deref().map(Box::from),
            base_thread: row.head.as_ref().and_then(base_thread),
            base_tried: 0,
            gone: row.gone_at_ms.is_some(),
            is_readable: row.head.is_some() && row.fold_version == Fold::VERSION,
            counts: row.head.as_ref().map(Counts::of).unwrap_or_default(),
        }
    }
}

impl Counts {
    fn of(head: &ThreadHead) -> Self {
        Self {
            lines: head.lines,
            malformed: head.malformed,
            oversized: head.oversized,
            unknown: head.unknown,
        }
    }

    fn take_away(&mut self, other: Self) {
        self.lines = self.lines.saturating_sub(other.lines);
        self.malformed = self.malformed.saturating_sub(other.malformed);
        self.oversized = self.oversized.saturating_sub(other.oversized);
        self.unknown = self.unknown.saturating_sub(other.unknown);
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.lines += other.lines;
        self.malformed += other.malformed;
        self.oversized += other.oversized;
        self.unknown += other.unknown;
    }
}
