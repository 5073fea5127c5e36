//! Lowers thoughts that the agent also said.

use rustc_hash::FxHashSet;

use super::super::collect::THOUGHT;
use super::super::select::Quote;
use super::super::terms;

/// Transcript lines after a thought in which the agent says what it thought.
const LINES_AFTER: u64 = 3;

/// Percentage of a thought's terms from which on what was said has it all, and weight factor then.
const SAID_PERCENT: usize = 50;
const SAID_WEIGHT: f64 = 0.3;

pub(super) fn lower_said(remarks: &mut [Quote<'_>]) {
    let said: Vec<(u64, Vec<u32>)> = remarks
        .iter()
        .filter(|quote| quote.heading.is_empty())
        .map(|quote| (quote.order.0, terms::of(&quote.text)))
        .collect();
    for thought in remarks.iter_mut().filter(|quote| quote.heading == THOUGHT) {
        let seq = thought.order.0;
        let after = said.iter().filter(|(at, _)| (seq..=seq + LINES_AFTER).contains(at));
        let after: FxHashSet<u32> = after.flat_map(|(_, terms)| terms.iter().copied()).collect();
        let own = terms::of(&thought.text);
        let shared = own.iter().filter(|term| after.contains(term)).count();
        if !own.is_empty() && shared * 100 >= own.len() * SAID_PERCENT {
            thought.weight *= SAID_WEIGHT;
        }
    }
}
