//! How a run can end without files, and what the worker and the job table get for it.

use longhaul_core::job::{Failure, FailureKind};
use longhaul_core::model::{Fault, FaultKind};

use super::super::ask::AskError;
use crate::service::error::{CurationStop, ServiceError};

/// Why nothing of a run is published.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CurationEnd {
    /// The provider, or a budget.
    #[error("{0}")]
    Fault(Fault),
    /// A bound of the run: its stable name, and a description.
    #[error("{1}")]
    Spent(&'static str, String),
    #[error("not done in {0} s")]
    OutOfTime(u64),
    /// The model's answers are not steps.
    #[error("{0}")]
    Unreadable(String),
    /// The files failed the check.
    #[error("{0}")]
    Refused(String),
    /// The files it works on are no longer current.
    #[error("memory changed while the model worked on it")]
    Overtaken,
}

impl CurationEnd {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Fault(fault) => fault.kind.into_str(),
            Self::Spent(name, _) => name,
            Self::OutOfTime(_) => "timeout",
            Self::Unreadable(_) => "step_unreadable",
            Self::Refused(_) => "result_refused",
            Self::Overtaken => "overtaken",
        }
    }

    /// The error for the worker.
    pub(super) fn error(&self) -> ServiceError {
        let why = match self {
            Self::Overtaken => CurationStop::Overtaken,
            Self::Spent(..) => CurationStop::Spent,
            Self::OutOfTime(_) => CurationStop::OutOfTime,
            Self::Unreadable(_) | Self::Refused(_) => CurationStop::Unusable,
            Self::Fault(fault) => match fault.kind {
                FaultKind::BudgetSpent => CurationStop::Spent,
                FaultKind::Timeout => CurationStop::OutOfTime,
                FaultKind::RateLimited => CurationStop::RateLimited,
                _ => CurationStop::Unavailable,
            },
        };
        ServiceError::CurationEnded { name: self.name(), why }
    }

    /// The failure to record in the job table.
    pub(super) fn failure(&self) -> Failure {
        let kind = match self {
            Self::Fault(fault) => return AskError::Fault(fault.clone()).failure(),
            Self::Overtaken => FailureKind::Transient,
            // The same files would fail again: only new input or a person wakes the job.
            Self::Spent(..) | Self::OutOfTime(_) | Self::Unreadable(_) | Self::Refused(_) => {
                FailureKind::Permanent
            }
        };
        Failure { kind, detail: self.to_string(), retry_after_ms: None }
    }
}
