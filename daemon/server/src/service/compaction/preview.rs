//! Previews a compaction: stores nothing and asks no model.

use std::collections::BTreeMap;

use longhaul_core::checkpoint::view::{self, ViewLine, ViewPart};
use longhaul_core::compaction::ladder::Strategy;
use longhaul_core::compaction::receipt::{Disposition, Span};
use longhaul_core::item::{ItemKind, ItemRow};
use longhaul_protocol::compaction::Question;

use super::input::Input;
use super::ladder::Outlook;
use super::record::Notice;

/// Maximum dropped items listed individually, newest first.
const LISTED_MAX: usize = 256;

#[derive(Debug)]
pub struct Preview {
    pub thread_id: String,
    pub seq: u64,
    pub strategy: Strategy,
    pub question: Option<Question>,
    /// Token limit of the view.
    pub max_tokens: u64,
    pub view: String,
    pub parts: Vec<ViewPart>,
    pub lines: Vec<ViewLine>,
    /// Estimated tokens of the history before and after.
    pub tokens: (u64, u64),
    /// Kept items, newest first.
    pub kept: Vec<ItemRow>,
    pub shortened: Vec<ItemRow>,
    pub dropped: Vec<ItemRow>,
    /// The dropped items not listed individually.
    pub older: Option<Span>,
    pub by_kind: BTreeMap<ItemKind, (u64, u64)>,
    pub warnings: Vec<Notice>,
}

pub(super) fn of(input: Input, outlook: Outlook, rows: Vec<ItemRow>) -> Preview {
    let Outlook { strategy, question, replacement, problems } = outlook;
    let sizes = input.sizes(&replacement.history);
    let mut by_kind: BTreeMap<ItemKind, (u64, u64)> = BTreeMap::new();
    let (mut kept, mut shortened, mut dropped) = (Vec::new(), Vec::new(), Vec::new());
    for row in rows.into_iter().rev() {
        match replacement.disposition(&row) {
            Some(Disposition::Kept) => kept.push(row),
            Some(Disposition::Shortened) => shortened.push(row),
            None => {
                let (items, sum) = by_kind.entry(row.kind).or_default();
                *items += 1;
                *sum += row.tokens;
                dropped.push(row);
            }
        }
    }
    let older = dropped.split_off(dropped.len().min(LISTED_MAX));
    let (mut warnings, notices) = (input.warnings, replacement.notices);
    warnings.extend(notices.into_iter().chain(problems));
    Preview {
        thread_id: input.of,
        seq: input.seq,
        strategy,
        question,
        max_tokens: replacement.view_tokens,
        parts: view::parts(&replacement.view),
        view: replacement.view,
        lines: replacement.lines,
        tokens: (sizes.before, sizes.after),
        kept,
        shortened,
        dropped,
        older: span_of(&older),
        by_kind,
        warnings,
    }
}

/// One span over rows that are sorted newest first.
fn span_of(rows: &[ItemRow]) -> Option<Span> {
    let (last, first) = (rows.first()?, rows.last()?);
    Some(Span {
        last: last.seq,
        items: rows.len() as u64,
        tokens: rows.iter().map(|row| row.tokens).sum(),
        kind: None,
        ..Span::from(first)
    })
}
