//! Stores, lists and finds compactions.

use std::sync::Arc;

use longhaul_store::{
    CompactionCursor, CompactionRow, CompactionTable, DecisionEnd, PolicyTable, StoreError,
};

use super::agent_steps::RunningStep;
use super::record::{Compaction, Notice};
use crate::jobs::{Jobs, Owner};
use crate::service::error::ServiceError;
use crate::service::retention::PruneRequests;

#[derive(Clone, Copy)]
pub(super) enum StoreAs<'a> {
    New,
    /// Under the id of its step, whose announced record it may replace.
    OfStep(&'a RunningStep),
    /// Only while its job is owned.
    OfJob(&'a Owner),
}

impl StoreAs<'_> {
    pub(super) fn replaces(self) -> bool {
        matches!(self, Self::OfStep(step) if step.replaces)
    }
}

pub struct CompactionLog {
    pub(in crate::service) compactions: CompactionTable,
    pub(in crate::service) policies: PolicyTable,
    pub(in crate::service) jobs: Jobs,
    pub(in crate::service) pruning: Arc<PruneRequests>,
}

impl CompactionLog {
    /// Stores a compaction, or adds a warning that it could not be stored.
    ///
    /// A full window cannot wait for disk space, and a thread's items remain in its transcript whether or not the
    /// record is stored. Three cases fail instead: a job's result has no other way to its caller, given items
    /// exist nowhere else, and an installed compaction must be undoable.
    pub(super) async fn keep(
        &self,
        compaction: &mut Compaction,
        store_as: StoreAs<'_>,
    ) -> Result<(), ServiceError> {
        let Err(error) = self.record(compaction, store_as).await else { return Ok(()) };
        let is_of_job = matches!(store_as, StoreAs::OfJob(_));
        let is_answered = !is_of_job && compaction.thread_id.is_some() && !compaction.install;
        let why = match error {
            ServiceError::Store(
                why @ (StoreError::DiskFull { .. }
                | StoreError::Io { .. }
                | StoreError::Busy { .. }
                | StoreError::Access { .. }),
            ) if is_answered => why,
            error => return Err(error),
        };
        tracing::warn!(error = %why, "returning a compaction that could not be stored");
        let message =
            format!("{why}: this compaction is not listed and cannot be undone by its id");
        compaction.warnings.push(Notice::new("not_kept", message));
        Ok(())
    }

    async fn record(
        &self,
        compaction: &Compaction,
        store_as: StoreAs<'_>,
    ) -> Result<(), ServiceError> {
        let row = CompactionRow {
            compaction_id: compaction.id.clone(),
            thread_id: compaction.thread_id.clone(),
            created_at_ms: compaction.created_at_ms,
            strategy_used: compaction.strategy_used.into_str().to_owned(),
            phase: compaction.phase.into_str().to_owned(),
            trigger: compaction.trigger.clone(),
            reason: compaction.reason().into_str().to_owned(),
            requests: compaction.spent.requests,
            tokens_spent: compaction.spent.tokens,
            tokens_before: compaction.tokens.0,
            tokens_after: compaction.tokens.1,
            seq: compaction.seq,
            duration_ms: compaction.duration_ms,
            undone_at_ms: None,
        };
        let result =
            serde_json::to_vec(compaction).map_err(ServiceError::undecodable("compaction"))?;
        match store_as {
            StoreAs::New => self.compactions.insert(&row, &result, None).await?,
            StoreAs::OfStep(_) => self.compactions.replace(&row, &result).await?,
            StoreAs::OfJob(owner) => {
                self.compactions.insert(&row, &result, Some(&self.jobs.fence(owner))).await?;
            }
        }
        if let Some(decision_id) = compaction.decision_id {
            let end = DecisionEnd::Compaction(&compaction.id);
            if let Err(error) = self.policies.set_decision_end(decision_id, end).await {
                tracing::warn!(%error, "cannot record the compaction that a decision led to");
            }
        }
        self.pruning.note_compaction();
        Ok(())
    }

    /// Compactions, newest first.
    pub async fn list(
        &self,
        thread_id: Option<&str>,
        limit: u32,
        after: Option<&CompactionCursor>,
    ) -> Result<(Vec<CompactionRow>, Option<CompactionCursor>), ServiceError> {
        Ok(self.compactions.list(thread_id, limit, after).await?)
    }

    /// One compaction, as it was returned.
    pub async fn get(&self, id: &str) -> Result<Compaction, ServiceError> {
        Ok(self.with_row(id).await?.1)
    }

    pub async fn with_row(&self, id: &str) -> Result<(CompactionRow, Compaction), ServiceError> {
        let found = self.compactions.get(id).await?;
        let (row, result) = found.ok_or_else(|| ServiceError::CompactionNotFound(id.to_owned()))?;
        let mut compaction: Compaction =
            serde_json::from_slice(&result).map_err(ServiceError::undecodable("compaction"))?;
        compaction.undone_at_ms = row.undone_at_ms;
        Ok((row, compaction))
    }
}
