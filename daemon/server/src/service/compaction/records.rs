//! Keeps the result of a compaction: under the id of its step, in the log, and in the thread's transcript.

use std::sync::Arc;

use super::agent_steps::AgentSteps;
use super::install::Installer;
use super::log::{CompactionLog, StoreAs};
use super::record::Compaction;
use crate::service::error::ServiceError;

pub struct Records {
    pub(in crate::service) agent_steps: AgentSteps,
    pub(in crate::service) log: Arc<CompactionLog>,
    pub(in crate::service) installer: Arc<Installer>,
}

impl Records {
    /// Stores a compaction; no other step of an agent starts meanwhile.
    pub(super) async fn keep(
        &self,
        compaction: &mut Compaction,
        store_as: StoreAs<'_>,
    ) -> Result<(), ServiceError> {
        let _recording = match store_as {
            StoreAs::OfStep(step) => Some(self.agent_steps.recording(step).await?),
            StoreAs::New | StoreAs::OfJob(_) => None,
        };
        self.log.keep(compaction, store_as).await
    }
}
