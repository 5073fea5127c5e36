//! File system notifications, as hints that something may have changed.
//!
//! A hint may be lost, duplicated or late; the periodic scan finds what hints missed. The inotify queue, the
//! number of watches and our own set are all bounded: if one overflows, all hints become a single "scan
//! everything".
//!
//! A watch follows the folder itself, not its path. So each listing first compares the watched folders with those that
//! now have their paths, and makes all watches anew if one differs, if a watched folder was moved or deleted, or after a
//! lost notification, since it may have been about a new folder. What could not be watched is tried again each time.
//!
//! For a root that does not exist yet, the nearest existing folder above it is watched; only the creation of the
//! next folder on the way counts there.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use notify::event::{MetadataKind, ModifyKind};
use notify::{
    Config, ErrorKind, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _,
};
use tokio::sync::Notify;

use super::scan::{Root, may_affect_transcript};

/// Maximum hinted paths not yet taken.
const HINTS_MAX: usize = 4_096;

/// Hinted paths, added by the watching thread and taken by the worker.
#[derive(Debug, Default)]
pub(crate) struct Hints {
    paths: Mutex<HashSet<PathBuf>>,
    scan: AtomicBool,
    /// Watches may be dead or missing.
    unwatched: AtomicBool,
    lost: AtomicBool,
    wake: Notify,
    stop: Arc<AtomicBool>,
    /// Files that could not be read: a change of their permissions is a hint, too.
    unreadable: Mutex<HashSet<PathBuf>>,
    /// Files with lines that no longer match the stored ones.
    doubted: Mutex<HashSet<PathBuf>>,
    awaited: Mutex<Awaited>,
    watched: Mutex<HashMap<PathBuf, WatchedFolder>>,
}

/// How a folder is watched, and its device and inode before that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct WatchedFolder {
    mode: RecursiveMode,
    identity: Option<(u64, u64)>,
}

impl WatchedFolder {
    fn now(folder: &Path, mode: RecursiveMode) -> Self {
        let identity = fs::metadata(folder).ok().map(|meta| (meta.dev(), meta.ino()));
        Self { mode, identity }
    }
}

/// Folders watched only for a missing root, with the names on the way to it.
type Awaited = HashMap<PathBuf, HashSet<OsString>>;

impl Hints {
    /// `stop` is set with each hint, so that a long pass yields.
    pub(crate) fn new(stop: Arc<AtomicBool>) -> Self {
        Self { stop, ..Self::default() }
    }

    /// Waits for a hint; returns at once if one came since the last call.
    pub(crate) async fn arrived(&self) {
        self.wake.notified().await;
    }

    pub(crate) fn take(&self) -> Vec<PathBuf> {
        std::mem::take(&mut *self.paths.lock().unwrap_or_else(PoisonError::into_inner))
            .into_iter()
            .collect()
    }

    /// Whether everything should be scanned; resets the flag.
    pub(crate) fn take_scan(&self) -> bool {
        self.scan.swap(false, Ordering::Relaxed)
    }

    /// Whether the archive may have texts that the store lost; resets the flag.
    pub(crate) fn take_lost(&self) -> bool {
        self.lost.swap(false, Ordering::Relaxed)
    }

    /// Requests a comparison of the archive's texts with the store.
    pub(crate) fn hint_lost(&self) {
        self.lost.store(true, Ordering::Relaxed);
        self.call();
    }

    /// Treats the next change of this file's permissions as a hint.
    pub(crate) fn watch_permissions(&self, path: &Path) {
        let mut unreadable = self.unreadable.lock().unwrap_or_else(PoisonError::into_inner);
        if unreadable.len() < HINTS_MAX {
            unreadable.insert(path.to_owned());
        }
    }

    /// Requests a comparison of this file's lines with the stored ones.
    pub(crate) fn doubt(&self, path: &Path) {
        let mut doubted = self.doubted.lock().unwrap_or_else(PoisonError::into_inner);
        if doubted.len() < HINTS_MAX && doubted.insert(path.to_owned()) {
            drop(doubted);
            self.call();
        }
    }

