//! `thread/continue`.

use std::sync::Arc;

use longhaul_core::thread::Source;
use longhaul_protocol::compaction::{RunParams, Strategy};
use longhaul_protocol::thread::{Continue, ContinueParams, ContinueResult};

use super::super::compaction::request;
use super::super::error::Failure;
use super::super::{Table, TableError, convert};
use crate::link::CallContext;
use crate::service::Services;

pub(in super::super) fn register(table: &mut Table) -> Result<(), TableError> {
    table.on_async::<Continue, _>(go_on)
}

async fn go_on(
    services: Arc<Services>,
    _: CallContext,
    params: ContinueParams,
) -> Result<ContinueResult, Failure> {
    let strategy = match params.strategy {
        Some(Strategy::Remote) => {
            let reason = "what a provider has encrypted cannot begin a new thread";
            return Err(Failure::invalid("strategy", reason));
        }
        Some(Strategy::Auto) | None if services.model_status().is_some() => Strategy::Hybrid,
        Some(Strategy::Auto) | None => Strategy::Checkpoint,
        Some(strategy) => strategy,
    };
    let request = request(RunParams {
        thread_id: Some(params.thread_id),
        as_of: params.as_of,
        strategy: Some(strategy),
        max_tokens: params.max_tokens,
        deadline_ms: params.deadline_ms,
        templates: params.templates,
        ..RunParams::default()
    })?;
    let continued = services.continue_thread(request).await?;
    let resume = Source::Codex.spec().resume.iter().copied().chain([continued.thread_id.as_str()]);
    Ok(ContinueResult {
        command: resume.map(str::to_owned).collect(),
        thread_id: continued.thread_id,
        path: continued.path.display().to_string(),
        compaction: convert::run_result(continued.compaction),
    })
}
