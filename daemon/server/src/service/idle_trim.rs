//! Idle trimming: releases caches and heap when the daemon is idle.
//!
//! # Theory of operation
//! *Owns* nothing; it asks the owners of caches to release them. While idle it waits for work to start: a request,
//! an event (ingestion publishes one for each thread that grew), a job. While busy it checks every `LOOK` how much
//! processor time the process used, which covers all work. When that is close to zero it releases what is cheap to
//! reload, database pages and free heap, and waits; if no work starts within `FORGET`, it also drops the cached
//! folds, which would delay an agent that pauses between two turns.
//!
//! So this costs an idle daemon no wakeups, and a busy one releases nothing.

use std::sync::Arc;
use std::time::Duration;

use longhaul_store::Database;

use super::search::FullText;
use crate::archive::Archive;
use crate::events::EventHub;
use crate::ingest::Ingest;
use crate::jobs::Jobs;
use crate::link::Counters;
use crate::{heap, metering};

/// Interval between checks of the processor time.
const LOOK: Duration = Duration::from_secs(1);

/// Processor time per interval that counts as idle: the cost of the check itself.
const NO_WORK: Duration = Duration::from_millis(10);

/// Idle time before cached folds are dropped.
///
/// # Source
/// Chosen: longer than most turns of an agent; reloading a fold takes milliseconds.
const FORGET: Duration = Duration::from_secs(300);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TrimDepth {
    /// Data that is reloaded in microseconds.
    Caches,
    /// Also data that must be recomputed.
    Folds,
}

/// A worker that is busy or idle.
trait Activity: Sync {
    fn work_started(&self) -> impl Future<Output = ()> + Send;

    /// Processor time since the start.
    fn worked(&self) -> Duration;

    fn trim(&self, depth: TrimDepth) -> impl Future<Output = ()> + Send;
}

/// Trims whenever the worker is idle, until this future is dropped.
async fn trim_when_idle(worker: &impl Activity, look: Duration, forget: Duration) {
    loop {
        let mut worked = worker.worked();
        loop {
            tokio::time::sleep(look).await;
            let now = worker.worked();
            if now.saturating_sub(worked) <= NO_WORK {
                break;
            }
            worked = now;
        }
        // Subscribe before trimming, so that work that starts in between is not missed.
        let mut work_started = std::pin::pin!(worker.work_started());
        tokio::select! {
            biased;
            () = &mut work_started => continue,
            () = worker.trim(TrimDepth::Caches) => {}
        }
        tokio::select! {
            () = &mut work_started => continue,
            () = tokio::time::sleep(forget) => worker.trim(TrimDepth::Folds).await,
        }
        work_started.await;
    }
}

/// Trims the caches while the daemon is idle.
pub struct IdleTrim {
    pub(super) caches: Caches,
    pub(super) work: WorkSigns,
}

/// What the daemon caches.
pub struct Caches {
    pub(super) database: Database,
    pub(super) full_text: Arc<FullText>,
    pub(super) archive: Arc<Archive>,
    pub(super) ingest: Arc<Ingest>,
}

/// What shows that work starts.
pub struct WorkSigns {
    pub(super) jobs: Jobs,
    pub(super) events: EventHub,
    pub(super) counters: Arc<Counters>,
}

impl IdleTrim {
    /// Trims caches whenever the daemon is idle, until this future is dropped.
    pub async fn keep(&self) {
        trim_when_idle(self, LOOK, FORGET).await;
    }
}

impl Activity for IdleTrim {
    async fn work_started(&self) {
        let WorkSigns { jobs, events, counters } = &self.work;
        let mut events = events.subscribe(Vec::new(), None);
        let mut jobs = jobs.watch();
        tokio::select! {
            () = counters.activity.work_started() => {}
            _ = events.next() => {}
            _ = jobs.changed() => {}
        }
    }

    fn worked(&self) -> Duration {
        metering::processor_time()
    }

    async fn trim(&self, depth: TrimDepth) {
        let Caches { database, full_text, archive, ingest } = &self.caches;
        if depth == TrimDepth::Folds {
            ingest.forget_folds();
        }
        let (words, archived) = (full_text.index(), archive.index());
        let released = async {
            database.release_memory().await?;
            if let Some(words) = words {
                words.release_memory().await?;
            }
            match archived {
                Some(archived) => archived.release_memory().await,
                None => Ok(()),
            }
        };
        if let Err(error) = released.await {
            tracing::debug!(%error, "cannot release a database's pages");
        }
        // Trimming blocks allocators, so run it off the runtime threads.
        if let Err(error) = tokio::task::spawn_blocking(heap::release).await {
            tracing::debug!(%error, "cannot release unused heap");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use tokio::sync::{Notify, mpsc};

    use super::*;

    /// Is busy for the given number of checks, then idle.
    struct ScriptedActivity {
        looks_of_work: AtomicU64,
        worked_ms: AtomicU64,
        work_started: Notify,
        trims: mpsc::Sender<(TrimDepth, u64)>,
    }

    impl Activity for ScriptedActivity {
        async fn work_started(&self) {
            self.work_started.notified().await;
        }

        fn worked(&self) -> Duration {
            let left = self.looks_of_work.load(Ordering::Relaxed);
            if left > 0 {
                self.looks_of_work.store(left - 1, Ordering::Relaxed);
                self.worked_ms.fetch_add(100, Ordering::Relaxed);
            }
            Duration::from_millis(self.worked_ms.load(Ordering::Relaxed))
        }

        async fn trim(&self, depth: TrimDepth) {
            let left = self.looks_of_work.load(Ordering::Relaxed);
            self.trims.send((depth, left)).await.unwrap();
        }
    }

    #[tokio::test]
    async fn it_trims_once_when_idle_and_again_only_after_more_work() {
        let (trims, mut trimmed) = mpsc::channel(8);
        let [looks_of_work, worked_ms] = [5, 0].map(AtomicU64::new);
        let worker =
            ScriptedActivity { looks_of_work, worked_ms, work_started: Notify::new(), trims };
        let (look, forget) = (Duration::from_millis(1), Duration::from_millis(1));
        let script = async {
            assert_eq!(trimmed.recv().await, Some((TrimDepth::Caches, 0)), "only once idle");
            assert_eq!(trimmed.recv().await, Some((TrimDepth::Folds, 0)));
            assert!(trimmed.try_recv().is_err(), "once");
            worker.looks_of_work.store(3, Ordering::Relaxed);
            worker.work_started.notify_one();
            assert_eq!(trimmed.recv().await, Some((TrimDepth::Caches, 0)));
        };
        tokio::select! {
            () = trim_when_idle(&worker, look, forget) => unreachable!("it never ends"),
            () = script => {}
        }
    }
}
