//! `thread/forget`.

use std::sync::Arc;

use longhaul_protocol::thread::{ThreadForget, ThreadForgetParams, ThreadForgetResult};

use super::super::error::Failure;
use super::super::{Table, TableError};
use crate::service::forget::Forgetting;

pub(in super::super) fn register(
    table: &mut Table,
    forgetting: &Arc<Forgetting>,
) -> Result<(), TableError> {
    table.of(forgetting).on_async::<ThreadForget, _>(forget)
}

async fn forget(
    forgetting: Arc<Forgetting>,
    params: ThreadForgetParams,
) -> Result<ThreadForgetResult, Failure> {
    Ok(forgetting.forget(&params.thread_id).await?)
}
