//! What compactions cost in all, for `daemon/status`.

use std::sync::{Arc, Mutex, PoisonError};

use longhaul_core::compaction::agent_costs::AgentCosts;
use longhaul_store::{CompactionTotals, Database, Revision};

use crate::service::compaction::CompactionLog;
use crate::service::context::bill::Bills;
use crate::service::error::ServiceError;

/// Costs of our compactions and of those that agents made by themselves.
#[derive(Debug, Clone, Copy, Default)]
pub struct CompactionCosts {
    pub totals: CompactionTotals,
    pub agents: Option<AgentCosts>,
}

/// Reads the costs, again only after a write, so that most answers need no query.
pub struct CompactionCostReader {
    database: Database,
    log: Arc<CompactionLog>,
    bills: Arc<Bills>,
    known: Mutex<Option<(Revision, CompactionCosts)>>,
}

impl CompactionCostReader {
    pub fn new(database: Database, log: Arc<CompactionLog>, bills: Arc<Bills>) -> Self {
        Self { database, log, bills, known: Mutex::default() }
    }

    /// The costs now.
    pub async fn read(&self) -> Result<CompactionCosts, ServiceError> {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let revision = self.database.revision();
        if let Some((of, costs)) = *known()
            && revision == Some(of)
        {
            return Ok(costs);
        }
        let (totals, agents) = (self.log.totals().await?, self.bills.of_agents().await?);
        let costs = CompactionCosts { totals, agents };
        *known() = revision.map(|revision| (revision, costs));
        Ok(costs)
    }
}
