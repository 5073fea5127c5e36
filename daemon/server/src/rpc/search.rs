//! `thread/search` and `thread/items`.

use std::sync::Arc;

use longhaul_core::compaction::handle::Handle;
use longhaul_core::item::ItemKind;
use longhaul_protocol::limit::{SEARCH_HITS_DEFAULT, SEARCH_HITS_MAX};
use longhaul_protocol::thread::{
    ItemSummary, Items, ItemsParams, ItemsResult, Search, SearchHit, SearchParams, SearchResult,
};
use longhaul_store::SearchFilter;

use super::error::Failure;
use super::{Table, TableError, convert};
use crate::link::CallContext;
use crate::service::Services;
use crate::service::items::ItemRange;
use crate::service::search::{self, Hit};

pub(super) fn register(table: &mut Table) -> Result<(), TableError> {
    table.on_async::<Search, _>(search)?;
    table.on_async::<Items, _>(items)
}

async fn search(
    services: Arc<Services>,
    _: CallContext,
    params: SearchParams,
) -> Result<SearchResult, Failure> {
    let kinds = params.kinds.unwrap_or_default();
    let filter = SearchFilter {
        source: params.source.as_deref().map(convert::source_of).transpose()?,
        cwd: params.cwd.map(folder),
        thread_id: params.thread_id,
        kinds: kinds.iter().map(|kind| kind_of(kind)).collect::<Result<_, _>>()?,
        since_ms: params.since,
        until_ms: params.until,
    };
    let hits_max = params.k.unwrap_or(SEARCH_HITS_DEFAULT).clamp(1, SEARCH_HITS_MAX);
    let found = services.search(search::Search {
        query: params.query,
        filter,
        hits_max: usize::try_from(hits_max).unwrap_or(usize::MAX),
        tokens_max: params.max_tokens,
    });
    let found = found.await?;
    Ok(SearchResult {
        hits: found.hits.into_iter().map(hit).collect(),
        truncated: found.is_truncated,
        indexed: services.index_status(),
    })
}

/// A folder as transcripts name it: without a slash at its end.
fn folder(path: String) -> String {
    match path.trim_end_matches('/') {
        "" => path,
        trimmed => trimmed.to_owned(),
    }
}

fn hit(hit: Hit) -> SearchHit {
    let Hit { ranked, file, row, thread_id, snippet } = hit;
    let head = file.head.as_ref();
    // In a file that continues another the first line is not line 0 of the lineage.
    let is_alone = head.is_none_or(|head| head.history_base.is_none());
    let line = is_alone.then_some(row.seq + 1);
    SearchHit {
        source: file.source.name().to_owned(),
        handle: Handle::new(&thread_id, (row.seq, row.seq), row.digest).to_string(),
        thread_id,
        seq: row.seq,
        path: file.path.clone(),
        line_start: line,
        line_end: line,
        byte_range: [row.offset, row.offset + row.bytes],
        at: ranked.candidate.at_ms,
        kind: kind_name(row.kind).to_owned(),
        title: head.and_then(|head| head.title.clone()),
        cwd: head.and_then(|head| head.cwd.clone()),
        score: (ranked.score * 1e4).round() / 1e4,
        matches: snippet
            .matches
            .iter()
            .map(|range| [range.start as u64, range.end as u64])
            .collect(),
        text: snippet.text,
        copies: ranked.copies,
    }
}

async fn items(
    services: Arc<Services>,
    _: CallContext,
    params: ItemsParams,
) -> Result<ItemsResult, Failure> {
    let (range, limit) = match (params.from_seq, params.last) {
        (Some(_), Some(_)) => {
            return Err(Failure::invalid("last", "not together with from_seq"));
        }
        (Some(seq), None) => (ItemRange::From(seq), params.limit),
        (None, last) => (ItemRange::Last, last.or(params.limit)),
    };
    let limit = usize::try_from(convert::page_rows(limit)).unwrap_or(usize::MAX);
    let found = services.items(&params.thread_id, range, limit).await?;
    let items = found.rows.into_iter().map(|(row, at)| ItemSummary {
        seq: row.seq,
        at,
        kind: kind_name(row.kind).to_owned(),
        tokens: row.tokens,
        handle: Handle::new(&params.thread_id, (row.seq, row.seq), row.digest).to_string(),
        excerpt: row.excerpt,
    });
    Ok(ItemsResult { items: items.collect(), next_seq: found.next_seq, more: found.more })
}

const KINDS: [(ItemKind, &str); 9] = [
    (ItemKind::UserMessage, "user_message"),
    (ItemKind::AssistantMessage, "assistant_message"),
    (ItemKind::Context, "context"),
    (ItemKind::Reasoning, "reasoning"),
    (ItemKind::ToolCall, "tool_call"),
    (ItemKind::ToolOutput, "tool_output"),
    (ItemKind::Compaction, "compaction"),
    (ItemKind::Oversized, "oversized"),
    (ItemKind::Other, "other"),
];

fn kind_name(kind: ItemKind) -> &'static str {
    KINDS.iter().find(|(known, _)| *known == kind).map_or("other", |(_, name)| name)
}

fn kind_of(name: &str) -> Result<ItemKind, Failure> {
    let known = KINDS.iter().find(|(_, known)| *known == name);
    let names = || KINDS.map(|(_, name)| name).join(", ");
    known
        .map(|(kind, _)| *kind)
        .ok_or_else(|| Failure::invalid("kinds", &format!("one of {}", names())))
}
