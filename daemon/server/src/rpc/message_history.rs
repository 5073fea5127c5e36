//! `message_history/*`.

use std::sync::Arc;

use longhaul_protocol::limit::CLIENT_ID_BYTES_MAX;
use longhaul_protocol::message_history as wire;
use longhaul_protocol::message_history::{
    Append, AppendParams, AppendResult, Lookup, LookupParams, LookupResult,
};

use super::cursor::invalid;
use super::error::Failure;
use super::{Table, TableError, convert};
use crate::message_history::{Filter, Place, PromptMatch};
use crate::service::message_history::Prompts;

/// Maximum bytes of a path or a query.
const TEXT_BYTES_MAX: usize = 4_096;

pub(super) fn register(table: &mut Table, prompts: &Arc<Prompts>) -> Result<(), TableError> {
    let mut table = table.of(prompts);
    table.on_async::<Append, _>(append)?;
    table.on_async::<Lookup, _>(lookup)
}

async fn append(prompts: Arc<Prompts>, params: AppendParams) -> Result<AppendResult, Failure> {
    bounded("thread_id", params.thread_id.as_ref(), CLIENT_ID_BYTES_MAX)?;
    bounded("cwd", params.cwd.as_ref(), TEXT_BYTES_MAX)?;
    let message = longhaul_core::message_history::Message {
        at_ms: 0,
        text: params.text,
        thread_id: params.thread_id,
        cwd: params.cwd,
    };
    let (kept, redacted) = prompts.append(message).await?;
    Ok(AppendResult {
        persisted: kept.is_some(),
        trimmed: kept.as_ref().map_or(0, |kept| kept.trimmed),
        offset: kept.as_ref().map(|kept| kept.offset),
        log_id: kept.map(|kept| kept.log_id),
        redacted,
    })
}

async fn lookup(prompts: Arc<Prompts>, params: LookupParams) -> Result<LookupResult, Failure> {
    if params.offset.is_some() && params.log_id.is_none() {
        return Err(Failure::invalid("offset", "needs the log_id it belongs to"));
    }
    bounded("query", params.query.as_ref(), TEXT_BYTES_MAX)?;
    let words = params.query.as_deref().unwrap_or_default().split_whitespace();
    let filter = Filter {
        words: words.map(str::to_owned).collect(),
        origin: params.source.as_deref().map(|name| convert::one_of("source", name)).transpose()?,
        before: params.cursor.as_deref().map(place_of).transpose()?,
        limit: convert::page_rows(params.limit) as usize,
        log_id: params.log_id,
        offset: params.offset,
        thread_id: params.thread_id,
        cwd: params.cwd,
    };
    let page = prompts.lookup(filter).await?;
    Ok(LookupResult {
        messages: page.found.into_iter().map(message).collect(),
        logs: page.logs,
        next_cursor: page.next.map(cursor),
    })
}

fn bounded(field: &str, value: Option<&String>, max: usize) -> Result<(), Failure> {
    match value {
        Some(value) if value.len() > max => {
            Err(Failure::invalid(field, &format!("at most {max} bytes")))
        }
        _ => Ok(()),
    }
}

fn cursor(place: Place) -> String {
    format!("{}:{}:{}", place.at_ms, place.origin.into_str(), place.offset)
}

fn place_of(cursor: &str) -> Result<Place, Failure> {
    let mut parts = cursor.splitn(3, ':');
    let mut next = || parts.next().ok_or_else(invalid);
    let (at_ms, origin, offset) = (next()?, next()?, next()?);
    Ok(Place {
        at_ms: at_ms.parse().map_err(|_| invalid())?,
        origin: origin.parse().map_err(|_| invalid())?,
        offset: offset.parse().map_err(|_| invalid())?,
    })
}

fn message(found: PromptMatch) -> wire::Message {
    wire::Message {
        source: found.place.origin.into_str().to_owned(),
        log_id: found.log_id,
        offset: found.place.offset,
        at: found.place.at_ms,
        text: found.message.text.into(),
        thread_id: found.message.thread_id,
        cwd: found.message.cwd,
    }
}
