//! The decision log: lists decisions, and repeats them to compare the results.

use std::sync::Arc;

use longhaul_core::policy::repository::RepositoryView;
use longhaul_core::policy::{Decision, Policy, Situation, decide};
use longhaul_core::signal::SignalEvent;
use longhaul_store::{DecisionRow, PolicyTable};

use super::record::DecisionRecord;
use crate::service::error::ServiceError;
use crate::service::snapshot::Snapshots;

#[derive(Debug, Clone)]
pub struct LogEntry {
    pub row: DecisionRow,
    pub decision: Decision,
    pub repository: Option<Box<RepositoryView>>,
}

#[derive(Debug, Clone)]
pub struct Explanation {
    pub row: DecisionRow,
    /// The decision made then.
    pub logged: Decision,
    /// The decision made now.
    pub decision: Decision,
    /// Its inputs.
    pub situation: Situation,
    pub policy: Policy,
}

pub struct DecisionLog {
    pub(in crate::service) policies: PolicyTable,
    pub(in crate::service) snapshots: Arc<Snapshots>,
}

impl DecisionLog {
    /// A logged decision with all its inputs, decided again.
    pub async fn explain(&self, decision_id: i64) -> Result<Explanation, ServiceError> {
        let not_found = || ServiceError::HandleNotFound(format!("decision {decision_id}"));
        let found = self.policies.decision_get(decision_id).await?;
        let (row, settings) = found.ok_or_else(not_found)?;
        let undecodable = ServiceError::undecodable("decision");
        let policy: Policy = serde_json::from_str(&settings).map_err(undecodable)?;
        let record: DecisionRecord = serde_json::from_str(&row.body).map_err(undecodable)?;
        let decision = decide(&policy, &record.situation);
        let DecisionRecord { situation, decision: logged } = record;
        Ok(Explanation { row, logged, decision, situation, policy })
    }

    /// Logged decisions, newest first, and the events in the thread, oldest first.
    pub async fn list(
        &self,
        thread_id: Option<&str>,
        policy: Option<&str>,
        before: Option<i64>,
        limit: u32,
    ) -> Result<(Vec<LogEntry>, Vec<SignalEvent>), ServiceError> {
        let mut events = Vec::new();
        if let Some(thread_id) = thread_id {
            let fold = self.snapshots.of(thread_id, None).await?.fold;
            events.extend(fold.signals().happened().copied());
        }
        let rows = self.policies.decisions(thread_id, policy, (before, limit)).await?;
        let decode = |row: DecisionRow| {
            let record: DecisionRecord =
                serde_json::from_str(&row.body).map_err(ServiceError::undecodable("decision"))?;
            let DecisionRecord { situation, decision } = record;
            Ok(LogEntry { row, decision, repository: situation.repository })
        };
        Ok((rows.into_iter().map(decode).collect::<Result<_, ServiceError>>()?, events))
    }
}
