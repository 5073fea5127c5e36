//! Are the lines that were read still there? Looked at slowly, when a file has come to rest, and now and then.
//!
//! # Theory of operation
//! When a long file grows, only its beginning and the bytes before the cursor are compared at once (`identity`).
//! A change in its middle leaves the items stale, and their handles answer `source_changed`. So a file that grew
//! is due [`super::limits::Limits::rest`] after its last growth, a file of the last week once after the start (the daemon before
//! may have ended too soon), and one whose line was asked for and is not what it was, at once. Its lines
//! are read again, [`STEP_BYTES`] at a time with a pause between, and the chain of their digests compared. One that
//! differs is folded anew.
//!
//! *Rounds.* A file that was rewritten with its old size and time of change looks as it did. So each hour the next
//! [`ROUND_BYTES`] of all files are compared, short ones too, in an order of their own that begins anew where it ends. The
//! hour of the start says where it begins: a daemon that is restarted every day comes to all of them as well.
//!
//! *Bounds.* A file is read once for each time that it came to rest and once a round, never while there is something
//! else to read, and at 32 MiB a second at most. What grows meanwhile begins again. Nothing of this is stored.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use longhaul_store::{Cursor, FileStat};
use tokio::time::Instant;
use xxhash_rust::xxh3::xxh3_64;

use super::identity::{Compared, WHOLE_BYTES_MAX, Walk, compare};
use super::shared::Shared;
use crate::discovery::catalogue::{Entries, Entry, Known};
use crate::transcript::Transcript;

/// Bytes that are compared at a time.
const STEP_BYTES: u64 = 8 << 20;

/// Pause after each step.
const PAUSE: Duration = Duration::from_millis(250);

/// Age of the last change up to which a file is compared after a start.
const RECENT_NS: i64 = 7 * 86_400 * 1_000_000_000;

/// Files that wait; with more, the rest is compared after the next start.
const WAITING_MAX: usize = 4_096;

/// Time between two rounds.
const ROUND_PERIOD: Duration = Duration::from_secs(3_600);

/// Bytes and files of a round; a file that is larger is a round of its own.
///
/// # Source
/// Chosen: 1.6 GB a day, so that most people's files are all compared within some days, in two seconds of an hour.
const ROUND_BYTES: u64 = 64 << 20;
const ROUND_FILES: usize = 1_024;

/// The files to be compared.
#[derive(Debug, Default)]
pub(crate) struct Rechecks {
    waiting: HashMap<String, Recheck>,
    next_round: Option<Instant>,
    /// Digest of the last path of the round before.
    reached: u64,
}

#[derive(Debug)]
struct Recheck {
    due: Instant,
    walk: Walk,
    /// What is compared; another state begins anew.
    of: Option<(FileStat, Cursor)>,
}

impl Rechecks {
    /// Has a file compared at `due`, or later where it is put off.
    pub(crate) fn put(&mut self, path: String, due: Instant) {
        if self.waiting.len() < WAITING_MAX || self.waiting.contains_key(&path) {
            self.waiting.insert(path, Recheck { due, walk: Walk::default(), of: None });
        }
    }

    /// Takes what is known at the start.
    pub(crate) fn begin(&mut self, shared: &Shared, due: Instant) {
        let since_ns = (shared.now_ms)().saturating_mul(1_000_000).saturating_sub(RECENT_NS);
        let entries = shared.catalogue.lock();
        let is_recent = |entry: &Entry| {
            let known = entry.known.as_deref();
            known.is_some_and(|known| is_long(known) && known.stat.mtime_ns > since_ns)
        };
        for (path, _) in entries.iter().filter(|(_, entry)| is_recent(entry)) {
            self.put(path.to_string(), due);
        }
        drop(entries);
        let hour = (shared.now_ms)() / 3_600_000;
        self.reached = xxh3_64(&hour.to_be_bytes());
        self.next_round = Some(Instant::now() + ROUND_PERIOD);
    }

    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.waiting.values().map(|recheck| recheck.due).chain(self.next_round).min()
    }

    /// Has the next files compared.
    fn begin_round(&mut self, shared: &Shared) {
        let now = Instant::now();
        self.next_round = Some(now + ROUND_PERIOD);
        let mut round = next_files(&shared.catalogue.lock(), self.reached);
        if round.is_empty() {
            round = next_files(&shared.catalogue.lock(), 0);
        }
        self.reached = round.last_key_value().map_or(0, |(key, _)| *key);
        for (path, _) in round.into_values() {
            if !self.waiting.contains_key(path.as_ref()) {
                self.put(path.to_string(), now);
            }
        }
    }

    /// Compares some of the file that is due first; the path of one that changed.
    pub(crate) async fn step(&mut self, shared: &Arc<Shared>) -> Option<String> {
        if self.next_round.is_some_and(|due| due <= Instant::now()) {
            self.begin_round(shared);
        }
        let path = self.waiting.iter().min_by_key(|(_, recheck)| recheck.due)?.0.clone();
        let recheck = self.waiting.remove(&path)?;
        let (shared, read) = (Arc::clone(shared), path.clone());
        let compared = tokio::task::spawn_blocking(move || step(&shared, &read, &recheck)).await;
        match compared.ok().flatten()? {
            (Compared::Same, _) => None,
            (Compared::Changed, _) => Some(path),
            (Compared::More(walk), of) => {
                self.waiting
                    .insert(path, Recheck { due: Instant::now() + PAUSE, walk, of: Some(of) });
                None
            }
        }
    }
}

/// The files behind `reached` that make a round, with their bytes, by the digests of their paths.
fn next_files(entries: &Entries<'_>, reached: u64) -> BTreeMap<u64, (Arc<str>, u64)> {
    let (mut round, mut held) = (BTreeMap::new(), 0);
    for (path, entry) in entries.iter() {
        let key = xxh3_64(path.as_bytes());
        let known = entry.known.as_deref().filter(|known| known.is_readable && !known.gone);
        let Some(known) = known.filter(|_| key > reached) else { continue };
        let bytes = known.cursor.offset;
        if let Some((_, before)) = round.insert(key, (Arc::clone(path), bytes)) {
            held -= before;
        }
        held += bytes;
        while round.len() > ROUND_FILES || (held > ROUND_BYTES && round.len() > 1) {
            held -= round.pop_last().map_or(0, |(_, (_, bytes))| bytes);
        }
    }
    round
}

/// Whether only the ends of the file are compared when it grows.
pub(crate) fn is_long(known: &Known) -> bool {
    known.is_readable && !known.gone && known.cursor.offset > WHOLE_BYTES_MAX
}

/// `None` where there is nothing to compare: what changed on the disk since is judged when it is read.
fn step(shared: &Shared, path: &str, recheck: &Recheck) -> Option<(Compared, (FileStat, Cursor))> {
    let (known, source) = {
        let entries = shared.catalogue.lock();
        let entry = entries.get(path)?;
        (entry.known.as_deref().cloned()?, entry.source)
    };
    let transcript = Transcript::open(source, Path::new(path)).ok()?;
    if transcript.stat != known.stat || transcript.compressed || transcript.is_document() {
        return None;
    }
    let of = (known.stat, known.cursor);
    let walk = if recheck.of == Some(of) { recheck.walk } else { Walk::default() };
    let bound = shared.limits.line_bytes_max;
    let compared = compare(&transcript, &known.cursor, (walk, STEP_BYTES), bound).ok()?;
    Some((compared, of))
}
