//! Finds the threads that are due for extraction, and why others are not.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use longhaul_core::memory::Engine;
use longhaul_core::memory::eligible::{Rules, Skip, ThreadFacts, eligible};
use longhaul_core::memory::place;
use longhaul_protocol::memory::SkipCount;
use longhaul_store::{
    Exclusion, ExtractionTable, NoteTable, ThreadCursor, ThreadFilter, ThreadRow, ThreadTable,
    Watermark,
};

use super::project::project_or_folder;
use super::thread_reader::EXTRACT_VERSION;
use crate::archive::{Archive, ArchivedFiles};
use crate::clock::Clock;
use crate::config::Live;
use crate::service::error::ServiceError;

const PAGE_THREADS: u32 = 256;

/// Maximum due threads of one scan. Threads that are not due do not count, so that old ones are reached.
const DUE_MAX: usize = 5_000;

#[derive(Debug, Clone, Default)]
pub struct RunRequest {
    pub thread_id: Option<String>,
    /// The requesting thread, which is skipped.
    pub current: Option<String>,
    /// Ignore the minimum idle time and the maximum age.
    pub takes_all: bool,
    /// Whether to wait for the end.
    pub waits: bool,
    /// A person requested it: threads extracted without their model are read again.
    pub is_manual: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DueThread {
    pub(super) thread_id: String,
    /// Index after its last line.
    pub(super) next_seq: u64,
}

#[derive(Debug, Default)]
pub(super) struct Scan {
    pub(super) threads: u64,
    /// Due threads, alternately the newest and the oldest.
    pub(super) due: Vec<DueThread>,
    /// Other threads, by reason.
    pub(super) skipped: BTreeMap<&'static str, SkipCount>,
    /// Milliseconds until the next busy thread is due.
    pub(super) next_ms: Option<i64>,
}

pub struct Scanner {
    pub(in crate::service) threads: ThreadTable,
    pub(in crate::service) archive: Arc<Archive>,
    pub(in crate::service) extractions: ExtractionTable,
    pub(in crate::service) notes: NoteTable,
    pub(in crate::service) config: Live,
    pub(in crate::service) clock: Clock,
}

impl Scanner {
    pub(super) async fn scan(&self, request: &RunRequest) -> Result<Scan, ServiceError> {
        let marks = self.extractions.watermarks().await?;
        let marks: HashMap<&str, &Watermark> =
            marks.iter().map(|mark| (mark.thread_id.as_str(), mark)).collect();
        let excluded = self.notes.exclusions().await?.into_iter().map(|known| match known {
            Exclusion::Project(project) => Exclusion::Project(place::project(&project)),
            known => known,
        });
        let excluded: HashSet<Exclusion> = excluded.collect();
        let mut rules = self.config.now().memory.rules();
        if request.is_manual && request.thread_id.is_some() {
            rules.min_idle_ms = 0;
        }
        if request.takes_all {
            (rules.min_idle_ms, rules.max_age_ms) = (0, i64::MAX);
        }
        let outside = match rules.excludes_outside {
            true => self.extractions.outside().await?.into_iter().collect(),
            false => HashSet::new(),
        };
        let engine = *self.config.now().memory.engine;
        let now_ms = self.clock.steady_ms();
        // Until the index is open, deleted threads wait.
        let archived = self.archive.files().await.unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot list the archive for memory");
            None
        });
        let eligibility =
            Eligibility { request, rules, engine, marks, excluded, outside, archived, now_ms };
        let mut scan = Scan::default();
        if let Some(thread_id) = &request.thread_id {
            let row = self.threads.get(thread_id).await?;
            let row = row.ok_or_else(|| ServiceError::ThreadNotFound(thread_id.clone()))?;
            eligibility.add(&row, &mut scan);
            return Ok(scan);
        }
        let mut after: Option<ThreadCursor> = None;
        loop {
            let filter = ThreadFilter::default();
            let page = self.threads.list(&filter, PAGE_THREADS, after.as_ref()).await?;
            page.0.iter().for_each(|row| eligibility.add(row, &mut scan));
            after = page.1;
            if after.is_none() {
                break;
            }
        }
        scan.due = newest_and_oldest_alternately(scan.due);
        scan.due.truncate(DUE_MAX);
        Ok(scan)
    }

    /// Why a thread is not extracted now; `None` if it is due.
    pub async fn why_not_extracted(
        &self,
        thread_id: String,
    ) -> Result<Option<SkipCount>, ServiceError> {
        let request = RunRequest { thread_id: Some(thread_id), ..RunRequest::default() };
        let mut scan = self.scan(&request).await?;
        Ok(scan.skipped.pop_first().map(|(_, skipped)| skipped))
    }
}

