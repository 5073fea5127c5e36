//! `thread/continue`.

use std::sync::Arc;

use longhaul_core::checkpoint::disk_check::DiskCheck;
use longhaul_protocol::compaction::{RunParams, Strategy};
use longhaul_protocol::thread::{CheckedTree, ContinueParams, ContinueResult};

use super::super::compaction::request;
use super::super::convert;
use super::super::error::Failure;
use crate::service::continuation::{Continuations, not_accepting};

pub(super) async fn continue_thread(
    continuations: Arc<Continuations>,
    params: ContinueParams,
) -> Result<ContinueResult, Failure> {
    let strategy = match params.strategy {
        Some(Strategy::Remote) => {
            let reason = "a new thread cannot start with text encrypted by a provider";
            return Err(Failure::invalid("strategy", reason));
        }
        Some(Strategy::Auto) | None if continuations.has_model() => Strategy::Hybrid,
        Some(Strategy::Auto) | None => Strategy::Checkpoint,
        Some(strategy) => strategy,
    };
    let to =
        params.to.as_deref().map(|name| name.parse().map_err(|_| not_accepting())).transpose()?;
    let request = request(RunParams {
        thread_id: Some(params.thread_id),
        as_of: params.as_of,
        strategy: Some(strategy),
        max_tokens: params.max_tokens,
        deadline_ms: params.deadline_ms,
        templates: params.templates,
        ..RunParams::default()
    })?;
    let begun = continuations.begin(request, to).await?;
    let resume = begun.agent.spec().resume.iter().copied().chain([begun.thread_id.as_str()]);
    Ok(ContinueResult {
        command: resume.map(str::to_owned).collect(),
        thread_id: begun.thread_id,
        path: begun.path.display().to_string(),
        compaction: convert::run_result(begun.compaction),
        checked: begun.checked.map(tree),
        resume: begun.resume,
    })
}

fn tree(checked: DiskCheck) -> CheckedTree {
    let DiskCheck { unchanged, changed, gone, unverified, facts_valid, facts_suspect } = checked;
    CheckedTree {
        unchanged: unchanged as u64,
        changed,
        gone,
        unverified: unverified as u64,
        facts_valid: facts_valid as u64,
        facts_suspect,
    }
}
