//! The job `reindex`: the index of transcripts, made anew.
//!
//! Damage and other versions are answered by the indexer itself, at once. This is for a person who finds that
//! search lacks something: `longhaul job retry reindex/search`. The indexer empties the index and fills it, and
//! the job ends when all that is ingested can be found again. Search answers meanwhile, with what is there.
//!
//! *A crash* leaves an index that is partly filled, which the indexer goes on with at the next start, and a job
//! that is taken up: it empties the index once more.

use std::sync::Arc;

use longhaul_core::job::{Failure, Job, Kind, Token};

use super::full_text::FullText;
use crate::jobs::runner::Work;

/// Makes the index anew for jobs.
pub struct ReindexWork(pub Arc<FullText>);

impl Work for ReindexWork {
    const KIND: Kind = Kind::Reindex;

    async fn run(&self, _: Job, _: Token) -> Result<(), Failure> {
        self.0.progress.made_anew().await;
        Ok(())
    }
}