/// The conditions to check threads against.
struct Eligibility<'a> {
    request: &'a RunRequest,
    rules: Rules,
    engine: Engine,
    marks: HashMap<&'a str, &'a Watermark>,
    excluded: HashSet<Exclusion>,
    /// Threads that used text from outside, if such are skipped.
    outside: HashSet<String>,
    archived: Option<ArchivedFiles>,
    now_ms: i64,
}

impl Eligibility<'_> {
    fn add(&self, row: &ThreadRow, scan: &mut Scan) {
        scan.threads += 1;
        let mut skip = |reason: &'static str, text: String| {
            let skipped = scan.skipped.entry(reason).or_insert_with(|| SkipCount {
                reason: reason.to_owned(),
                text,
                threads: 0,
            });
            skipped.threads += 1;
        };
        let file = &row.file;
        let is_archived =
            |archived: &ArchivedFiles| archived.has(&file.path, file.cursor.generation);
        if file.gone_at_ms.is_some() && !self.archived.as_ref().is_some_and(is_archived) {
            skip("gone", "its transcript is gone, and not in the archive".to_owned());
            return;
        }
        let Some(facts) = self.facts(row) else {
            skip("busy", "it is being read".to_owned());
            return;
        };
        match eligible(&facts, &self.rules, self.now_ms) {
            Ok(()) => scan.due.push(DueThread {
                thread_id: row.thread_id.clone(),
                next_seq: row.file.cursor.next_seq,
            }),
            Err(reason) => {
                if let Skip::Busy { remaining_ms } = reason {
                    scan.next_ms =
                        Some(scan.next_ms.map_or(remaining_ms, |next| next.min(remaining_ms)));
                }
                skip(reason.into_str(), reason.to_string());
            }
        }
    }

    fn facts(&self, row: &ThreadRow) -> Option<ThreadFacts> {
        let head = row.file.head.as_ref()?;
        let mark = self.marks.get(row.thread_id.as_str());
        let extracted = mark.filter(|mark| mark.version == EXTRACT_VERSION && self.is_read(mark));
        Some(ThreadFacts {
            kind: head.kind,
            is_current: self.request.current.as_deref() == Some(row.thread_id.as_str()),
            is_ephemeral: head.is_ephemeral,
            is_excluded: self.is_excluded(row, head.cwd.as_deref()),
            reached_outside: self.outside.contains(&row.thread_id),
            updated_at_ms: head.updated_at_ms,
            items: head.items,
            // The first request is the title. Only whether there is one matters here.
            requests: u64::from(head.title.is_some()),
            next_seq: row.file.cursor.next_seq,
            extracted_seq: extracted.map(|mark| mark.next_seq),
            is_outdated: mark.is_some() && extracted.is_none(),
        })
    }

    /// Whether a thread was read by the configured engine. One that was extracted without its model counts as read,
    /// because its job schedules the next try.
    fn is_read(&self, mark: &Watermark) -> bool {
        match (self.engine, mark.engine) {
            (Engine::Deterministic, _) | (Engine::Model, Engine::Model) => true,
            (Engine::Model, Engine::Deterministic) => {
                mark.reason.is_some() && !self.request.is_manual
            }
        }
    }

    fn is_excluded(&self, row: &ThreadRow, cwd: Option<&str>) -> bool {
        if self.excluded.contains(&Exclusion::Thread(row.thread_id.clone())) {
            return true;
        }
        let projects = self.excluded.iter().any(|known| matches!(known, Exclusion::Project(_)));
        let Some(cwd) = cwd.filter(|_| projects) else { return false };
        let project = project_or_folder(cwd);
        self.excluded.contains(&Exclusion::Project(project))
    }
}

/// Takes alternately from the front and the back: threads arrive newest first, and the oldest must not starve.
fn newest_and_oldest_alternately(due: Vec<DueThread>) -> Vec<DueThread> {
    let mut rest = std::collections::VecDeque::from(due);
    let mut ordered = Vec::with_capacity(rest.len());
    while let Some(newest) = rest.pop_front() {
        ordered.push(newest);
        ordered.extend(rest.pop_back());
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_thread_is_next_to_the_newest() {
        let due = |next_seq| DueThread { thread_id: String::new(), next_seq };
        let seqs = |due: Vec<DueThread>| due.iter().map(|due| due.next_seq).collect::<Vec<_>>();
        assert_eq!(seqs(newest_and_oldest_alternately((0..5).map(due).collect())), [0, 4, 1, 3, 2]);
        assert_eq!(seqs(newest_and_oldest_alternately((0..1).map(due).collect())), [0]);
        assert_eq!(seqs(newest_and_oldest_alternately(Vec::new())), [] as [u64; 0]);
        // If one scan cannot take all, it takes some of the oldest.
        let many = DUE_MAX as u64 + 10;
        let mut taken = newest_and_oldest_alternately((0..many).map(due).collect());
        taken.truncate(DUE_MAX);
        assert!(seqs(taken).contains(&(many - 1)));
    }
}
