//! `thread/search`.

use std::sync::Arc;

use longhaul_core::compaction::handle::Handle;
use longhaul_protocol::thread::{Search, SearchHit, SearchParams, SearchResult};
use longhaul_store::SearchFilter;

use super::agent_params::AgentGate;
use super::error::Failure;
use super::{Table, TableError, convert};
use crate::peer::CallContext;
use crate::service::search::{FoundRow, Hit, SearchQuery, Searcher};

pub(super) fn register(table: &mut Table, searcher: &Arc<Searcher>) -> Result<(), TableError> {
    let gate = table.gate();
    table.of(searcher).on_async_with_context::<Search, _>(move |searcher, context, params| {
        search(searcher, gate.clone(), context, params)
    })
}

async fn search(
    searcher: Arc<Searcher>,
    gate: Arc<AgentGate>,
    context: CallContext,
    params: SearchParams,
) -> Result<SearchResult, Failure> {
    let kinds = params.kinds.unwrap_or_default();
    let filter = SearchFilter {
        source: params.source.as_deref().map(|name| convert::one_of("source", name)).transpose()?,
        folders: gate
            .folders(&context, (params.cwd.map(convert::folder), params.thread_id.as_deref()))
            .await?,
        thread_id: params.thread_id,
        kinds: kinds.iter().map(|kind| convert::one_of("kinds", kind)).collect::<Result<_, _>>()?,
        since_ms: params.since,
        until_ms: params.until,
    };
    let found = searcher.search(SearchQuery {
        query: params.query,
        filter,
        hits_max: convert::hits_max(params.limit),
        tokens_max: params.max_tokens,
    });
    let found = found.await?;
    Ok(SearchResult {
        hits: found.hits.into_iter().map(hit).collect(),
        truncated: found.is_truncated,
        indexed: searcher.index_state(),
    })
}

fn hit(hit: Hit) -> SearchHit {
    let Hit { found: FoundRow { ranked, file, row, thread_id }, snippet } = hit;
    let head = file.head.as_ref();
    // In a file that continues another, the first line is not line 0 of the lineage.
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
        kind: row.kind.into_str().to_owned(),
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
