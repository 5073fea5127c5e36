//! Groups lines that only make sense together: a short list is chosen with its heading, whole or not at all.

use super::super::documents::CODE_LINES;
use super::super::kinds::EvidenceKind;
use super::super::select::Quote;
use super::super::spot::Shape;

/// Maximum lines and bytes of a list that forms one unit; longer lists are chosen line by line.
const LINES_MAX: usize = 4;
const BYTES_MAX: usize = 600;

/// Steps of a template have more, shorter parts.
const STEP_LINES_MAX: usize = 7;

/// Limits for the person's words: half of a request would be a different request.
const REQUEST_LINES_MAX: usize = 9;
const REQUEST_BYTES_MAX: usize = 1_000;

/// Rows of a long enumeration that count in full, the size from which it is long, and the factor for other
/// rows.
const ROWS_FULL: usize = 4;
const ROWS_MANY: usize = 8;
const ROW_WEIGHT: f64 = 0.6;

/// Weight factors of the decision and the alternatives in a record of both.
const DECISION_WEIGHT: f64 = 1.25;
const ALTERNATIVE_WEIGHT: f64 = 0.8;

/// Numbers the units: lines of one message under one heading, and records, which are numbered within their output.
pub(super) fn link(quotes: &mut [Quote<'_>]) {
    let mut unit = 0;
    let is_together = |one: &Quote<'_>, next: &Quote<'_>| {
        let has_heading = !one.heading.is_empty() && !one.is_fixed && !next.is_fixed;
        let are_rows = |quote: &Quote<'_>| quote.text.starts_with('|');
        has_heading && place(one) == place(next) && are_rows(one) == are_rows(next)
    };
    let is_one_record = |one: &Quote<'_>, next: &Quote<'_>| {
        (one.kind, one.order.0, one.unit) == (next.kind, next.order.0, next.unit)
    };
    for record in quotes.chunk_by_mut(is_one_record).filter(|record| record[0].unit > 0) {
        unit += 1;
        record.iter_mut().for_each(|quote| quote.unit = unit);
    }
    for block in quotes.chunk_by_mut(is_one_block) {
        if block[0].spot.shape == Shape::Code && (2..=CODE_LINES).contains(&block.len()) {
            unit += 1;
            block.iter_mut().for_each(|quote| quote.unit = unit);
        }
    }
    for list in quotes.chunk_by_mut(is_together) {
        if list.iter().any(|quote| quote.unit > 0) {
            continue;
        }
        let (lines, bytes) = match list[0].kind {
            EvidenceKind::Request => (REQUEST_LINES_MAX, REQUEST_BYTES_MAX),
            EvidenceKind::Template => (STEP_LINES_MAX, BYTES_MAX),
            EvidenceKind::Report => (LINES_MAX, BYTES_MAX),
            EvidenceKind::Added | EvidenceKind::Document if list.iter().any(is_decision) => {
                put_decision_first(list);
                continue;
            }
            _ => continue,
        };
        let length: usize = list.iter().map(|quote| quote.text.len()).sum();
        if (2..=lines).contains(&list.len()) && length <= bytes {
            unit += 1;
            list.iter_mut().for_each(|quote| quote.unit = unit);
        } else if list.len() >= ROWS_MANY {
            list.iter_mut().skip(ROWS_FULL).for_each(|quote| quote.weight *= ROW_WEIGHT);
        }
    }
}

/// Whether a line is the decision of a record: `- Decision: …`.
fn is_decision(quote: &Quote<'_>) -> bool {
    opening(quote).starts_with("Decision:")
}

/// What was rejected means little without what was decided.
fn put_decision_first(record: &mut [Quote<'_>]) {
    for quote in record {
        quote.weight *= match () {
            () if is_decision(quote) => DECISION_WEIGHT,
            () if opening(quote).starts_with("Alternative") => ALTERNATIVE_WEIGHT,
            () => 1.0,
        };
    }
}

fn opening<'q>(quote: &'q Quote<'_>) -> &'q str {
    quote.text.trim_start_matches(['-', '*', ' '])
}

/// Whether two lines follow each other in one block of code.
fn is_one_block(one: &Quote<'_>, next: &Quote<'_>) -> bool {
    let is_code =
        [one, next].iter().all(|quote| quote.spot.shape == Shape::Code && !quote.is_fixed);
    is_code && one.spot.is_before(next.spot) && place(one) == place(next)
}

fn place<'q>(quote: &'q Quote<'_>) -> (EvidenceKind, u64, &'q str, &'q str) {
    (quote.kind, quote.order.0, &quote.group, &quote.heading)
}
