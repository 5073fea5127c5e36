//! The steps of a compaction that an agent makes: its hook announces it, and whoever sits where it compacts answers.
//!
//! Both compact the same history within a second. Two records of it would be two lines of every list and of the bill, so
//! the answer takes the place of what was announced, under its id: the person was told of that one.

use longhaul_core::compaction::rearm;
use longhaul_store::{CompactionRow, Store};
use serde::Deserialize;

use super::request::{AgentStep, Request, Subject};
use crate::service::error::ServiceError;
use crate::service::item_index::ItemIndex;

/// What a stored compaction says of its step.
#[derive(Deserialize)]
struct StoredStep {
    #[serde(default)]
    agent_step: Option<AgentStep>,
}

/// Finds the record of an agent's compaction again.
pub struct AgentSteps {
    store: Store,
    index: ItemIndex,
}

impl AgentSteps {
    #[must_use]
    pub fn new(store: Store, index: ItemIndex) -> Self {
        Self { store, index }
    }

    /// The id of the record whose place this step takes.
    ///
    /// # Errors
    /// It was answered already, and this would only announce it: [`ServiceError::NotWorthwhile`].
    pub(super) async fn earlier(&self, request: &Request) -> Result<Option<String>, ServiceError> {
        let (Some(step), Subject::Thread { thread_id, as_of: None }) =
            (request.agent_step, &request.subject)
        else {
            return Ok(None);
        };
        let (newest, _) = self.store.compaction_list(Some(thread_id), 1, None).await?;
        let Some(row) = newest.into_iter().next().filter(|row| row.undone_at_ms.is_none()) else {
            return Ok(None);
        };
        let Some(earlier) = self.step_of(&row).await? else { return Ok(None) };
        if self.has_worked_since(thread_id, &row).await? {
            return Ok(None);
        }
        match (earlier, step) {
            (AgentStep::Announced, _) => Ok(Some(row.compaction_id)),
            // The hook was late: what stands in the agent's history is recorded.
            (AgentStep::Answered, AgentStep::Announced) => Err(ServiceError::NotWorthwhile {
                grown: 0,
                needed: rearm::growth_needed(row.tokens_before),
            }),
            // The agent asked again; both of its histories can be undone.
            (AgentStep::Answered, AgentStep::Answered) => Ok(None),
        }
    }

    async fn step_of(&self, row: &CompactionRow) -> Result<Option<AgentStep>, ServiceError> {
        let found = self.store.compaction_get(&row.compaction_id).await?;
        let Some((_, body)) = found else { return Ok(None) };
        let stored: StoredStep = serde_json::from_slice(&body.result)
            .map_err(|source| ServiceError::Undecodable { what: "compaction", source })?;
        Ok(stored.agent_step)
    }

    /// Whether anything was added to the thread's history since.
    async fn has_worked_since(
        &self,
        thread_id: &str,
        row: &CompactionRow,
    ) -> Result<bool, ServiceError> {
        let Some(thread) = self.store.thread_get(thread_id).await? else { return Ok(true) };
        let rows = self.index.rows(&thread.file, row.seq + 1, u64::MAX).await?;
        Ok(!rows.is_empty())
    }
}
