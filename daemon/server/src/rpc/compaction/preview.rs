//! `compaction/preview`.

use std::sync::Arc;

use longhaul_core::checkpoint::view;
use longhaul_core::compaction::handle::Handle;
use longhaul_core::compaction::receipt;
use longhaul_core::item::ItemRow;
use longhaul_core::tokens;
use longhaul_protocol::compaction::{
    KindTotal, PreviewItem, PreviewParams, PreviewResult, RunParams, TokensChange, Total, Totals,
    ViewLine, ViewPart,
};

use super::super::convert;
use super::super::error::Failure;
use super::request;
use crate::service::compaction::{self, Compactor};

pub(super) async fn preview(
    compactor: Arc<Compactor>,
    params: PreviewParams,
) -> Result<PreviewResult, Failure> {
    let PreviewParams { thread_id, strategy, phase, max_tokens, model, as_of, focus } = params;
    let run = RunParams {
        thread_id: Some(thread_id),
        strategy,
        phase,
        max_tokens,
        model,
        as_of,
        focus,
        ..RunParams::default()
    };
    Ok(result(compactor.preview(request(run)?).await?))
}

fn result(made: compaction::Preview) -> PreviewResult {
    let of = made.thread_id;
    let items = |rows: Vec<ItemRow>| rows.into_iter().map(|row| item(&of, row)).collect();
    let sum = |rows: &[ItemRow]| Total {
        items: rows.len() as u64,
        tokens: rows.iter().map(|row| row.tokens).sum(),
    };
    let (items_dropped, tokens_dropped) =
        made.by_kind.values().fold((0, 0), |sum, kind| (sum.0 + kind.0, sum.1 + kind.1));
    let mut by_kind: Vec<KindTotal> = made
        .by_kind
        .iter()
        .map(|(kind, (items, tokens))| KindTotal {
            kind: kind.into_str().to_owned(),
            items: *items,
            tokens: *tokens,
        })
        .collect();
    by_kind.sort_by_key(|kind| std::cmp::Reverse(kind.tokens));
    PreviewResult {
        seq: made.seq,
        strategy: convert::strategy_out(made.strategy),
        question: made.question,
        max_tokens: made.max_tokens,
        parts: made.parts.into_iter().map(part).collect(),
        view: made.view.into(),
        lines: made.lines.into_iter().map(line).collect(),
        tokens: TokensChange { before: made.tokens.0, after: made.tokens.1 },
        totals: Totals {
            kept: sum(&made.kept),
            shortened: sum(&made.shortened),
            dropped: Total { items: items_dropped, tokens: tokens_dropped },
        },
        kept: items(made.kept),
        shortened: items(made.shortened),
        dropped: items(made.dropped),
        older: made.older.map(|span| convert::entry(&receipt::handle(&of, &span), &span)),
        dropped_by_kind: by_kind,
        warnings: made.warnings.into_iter().map(convert::warning).collect(),
        thread_id: of,
    }
}

fn item(of: &str, row: ItemRow) -> PreviewItem {
    PreviewItem {
        handle: Handle::new(of, (row.seq, row.seq), row.digest).to_string(),
        kind: row.kind.into_str().to_owned(),
        tokens: row.tokens,
        seq: row.seq,
        excerpt: row.excerpt,
    }
}

fn line(line: view::ViewLine) -> ViewLine {
    ViewLine {
        tokens: tokens::of_bytes(line.text.len() as u64 + 1),
        part: line.section.to_owned(),
        handle: line.seq.map(|seq| format!("#{seq}")),
        text: line.text,
    }
}

fn part(part: view::ViewPart) -> ViewPart {
    ViewPart { name: part.name, lines: part.lines as u64, tokens: part.tokens }
}
