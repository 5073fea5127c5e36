//! The job `reindex`: rebuilds the index of transcripts.
//!
//! The indexer itself handles damage and other versions at once. This job is for a person who finds that search
//! misses something: `longhaul job retry reindex/search`. The indexer empties and refills the index, and the job
//! ends when everything ingested can be found. Meanwhile search answers from the partial index.
//!
//! *A crash* leaves a partly filled index, which the indexer continues at the next start, and a job that runs
//! again: it empties the index once more.

use longhaul_core::job::{Failure, Job, Kind, Token};

use super::full_text::FullText;
use crate::jobs::runner::Work;

impl Work for FullText {
    const KIND: Kind = Kind::Reindex;

    async fn run(&self, _: Job, _: Token) -> Result<(), Failure> {
        self.progress.rebuild().await;
        Ok(())
    }
}
