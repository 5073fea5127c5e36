//! `history/*`.

use std::sync::Arc;

use longhaul_core::compaction::handle::Handle;
use longhaul_protocol::history::{Expand, ExpandParams, ExpandResult};

use super::error::Failure;
use super::{Table, TableError};
use crate::link::CallContext;
use crate::service::history::{EXPAND_BYTES_DEFAULT, EXPAND_BYTES_MAX};
use crate::service::{ServiceError, Services};

pub(super) fn register(table: &mut Table) -> Result<(), TableError> {
    table.on_async::<Expand, _>(expand)
}

async fn expand(
    services: Arc<Services>,
    _: CallContext,
    params: ExpandParams,
) -> Result<ExpandResult, Failure> {
    let handle: Handle = params.handle.parse().map_err(ServiceError::Handle)?;
    let from = match params.cursor.as_deref().map(str::parse::<u64>) {
        Some(Err(_)) => {
            return Err(Failure::invalid("cursor", "the next_cursor of an earlier answer"));
        }
        Some(Ok(seq)) => Some(seq),
        None => None,
    };
    let max_bytes = params.max_bytes.unwrap_or(EXPAND_BYTES_DEFAULT).min(EXPAND_BYTES_MAX);
    let expanded = services.expand(&handle, from, max_bytes).await?;
    Ok(ExpandResult {
        items: expanded.items,
        path: expanded.path,
        byte_range: expanded.byte_range.into(),
        next_cursor: expanded.next_seq.map(|seq| seq.to_string()),
    })
}
