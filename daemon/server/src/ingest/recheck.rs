//! Checks, slowly, that the lines already read are unchanged: once a file stops growing, and in hourly rounds.
//!
//! # Theory of operation
//! When a long file grows, only its beginning and the bytes before the cursor are compared at once (`file_change`). A
//! change in its middle would leave stale items, whose handles answer `source_changed`. So a recheck is due for a
//! file that grew, [`super::limits::Limits::rest`] after its last growth; for a file changed in the last week,
//! once after the start (the previous daemon may have stopped too early); and at once for a file with a line that
//! no longer matches the stored one. Its lines are read again, [`STEP_BYTES`] at a time with a pause between, and
//! the chain of their digests compared. A file that differs is folded again.
//!
//! *Rounds.* A file rewritten with its old size and modification time looks unchanged. So each hour the next
//! [`ROUND_BYTES`] of all files are compared, short ones included, in the order of their path hashes, starting over at
//! the end. The hour of the start decides where the first round begins, so a daemon that restarts every day also
//! reaches all files.
//!
//! *Bounds.* A file is read once each time it stops growing and once per pass of the rounds, only while nothing else
//! is to be read, and at 32 MiB a second at most. If it grows, the recheck restarts. Nothing of this is stored.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use longhaul_store::{Cursor, FileStat};
use tokio::time::{Instant, sleep_until};
use xxhash_rust::xxh3::xxh3_64;

use super::file_change::{Compared, WHOLE_BYTES_MAX, Walk, compare};
use super::shared::Shared;
use crate::discovery::catalogue::{Entries, Entry, KnownFile};
use crate::transcript::Transcript;

/// Bytes compared per step.
const STEP_BYTES: u64 = 8 << 20;

/// Pause after each step.
const PAUSE: Duration = Duration::from_millis(250);

/// Maximum age of a file's last change for a recheck after a start.
const RECENT_NS: i64 = 7 * 86_400 * 1_000_000_000;

/// Maximum queued files; the rest are compared after the next start.
const WAITING_MAX: usize = 4_096;

/// Time between two rounds.
const ROUND_PERIOD: Duration = Duration::from_secs(3_600);

/// Bytes and files per round; a larger file is a round by itself.
///
/// # Source
/// Chosen: 1.6 GB a day compares most people's files within days, in two seconds of each hour.
const ROUND_BYTES: u64 = 64 << 20;
const ROUND_FILES: usize = 1_024;

/// Queued rechecks.
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
    /// The file state being compared; if it changes, the comparison restarts.
    of: Option<(FileStat, Cursor)>,
}

impl Rechecks {
    /// Queues a file for `due`, replacing an earlier entry.
    pub(crate) fn put(&mut self, path: String, due: Instant) {
        if self.waiting.len() < WAITING_MAX || self.waiting.contains_key(&path) {
            self.waiting.insert(path, Recheck { due, walk: Walk::default(), of: None });
        }
    }

    /// Queues the recently changed long files known at start.
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

    /// Waits until the next one is due.
    pub(crate) async fn due(&self) {
        match self.waiting.values().map(|recheck| recheck.due).chain(self.next_round).min() {
            Some(due) => sleep_until(due).await,
            None => std::future::pending().await,
        }
    }

    /// Queues the files of the next round.
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

    /// Compares part of the file that is due first; returns its path if it changed.
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

/// The files of the next round, after `reached`: path hash to path and bytes.
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

/// Whether only the file's ends are compared when it grows.
pub(crate) fn is_long(known: &KnownFile) -> bool {
    known.is_readable && !known.gone && known.cursor.offset > WHOLE_BYTES_MAX
}

/// `None` if there is nothing to compare: a file that changed on disk since is checked when it is read.
fn step(shared: &Shared, path: &str, recheck: &Recheck) -> Option<(Compared, (FileStat, Cursor))> {
    let (known, source) = {
        let entries = shared.catalogue.lock();
        let entry = entries.get(path)?;
        (entry.known.as_deref().cloned()?, entry.source)
    };
    let transcript = Transcript::open(source, Path::new(path)).ok()?;
    if transcript.stat != known.stat || transcript.compressed {
        return None;
    }
    let of = (known.stat, known.cursor);
    let walk = if recheck.of == Some(of) { recheck.walk } else { Walk::default() };
    let bound = shared.limits.line_bytes_max;
    let compared = compare(&transcript, &known.cursor, (walk, STEP_BYTES), bound).ok()?;
    Some((compared, of))
}
