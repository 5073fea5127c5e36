//! Steps of a compaction made by an agent: a hook announces it, and the gateway or plugin answers it.
//!
//! Both compact the same history within a second. Two records would mean two entries in every list and in the
//! bill, so the answer replaces the announced record under the same id, which the person may have seen.

use longhaul_core::compaction::rearm;
use longhaul_store::{CompactionRow, Store};
use serde::Deserialize;

use super::request::{AgentStep, Request, Subject};
use crate::service::error::ServiceError;
use crate::service::item_index::ItemIndex;

/// The step in a stored compaction.
#[derive(Deserialize)]
struct StoredStep {
    #[serde(default)]
    agent_step: Option<AgentStep>,
}

/// Finds the existing record of an agent's compaction.
pub struct AgentSteps {
    store: Store,
    index: ItemIndex,
}

impl AgentSteps {
    pub fn new(store: Store, index: ItemIndex) -> Self {
        Self { store, index }
    }

    /// The id of the record that this step replaces.
    ///
    /// # Errors
    /// It was already answered, and this step would only announce it: [`ServiceError::NotWorthwhile`].
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
            // The hook came late: the recorded answer is in the agent's history already.
            (AgentStep::Answered, AgentStep::Announced) => Err(ServiceError::NotWorthwhile {
                grown: 0,
                needed: rearm::growth_needed(row.tokens_before),
            }),
            // The agent asked again; each of its histories can be undone.
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

    /// Whether items were added to the thread's history since.
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
