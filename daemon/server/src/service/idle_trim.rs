//! Idle trimming: releases caches and heap when the daemon is idle.
//!
//! # Theory of operation
//! *Owns* nothing; it asks the owners of caches to release them. While idle it waits for whatever begins work: a
//! request, an event (ingestion publishes one for each thread that grew), a job. While busy it looks every
//! `LOOK` at the processor time the process took since, which counts all work, whoever does it. When that is
//! next to nothing it releases what is cheap to have again, pages of databases and free heap, and waits; when
//! nothing begins for `FORGET`, it drops the cached folds too, which an agent that pauses between two turns
//! would have to wait for.
//!
//! An idle daemon thus wakes for nothing, and one that works releases nothing.

use std::sync::Arc;
use std::time::Duration;

use longhaul_store::Store;

use super::search::FullText;
use crate::archive::Archive;
use crate::events::EventHub;
use crate::ingest::Ingest;
use crate::jobs::Jobs;
use crate::link::Counters;
use crate::{heap, metering};

/// Time between two looks at what the process does.
const LOOK: Duration = Duration::from_secs(1);

/// Processor time between two looks that is no work: what it takes to look.
const NO_WORK: Duration = Duration::from_millis(10);

/// Time at rest after which folded threads go.
///
/// # Source
/// Chosen: longer than an agent's turn mostly takes; reading a fold again takes milliseconds.
const FORGET: Duration = Duration::from_secs(300);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TrimDepth {
    /// What is had again in microseconds.
    Caches,
    /// What has to be made again, too.
    Folds,
}

/// Something that works and rests.
trait Activity: Sync {
    fn begun(&self) -> impl Future<Output = ()> + Send;

    /// Processor time since the start.
    fn worked(&self) -> Duration;

    fn trim(&self, depth: TrimDepth) -> impl Future<Output = ()> + Send;
}

/// Lets a worker rest whenever it does nothing, until it is dropped.
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
        // Listened for before anything goes: what begins meanwhile is not missed.
        let mut begun = std::pin::pin!(worker.begun());
        tokio::select! {
            biased;
            () = &mut begun => continue,
            () = worker.trim(TrimDepth::Caches) => {}
        }
        tokio::select! {
            () = &mut begun => continue,
            () = tokio::time::sleep(forget) => worker.trim(TrimDepth::Folds).await,
        }
        begun.await;
    }
}

pub struct IdleTrim {
    store: Store,
    full_text: Arc<FullText>,
    archive: Arc<Archive>,
    ingest: Arc<Ingest>,
    jobs: Jobs,
    events: EventHub,
    counters: Arc<Counters>,
}

impl IdleTrim {
    #[must_use]
    pub fn new(
        (store, full_text, archive): (Store, Arc<FullText>, Arc<Archive>),
        ingest: Arc<Ingest>,
        jobs: Jobs,
        events: EventHub,
        counters: Arc<Counters>,
    ) -> Self {
        Self { store, full_text, archive, ingest, jobs, events, counters }
    }

    /// Lets caches go whenever nothing is done, until it is dropped.
    pub async fn keep(&self) {
        trim_when_idle(self, LOOK, FORGET).await;
    }
}

impl Activity for IdleTrim {
    async fn begun(&self) {
        let mut events = self.events.subscribe(Vec::new(), None);
        let mut jobs = self.jobs.watch();
        tokio::select! {
            () = self.counters.activity.begun() => {}
            _ = events.next() => {}
            _ = jobs.changed() => {}
        }
    }

    fn worked(&self) -> Duration {
        metering::processor_time()
    }

    async fn trim(&self, depth: TrimDepth) {
        if depth == TrimDepth::Folds {
            self.ingest.forget_folds();
        }
        let (words, archived) = (self.full_text.index(), self.archive.index());
        let released = async {
            self.store.release_memory().await?;
            if let Some(words) = words {
                words.release_memory().await?;
            }
            match archived {
                Some(archived) => archived.release_memory().await,
                None => Ok(()),
            }
        };
        if let Err(error) = released.await {
            tracing::debug!(%error, "a database keeps its pages");
        }
        // Whoever allocates meanwhile waits for it, so it is none of the runtime's own threads' work.
        if let Err(error) = tokio::task::spawn_blocking(heap::release).await {
            tracing::debug!(%error, "the heap was not given back");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use tokio::sync::{Notify, mpsc};

    use super::*;

    /// Works for as many looks as it is told, then does nothing.
    struct ScriptedActivity {
        looks_of_work: AtomicU64,
        worked_ms: AtomicU64,
        begun: Notify,
        went: mpsc::Sender<(TrimDepth, u64)>,
    }

    impl Activity for ScriptedActivity {
        async fn begun(&self) {
            self.begun.notified().await;
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
            self.went.send((depth, left)).await.unwrap();
        }
    }

    #[tokio::test]
    async fn it_trims_once_when_work_ends_and_again_only_after_more_work() {
        let (went, mut goes) = mpsc::channel(8);
        let [looks_of_work, worked_ms] = [5, 0].map(AtomicU64::new);
        let worker = ScriptedActivity { looks_of_work, worked_ms, begun: Notify::new(), went };
        let (look, forget) = (Duration::from_millis(1), Duration::from_millis(1));
        let script = async {
            assert_eq!(goes.recv().await, Some((TrimDepth::Caches, 0)), "not while it works");
            assert_eq!(goes.recv().await, Some((TrimDepth::Folds, 0)));
            assert!(goes.try_recv().is_err(), "once");
            worker.looks_of_work.store(3, Ordering::Relaxed);
            worker.begun.notify_one();
            assert_eq!(goes.recv().await, Some((TrimDepth::Caches, 0)));
        };
        tokio::select! {
            () = trim_when_idle(&worker, look, forget) => unreachable!("it never ends"),
            () = script => {}
        }
    }
}
