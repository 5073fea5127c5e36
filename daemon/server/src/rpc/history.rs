//! `history/*`.

use std::sync::Arc;

use longhaul_core::compaction::handle::Handle;
use longhaul_protocol::history::{self as wire, Expand, ExpandParams, ExpandResult, HistoryGet};
use longhaul_protocol::limit::{EXPAND_BYTES_DEFAULT, EXPAND_BYTES_MAX};

use super::convert::same_variants;
use super::cursor;
use super::error::Failure;
use super::{Table, TableError};
use crate::service::history::{HandleReader, Histories, HistoryQuery, ItemPlace, Opaque, Position};
use crate::service::{HistoryServices, ServiceError};

pub(super) fn register(table: &mut Table, services: &HistoryServices) -> Result<(), TableError> {
    table.of(&services.handles).on_async::<Expand, _>(expand)?;
    table.of(&services.histories).on_async::<HistoryGet, _>(get)
}

async fn get(
    histories: Arc<Histories>,
    params: wire::HistoryGetParams,
) -> Result<wire::HistoryGetResult, Failure> {
    let (as_of, from) = match params.cursor.as_deref() {
        Some(cursor) => {
            let (as_of, from) = read_cursor(cursor).ok_or_else(cursor::invalid)?;
            (Some(as_of), from)
        }
        None => (params.as_of, Position::default()),
    };
    let query = HistoryQuery {
        thread_id: params.thread_id.clone(),
        as_of,
        from,
        max_bytes: params.max_bytes.unwrap_or(EXPAND_BYTES_DEFAULT).min(EXPAND_BYTES_MAX),
        opaque: same_variants!(params.opaque.unwrap_or(wire::Opaque::StandIn), wire::Opaque => Opaque, StandIn | AsIs),
    };
    let history = histories.visible(query).await?;
    Ok(wire::HistoryGetResult {
        thread_id: params.thread_id,
        seq: history.seq,
        base: history.base,
        items: history.items,
        origins: history.places.into_iter().map(place).collect(),
        tokens: history.tokens,
        from_archive: history.is_from_archive,
        next_cursor: history
            .next
            .map(|next| format!("{}.{}.{}", history.seq, next.seq, next.index)),
    })
}

/// The line that a cursor's history is as of, and the next position.
fn read_cursor(cursor: &str) -> Option<(u64, Position)> {
    let mut numbers = cursor.splitn(3, '.').map(|number| number.parse::<u64>().ok());
    let (as_of, seq, index) = (numbers.next()??, numbers.next()??, numbers.next()??);
    Some((as_of, Position { seq, index }))
}

fn place(place: ItemPlace) -> wire::Origin {
    wire::Origin {
        seq: place.seq,
        kind: place.kind.into_str().to_owned(),
        tokens: place.tokens,
        handle: place.handle.map(|handle| handle.to_string()),
        stand_in: place.is_stand_in,
    }
}

async fn expand(handles: Arc<HandleReader>, params: ExpandParams) -> Result<ExpandResult, Failure> {
    let handle: Handle = params.handle.parse().map_err(ServiceError::Handle)?;
    let from = match params.cursor.as_deref().map(str::parse::<u64>) {
        Some(Err(_)) => return Err(cursor::invalid()),
        Some(Ok(seq)) => Some(seq),
        None => None,
    };
    let max_bytes = params.max_bytes.unwrap_or(EXPAND_BYTES_DEFAULT).min(EXPAND_BYTES_MAX);
    let expanded = handles.expand(&handle, from, max_bytes).await?;
    Ok(ExpandResult {
        items: expanded.items,
        path: expanded.path,
        byte_range: expanded.byte_range.into(),
        next_cursor: expanded.next_seq.map(|seq| seq.to_string()),
        from_archive: expanded.is_from_archive,
    })
}
