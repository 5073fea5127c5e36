//! What compactions cost in all, for `daemon/status`.

use std::sync::{Arc, Mutex, PoisonError};

use longhaul_protocol::daemon::CompactionsStatus;
use longhaul_store::{CompactionTable, Database, Revision};

use crate::service::context::bill::Bills;
use crate::service::error::ServiceError;

/// Reads the costs, again only after a write, so that most answers need no query.
pub struct CompactionCostReader {
    database: Database,
    compactions: CompactionTable,
    bills: Arc<Bills>,
    known: Mutex<Option<(Revision, CompactionsStatus)>>,
}

impl CompactionCostReader {
    pub fn new(database: Database, compactions: CompactionTable, bills: Arc<Bills>) -> Self {
        Self { database, compactions, bills, known: Mutex::default() }
    }

    /// The costs now.
    pub async fn read(&self) -> Result<CompactionsStatus, ServiceError> {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let revision = self.database.revision();
        if let Some((of, costs)) = *known()
            && revision == Some(of)
        {
            return Ok(costs);
        }
        let (totals, agents) = (self.compactions.totals().await?, self.bills.of_agents().await?);
        let costs = CompactionsStatus {
            compactions: totals.compactions,
            since: totals.since_ms,
            requests: totals.requests,
            tokens: totals.tokens_spent,
            duration_ms: totals.duration_ms,
            history_tokens: totals.tokens_before,
            agent_compactions: agents.map_or(0, |costs| costs.compactions),
            agent_tokens: agents.and_then(|costs| {
                Some(costs.input_tokens? + costs.output_tokens.unwrap_or_default())
            }),
            agent_duration_ms: agents.and_then(|costs| costs.duration_ms),
        };
        *known() = revision.map(|revision| (revision, costs));
        Ok(costs)
    }
}
