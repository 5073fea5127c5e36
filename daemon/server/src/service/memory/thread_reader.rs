//! Reads the transcript of one thread for its extraction.
//!
//! It is read on a thread for blocking work; dropping the job stops it at the next line.

use std::sync::Arc;

use longhaul_core::memory::Engine;
use longhaul_core::memory::extract::{Extractor, ThreadRef};
use longhaul_core::memory::input::{Collector, Question};
use longhaul_core::memory::read_log::ReadLog;
use longhaul_store::{ExtractionRow, ExtractionTable, ThreadRow, ThreadTable};
use tokio_util::sync::CancellationToken;

use super::project::project_of;
use super::publications::Publications;
use crate::archive::Archive;
use crate::clock::Clock;
use crate::service::error::ServiceError;
use crate::transcript::each_line;

/// Version of the extraction. A change extracts all threads again.
pub const EXTRACT_VERSION: u32 = 5;

/// What a thread contains for memory.
pub(super) struct ThreadReading {
    /// The extraction without a model.
    pub(super) extraction: ExtractionRow,
    /// The question for a model; `None` if no person speaks in the thread, or without a request.
    pub(super) question: Option<Question>,
    /// Paths of memory files that the thread read since its last extraction.
    pub(super) reads: Vec<String>,
}

pub struct ThreadReader {
    pub(in crate::service) threads: ThreadTable,
    pub(in crate::service) archive: Arc<Archive>,
    pub(in crate::service) publications: Arc<Publications>,
    pub(in crate::service) extractions: ExtractionTable,
    pub(in crate::service) clock: Clock,
}

impl ThreadReader {
    /// A thread whose transcript exists or is archived.
    pub(super) async fn thread(&self, thread_id: &str) -> Result<ThreadRow, ServiceError> {
        let missing = || ServiceError::ThreadNotFound(thread_id.to_owned());
        let row = self.threads.get(thread_id).await?.ok_or_else(missing)?;
        if row.file.gone_at_ms.is_none() {
            return Ok(row);
        }
        let index = self.archive.index().ok_or(ServiceError::IndexNotOpen)?;
        let generation = i64::try_from(row.file.cursor.generation).unwrap_or(i64::MAX);
        match index.transcripts.get(&row.file.path, generation).await? {
            Some(_) => Ok(row),
            None => Err(missing()),
        }
    }

    /// Reads the first `lines` of a thread. With `question_tokens`, the question for a model is collected, too.
    pub(super) async fn read(
        &self,
        row: ThreadRow,
        question_tokens: Option<u64>,
        lines: u64,
    ) -> Result<ThreadReading, ServiceError> {
        // Reads in lines of an earlier extraction were counted then.
        let counted = self.extractions.get(&row.thread_id).await?.map_or(0, |row| row.next_seq);
        let roots = self.publications.folder().roots();
        let own = self.publications.newest().await?.own.clone();
        let stop = CancellationToken::new();
        let _stops_when_dropped = stop.clone().drop_guard();
        let (path, thread_id) = (row.file.path.clone(), row.thread_id.clone());
        let archive = Arc::clone(&self.archive);
        let reading = tokio::task::spawn_blocking(move || {
            let file = row.file;
            let cwd = file.head.as_ref().and_then(|head| head.cwd.clone());
            let project = cwd.as_deref().and_then(project_of);
            let thread = ThreadRef { thread_id: row.thread_id, source: file.source, project };
            let mut reads = ReadLog::new(file.source, cwd, roots, counted);
            let mut collector =
                question_tokens.map(|tokens| Collector::new(thread.clone(), own.clone(), tokens));
            let mut extractor = Extractor::new(thread, own);
            let next_seq = each_line(&file, &archive, |place, line| {
                if place.line >= lines {
                    return false;
                }
                reads.line(place, line);
                extractor.line(place, line);
                if let Some(collector) = &mut collector {
                    collector.line(place, line);
                }
                !stop.is_cancelled()
            })?;
            let question = collector.and_then(Collector::finish);
            Ok((next_seq.min(lines), extractor.finish(), question, reads.into_paths()))
        });
        let read = reading.await?;
        let (next_seq, memory, question, reads) =
            read.map_err(|source| ServiceError::File { path, source })?;
        let extraction = ExtractionRow {
            thread_id,
            next_seq,
            version: EXTRACT_VERSION,
            extracted_at_ms: self.clock.now_ms(),
            uses: 0,
            last_used_ms: None,
            memory,
            engine: Engine::Deterministic,
            reason: None,
        };
        Ok(ThreadReading { extraction, question, reads })
    }
}
