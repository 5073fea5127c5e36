//! Why a job runs or waits, for `job/why`.

use std::sync::Arc;

use longhaul_core::job::{Job, JobKey, Kind, Why};
use longhaul_protocol::memory::SkipCount;

use super::error::ServiceError;
use super::memory::Scanner;
use crate::config::Live;
use crate::jobs::{JobError, Jobs};

#[derive(Debug)]
pub struct JobState {
    /// `None` if it was never requested.
    pub job: Option<(Job, Why)>,
    /// Whether external workers run its kind.
    pub is_outside: bool,
    /// For the extraction of a thread without pending work.
    pub due: Option<Due>,
}

/// Whether a thread would be extracted.
#[derive(Debug)]
pub enum Due {
    Yes,
    No(SkipCount),
}

pub struct JobStates {
    pub(super) jobs: Jobs,
    pub(super) scanner: Arc<Scanner>,
    pub(super) config: Live,
}

impl JobStates {
    /// Why a job runs or does not.
    ///
    /// # Errors
    /// No such job, unless its kind is requested without a client or it always exists.
    pub async fn why(&self, key: JobKey) -> Result<JobState, ServiceError> {
        let job = match self.jobs.why(&key).await {
            Ok(found) => Some(found),
            Err(JobError::NotFound(_)) if key.kind == Kind::Extract || key.is_standing() => None,
            Err(error) => return Err(error.into()),
        };
        let is_outside = self.config.now().jobs.outside.contains(&key.kind);
        let has_nothing_pending = matches!(&job, None | Some((_, Why::NothingPending)));
        let due = match key.kind == Kind::Extract && has_nothing_pending {
            true => {
                let skipped = self.scanner.why_not_extracted(key.subject).await?;
                Some(skipped.map_or(Due::Yes, Due::No))
            }
            false => None,
        };
        Ok(JobState { job, is_outside, due })
    }
}

#[cfg(test)]
mod tests;
