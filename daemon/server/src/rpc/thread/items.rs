//! `thread/items`.

use std::sync::Arc;

use longhaul_core::compaction::handle::Handle;
use longhaul_protocol::thread::{ItemSummary, ItemsParams, ItemsResult};

use super::super::convert;
use super::super::error::Failure;
use crate::service::threads::{ItemRange, Threads};

pub(super) async fn items(
    threads: Arc<Threads>,
    params: ItemsParams,
) -> Result<ItemsResult, Failure> {
    let (range, limit) = match (params.from_seq, params.last) {
        (Some(_), Some(_)) => {
            return Err(Failure::invalid("last", "give either from_seq or last"));
        }
        (Some(seq), None) => (ItemRange::From(seq), params.limit),
        (None, last) => (ItemRange::Last, last.or(params.limit)),
    };
    let limit = convert::page_rows(limit) as usize;
    let found = threads.items(&params.thread_id, range, limit).await?;
    let items = found.rows.into_iter().map(|(row, at)| ItemSummary {
        seq: row.seq,
        at,
        kind: row.kind.into_str().to_owned(),
        tokens: row.tokens,
        handle: Handle::new(&params.thread_id, (row.seq, row.seq), row.digest).to_string(),
        excerpt: row.excerpt,
    });
    Ok(ItemsResult { items: items.collect(), next_seq: found.next_seq, more: found.more })
}
