//! Why a run of the agent ended without files.

use crate::sandbox::SandboxError;
use crate::service::error::ServiceError;

/// Why nothing of a run was published.
#[derive(Debug, thiserror::Error)]
pub(super) enum AgentError {
    /// The child cannot be locked in.
    #[error("{0}")]
    Sandbox(#[from] SandboxError),
    /// The provider, or a budget.
    #[error("{0}")]
    Fault(longhaul_core::model::Fault),
    /// A bound of the run.
    #[error("{1}")]
    Spent(&'static str, String),
    /// The model does not answer in steps.
    #[error("{0}")]
    Unreadable(String),
    /// The files cannot be believed.
    #[error("{0}")]
    Refused(String),
    /// What it worked on is not in force any more.
    #[error("memory changed while the model worked on it")]
    Overtaken,
    /// The folder or the store.
    #[error("{0}")]
    Service(#[from] ServiceError),
}

impl AgentError {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Sandbox(SandboxError::Unavailable(_)) => "sandbox_unavailable",
            Self::Sandbox(SandboxError::Failed(_)) => "child_failed",
            Self::Fault(fault) => fault.kind.into_str(),
            Self::Spent(name, _) => name,
            Self::Unreadable(_) => "step_unreadable",
            Self::Refused(_) => "result_refused",
            Self::Overtaken => "overtaken",
            Self::Service(_) => "failed",
        }
    }
}
