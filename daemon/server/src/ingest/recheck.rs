//! Are the lines that were read still there? Looked at slowly, when a file has come to rest.
//!
//! # Theory of operation
//! When a long file grows, only its beginning and the bytes before the cursor are compared at once (`identity`).
//! A change in its middle leaves the items stale, and their handles answer `source_changed`. So a file that grew
//! is due [`super::limits::Limits::rest`] after its last growth, a file of the last week once after the start (the daemon before
//! may have ended too soon), and one whose line was asked for and is not what it was, at once. Its lines
//! are read again, [`STEP_BYTES`] at a time with a pause between, and the chain of their digests compared. One that
//! differs is folded anew.
//!
//! *Bounds.* A file is read once for each time that it came to rest, never while there is something else to read,
//! and at 32 MiB a second at most. What grows meanwhile begins again. Nothing of this is stored.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use longhaul_store::{Cursor, FileStat};
use tokio::time::Instant;

use super::identity::{Compared, WHOLE_BYTES_MAX, Walk, compare};
use super::shared::Shared;
use crate::discovery::catalogue::{Entry, Known};
use crate::transcript::Transcript;

/// Bytes that are compared at a time.
const STEP_BYTES: u64 = 8 << 20;

/// Pause after each step.
const PAUSE: Duration = Duration::from_millis(250);

/// Age of the last change up to which a file is compared after a start.
const RECENT_NS: i64 = 7 * 86_400 * 1_000_000_000;

/// Files that wait; with more, the rest is compared after the next start.
const WAITING_MAX: usize = 4_096;

/// The files to be compared.
#[derive(Debug, Default)]
pub(crate) struct Rechecks {
    waiting: HashMap<String, Recheck>,
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
    }

    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.waiting.values().map(|recheck| recheck.due).min()
    }

    /// Compares some of the file that is due first; the path of one that changed.
    pub(crate) async fn step(&mut self, shared: &Arc<Shared>) -> Option<String> {
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