    pub(crate) fn take_doubted(&self) -> HashSet<PathBuf> {
        std::mem::take(&mut *self.doubted.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn is_unreadable(&self, path: &Path) -> bool {
        self.unreadable.lock().unwrap_or_else(PoisonError::into_inner).remove(path)
    }

    fn hint(&self, path: &Path) {
        let mut paths = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
        if paths.len() < HINTS_MAX {
            paths.insert(path.to_owned());
        } else {
            self.scan.store(true, Ordering::Relaxed);
        }
        drop(paths);
        self.call();
    }

    /// Requests a scan of everything.
    pub(crate) fn hint_all(&self) {
        self.scan.store(true, Ordering::Relaxed);
        self.call();
    }

    /// Whether a path leads to a missing root; `None` for a path in a folder that is watched itself.
    fn is_awaited(&self, path: &Path) -> Option<bool> {
        let awaited = self.awaited();
        let names = awaited.get(path.parent()?)?;
        Some(path.file_name().is_some_and(|name| names.contains(name)))
    }

    /// Handles a moved or deleted folder: watches of it and below it are dead, and a different folder may appear in its
    /// place.
    fn on_gone(&self, path: &Path) {
        if self.watched().keys().any(|folder| folder.starts_with(path)) {
            self.hint_unwatched();
        }
    }

    fn hint_unwatched(&self) {
        self.unwatched.store(true, Ordering::Relaxed);
        self.hint_all();
    }

    /// The failure to report for a folder that could not be watched. A folder deleted in the
    /// meantime is not a failure: the next scan watches what is there then.
    fn on_unwatched(&self, folder: &Path, error: &notify::Error) -> Option<Unwatched> {
        self.watched().remove(folder);
        if matches!(error.kind, ErrorKind::PathNotFound) {
            self.hint_all();
            return None;
        }
        Some((Some(folder.to_owned()), error.to_string()))
    }

    fn watched(&self) -> MutexGuard<'_, HashMap<PathBuf, WatchedFolder>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn awaited(&self) -> MutexGuard<'_, Awaited> {
        self.awaited.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn call(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.wake.notify_one();
    }

    pub(crate) fn on_event(&self, event: notify::Result<Event>) {
        match event {
            Err(error) => {
                tracing::debug!(%error, "file watch error");
                self.hint_unwatched();
            }
            Ok(event) if event.need_rescan() => self.hint_unwatched(),
            Ok(Event { kind: EventKind::Access(_), .. }) => {}
            // Our own reading opens files too, and SQLite, as root, sets the owner of a log it opens.
            Ok(Event { kind: METADATA, paths, .. }) => {
                paths
                    .iter()
                    .filter(|path| self.is_unreadable(path))
                    .for_each(|path| self.hint(path));
            }
            Ok(event) => {
                for path in &event.paths {
                    if event.kind.is_remove() || is_rename(&event.kind) {
                        self.on_gone(path);
                    }
                    if let Some(is_awaited) = self.is_awaited(path) {
                        if is_awaited && (event.kind.is_create() || is_rename(&event.kind)) {
                            self.hint_all();
                        }
                    } else if may_affect_transcript(path) {
                        self.hint(path);
                    } else if event.kind.is_create() || is_rename(&event.kind) {
                        // A new folder may hold files created before its watch.
                        self.hint_all();
                    }
                }
            }
        }
    }
}

/// A change of owner, permissions or times.
const METADATA: EventKind = EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any));

fn is_rename(kind: &EventKind) -> bool {
    matches!(kind, EventKind::Modify(ModifyKind::Name(_)))
}

/// A folder that could not be watched, or `None` for all, and the reason.
pub(crate) type Unwatched = (Option<PathBuf>, String);

pub(crate) struct Watch {
    watcher: notify::Result<RecommendedWatcher>,
    hints: Arc<Hints>,
}

impl Watch {
    /// Watches nothing yet.
    pub(crate) fn new(hints: &Arc<Hints>) -> Self {
        Self { watcher: open(hints), hints: Arc::clone(hints) }
    }

    /// Watches roots that have appeared since the last call, and the way to missing ones. Called before a listing,
    /// so that a change during it becomes a hint. Returns what could not be watched, which is not an error: it is scanned.
    pub(crate) fn cover(&mut self, roots: &[Root]) -> Vec<Unwatched> {
        if self.watcher.is_err() {
            self.watcher = open(&self.hints);
        }
        let watcher = match &mut self.watcher {
            Ok(watcher) => watcher,
            Err(error) => return vec![(None, error.to_string())],
        };
        wait_for_new_folders(watcher);
        let (mut wanted, awaited) = wanted(roots);
        self.hints.awaited().clone_from(&awaited);
        wanted.extend(awaited.keys().map(|folder| (folder.clone(), RecursiveMode::NonRecursive)));
        self.remove_outdated(&wanted);
        let mut failed = Vec::new();
        for (folder, mode) in &wanted {
            failed.extend(self.watch(folder, *mode));
        }
        let is_there = |folder: &Path, name: &OsString| folder.join(name).exists();
        if awaited.iter().any(|(folder, names)| names.iter().any(|name| is_there(folder, name))) {
            // It was created before the watch.
            self.hints.hint_all();
        }
        failed
    }

