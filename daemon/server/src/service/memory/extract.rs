//! The job `extract`: one thread, read from its transcript, into what a later thread can use.
//!
//! The transcript is read on a thread for blocking work; dropping the job stops it at the next line. What was
//! extracted is stored only if the stored one did not read further, so a run that was taken over, or that a
//! crash repeats, leaves what one run leaves.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use longhaul_core::job::{Failure, FailureKind, Job, Kind, Token};
use longhaul_core::memory::RolloutMemory;
use longhaul_core::memory::extract::{Extractor, ThreadRef};
use longhaul_core::memory::own::Own;
use longhaul_store::{ExtractionRow, FileRow, ThreadRow};

use super::EXTRACT_VERSION;
use super::project::project_of;
use crate::ingest::each_line;
use crate::jobs::Owner;
use crate::jobs::runner::Work;
use crate::service::{ServiceError, Services};

/// Extracts threads for jobs.
#[derive(Debug)]
pub struct ExtractWork(pub Arc<Services>);

impl Work for ExtractWork {
    const KIND: Kind = Kind::Extract;

    async fn run(&self, job: Job, token: Token) -> Result<(), Failure> {
        let failure = |kind, detail| Failure { kind, detail, retry_after_ms: None };
        let owner = Owner { key: job.key, token };
        let reads = self.0.unseen_reads(&owner.key.subject).await;
        match self.0.extract(&owner).await {
            Ok(()) => {
                self.0.count_reads(reads).await;
                Ok(())
            }
            Err(ServiceError::ThreadNotFound(_)) => {
                Err(failure(FailureKind::Permanent, "its transcript is gone".to_owned()))
            }
            Err(error) => Err(failure(FailureKind::Transient, error.to_string())),
        }
    }
}

impl Services {
    async fn extract(&self, owner: &Owner) -> Result<(), ServiceError> {
        let thread_id = owner.key.subject.as_str();
        let missing = || ServiceError::ThreadNotFound(thread_id.to_owned());
        let row = self.store.thread_get(thread_id).await?.ok_or_else(missing)?;
        if row.file.gone_at_ms.is_some() {
            return Err(missing());
        }
        let own = self.published_memory().await?.own.clone();
        let (next_seq, memory) = self.read_memory(row, own).await?;
        let extraction = ExtractionRow {
            thread_id: thread_id.to_owned(),
            next_seq,
            version: EXTRACT_VERSION,
            extracted_at_ms: self.deps.clock.now_ms(),
            uses: 0,
            last_used_ms: None,
            memory,
        };
        let fence = self.jobs.fence(owner);
        self.store.extraction_put(&extraction, Some(&fence)).await?;
        Ok(())
    }

    async fn read_memory(
        &self,
        row: ThreadRow,
        own: Own,
    ) -> Result<(u64, Option<RolloutMemory>), ServiceError> {
        let stop = StopOnDrop(Arc::default());
        let stopped = Arc::clone(&stop.0);
        let path = row.file.path.clone();
        let reading = tokio::task::spawn_blocking(move || {
            let file = row.file;
            let mut extractor = Extractor::new(thread_ref(row.thread_id, &file), own);
            let next_seq = each_line(&file, |place, line| {
                extractor.line(place, line);
                !stopped.load(Ordering::Relaxed)
            })?;
            Ok((next_seq, extractor.finish()))
        });
        reading.await?.map_err(|source| ServiceError::File { path, source })
    }
}

fn thread_ref(thread_id: String, file: &FileRow) -> ThreadRef {
    let cwd = file.head.as_ref().and_then(|head| head.cwd.as_deref());
    ThreadRef { thread_id, source: file.source, project: cwd.and_then(project_of) }
}

/// Stops the reading thread when the job that waits for it is given up.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