    /// Removes all watches if one of them is not, or may not be, as wanted: with that of a folder, the watcher removes those
    /// of the folders below it.
    fn remove_outdated(&mut self, wanted: &WantedFolders) {
        let is_any_dead = self.hints.unwatched.swap(false, Ordering::Relaxed);
        let mut watched = self.hints.watched();
        let is_current = |(folder, known): (&PathBuf, &WatchedFolder)| {
            let wanted = wanted.iter().find(|(wanted, _)| wanted == folder);
            wanted.is_some_and(|(_, mode)| WatchedFolder::now(folder, *mode) == *known)
        };
        if !is_any_dead && watched.iter().all(is_current) {
            return;
        }
        let outdated = std::mem::take(&mut *watched);
        // The watching thread, which must answer, takes it as well.
        drop(watched);
        for folder in outdated.keys() {
            self.unwatch(folder);
        }
    }

    fn unwatch(&mut self, folder: &Path) {
        if let Ok(watcher) = &mut self.watcher {
            // It may have been deleted just now, and its watch with it.
            watcher.unwatch(folder).ok();
        }
    }

    fn watch(&mut self, folder: &Path, mode: RecursiveMode) -> Option<Unwatched> {
        if self.hints.watched().contains_key(folder) {
            return None;
        }
        // Of a folder that could only be watched in part.
        self.unwatch(folder);
        let now = WatchedFolder::now(folder, mode);
        self.hints.watched().insert(folder.to_owned(), now);
        let watched = self.watcher.as_mut().ok()?.watch(folder, mode);
        watched.err().and_then(|error| self.hints.on_unwatched(folder, &error))
    }
}

/// Starts the watching thread.
fn open(hints: &Arc<Hints>) -> notify::Result<RecommendedWatcher> {
    let on = Arc::clone(hints);
    RecommendedWatcher::new(move |event| on.on_event(event), Config::default())
}

type WantedFolders = Vec<(PathBuf, RecursiveMode)>;

/// The folders of existing roots, and for each missing root the nearest existing folder above it.
fn wanted(roots: &[Root]) -> (WantedFolders, Awaited) {
    let tops = roots.iter().filter_map(|root| Some((root, root.resolved()?)));
    let mut wanted = WantedFolders::new();
    for (folder, mode) in tops.flat_map(|(root, top)| root.watched(&top)) {
        match wanted.iter_mut().find(|(known, _)| *known == folder) {
            Some((_, known)) if mode == RecursiveMode::Recursive => *known = mode,
            Some(_) => {}
            None => wanted.push((folder, mode)),
        }
    }
    let is_covered = |folder: &Path| {
        wanted.iter().any(|(top, mode)| match mode {
            RecursiveMode::Recursive => folder.starts_with(top),
            RecursiveMode::NonRecursive => folder == top,
        })
    };
    let mut awaited = Awaited::default();
    for (folder, name) in roots.iter().filter_map(next_on_the_way) {
        if !is_covered(&folder) {
            awaited.entry(folder).or_default().insert(name);
        }
    }
    (wanted, awaited)
}

/// Waits until each new folder that became a hint is watched. The watching thread first delivers the creation of a folder
/// and then watches it: a file written in between gives no hint, so it must exist before the listing. This message is
/// answered by the same thread, after that.
fn wait_for_new_folders(watcher: &mut RecommendedWatcher) {
    watcher.configure(Config::default()).ok();
}

/// For a missing root: the nearest existing folder above it, and the name to wait for there.
fn next_on_the_way(root: &Root) -> Option<(PathBuf, OsString)> {
    if root.resolved().is_some() {
        return None;
    }
    root.path.ancestors().find_map(|path| {
        let folder = fs::canonicalize(path.parent()?).ok()?;
        Some((folder, path.file_name()?.to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use longhaul_core::thread::Source;
    use notify::event::{AccessKind, CreateKind, DataChange};

    use super::*;

    #[test]
    fn content_changes_are_hints_but_reads_and_owner_changes_are_not() {
        for (kind, is_hint) in [
            (EventKind::Modify(ModifyKind::Data(DataChange::Any)), true),
            (METADATA, false),
            (EventKind::Access(AccessKind::Any), false),
        ] {
            let hints = Hints::default();
            let path = "/h/.codex/sessions/rollout-2026-01-01T00-00-00-a.jsonl";
            hints.on_event(Ok(Event::new(kind).add_path(path.into())));
            assert_eq!(!hints.take().is_empty(), is_hint, "{kind:?}");
            hints.watch_permissions(path.as_ref());
            hints.on_event(Ok(Event::new(METADATA).add_path(path.into())));
            assert!(!hints.take().is_empty(), "of an unreadable file");
        }
    }

    /// A watch of a home's sessions, whose thread is held after each notification until the sender is dropped.
    fn held_watch(
        home: &Path,
        hints: &Arc<Hints>,
    ) -> (Watch, Vec<Root>, PathBuf, mpsc::Sender<()>) {
        let sessions = home.canonicalize().unwrap().join("sessions");
        fs::create_dir(&sessions).unwrap();
        let roots = Root::of(Source::Codex, home);
        let (release, held) = mpsc::channel();
        let on = Arc::clone(hints);
        let handler = move |event| {
            on.on_event(event);
            held.recv().ok();
        };
        let watcher = RecommendedWatcher::new(handler, Config::default());
        let mut watch = Watch { watcher, hints: Arc::clone(hints) };
        assert!(watch.cover(&roots).is_empty());
        (watch, roots, sessions, release)
    }

    /// The watching thread is held between the creation of a folder and its watch.
    #[tokio::test]
    async fn a_listing_waits_for_the_watches_of_new_folders() {
        let (home, hints) = (tempfile::tempdir().unwrap(), Arc::new(Hints::default()));
        let (mut watch, roots, sessions, release) = held_watch(home.path(), &hints);
        let arrived = || tokio::time::timeout(Duration::from_secs(20), hints.arrived());
        fs::create_dir(sessions.join("2026")).unwrap();
        arrived().await.unwrap();
        assert!(hints.take_scan());

        let (covered, is_covered) = mpsc::channel();
        let covering = std::thread::spawn(move || {
            covered.send(watch.cover(&roots)).ok();
            watch
        });
        let early = is_covered.recv_timeout(Duration::from_millis(300));
        assert!(early.is_err(), "a file written now would give no hint");
        drop(release);
        let _watch = covering.join().unwrap();
        let file = sessions.join("2026/rollout-2026-01-01T00-00-00-a.jsonl");
        fs::write(&file, "{}\n").unwrap();
        arrived().await.unwrap();
        assert_eq!(hints.take(), [file]);
    }

    /// The watching thread is held until the kernel drops notifications, among them that of a new folder.
    #[tokio::test]
    async fn after_an_overflow_of_the_queue_new_folders_are_watched() {
        let (home, hints) = (tempfile::tempdir().unwrap(), Arc::new(Hints::default()));
        let (mut watch, roots, sessions, release) = held_watch(home.path(), &hints);
        let files = ["a.jsonl", "b.jsonl"].map(|name| sessions.join(name));
        files.iter().for_each(|file| fs::write(file, "{}\n").unwrap());
        let max = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
        // Of equal ones in a row the kernel keeps one.
        for file in files.iter().cycle().take(max.trim().parse().unwrap()) {
            drop(fs::File::open(file).unwrap());
        }
        fs::create_dir(sessions.join("2026")).unwrap();
        drop(release);
        let is_overflow = async {
            while !hints.take_scan() {
                hints.arrived().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), is_overflow).await.unwrap();
        assert!(watch.cover(&roots).is_empty());
        hints.take();
        let new = sessions.join("2026/rollout-2026-01-01T00-00-00-a.jsonl");
        fs::write(&new, "{}\n").unwrap();
        tokio::time::timeout(Duration::from_secs(20), hints.arrived()).await.unwrap();
        assert_eq!(hints.take(), [new]);
    }

    #[test]
    fn above_a_missing_root_only_the_next_folder_counts() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().canonicalize().unwrap();
        let hints = Arc::new(Hints::default());
        let mut watch = Watch::new(&hints);
        let roots = Root::of(Source::Codex, &home.path().join(".codex"));
        assert!(watch.cover(&roots).is_empty());
        let created = |name: &str| {
            let event = Event::new(EventKind::Create(CreateKind::Any));
            hints.on_event(Ok(event.add_path(folder.join(name))));
            (hints.take_scan(), hints.take())
        };
        for name in ["elsewhere", ".codex2", "rollout-2026-01-01T00-00-00-a.jsonl"] {
            assert_eq!(created(name), (false, Vec::new()), "{name}");
        }
        assert_eq!(created(".codex"), (true, Vec::new()));

        // Folders created before their watch.
        fs::create_dir_all(folder.join(".codex/sessions")).unwrap();
        watch.cover(&roots);
        hints.take_scan();
        assert!(created(".codex/sessions/2026").0, "an existing root");
        assert!(created(".codex/archived_sessions").0, "a missing root");
        assert!(!created(".codex/log").0);
    }
}
