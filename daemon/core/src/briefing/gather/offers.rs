//! What the agent's last report offers at its end: the work that follows is about it.

use super::super::answer;
use super::super::select::Quote;

/// Maximum lines and bytes of a list of what is offered, and lines that may follow it.
const LINES_MAX: usize = 6;
const BYTES_MAX: usize = 600;
const LINES_AFTER: usize = 2;

/// Fixes the list below a heading that asks or offers, at the end of the message at line `seq`: its lines repeat names
/// that are said elsewhere, and would be left out.
pub(super) fn keep(quotes: &mut [Quote<'_>], seq: u64) {
    let mut after = 0;
    let is_one_list = |one: &Quote<'_>, next: &Quote<'_>| {
        (one.order.0, &one.heading) == (next.order.0, &next.heading)
    };
    let lists = quotes.chunk_by_mut(is_one_list).rev();
    for list in lists.filter(|list| list[0].order.0 == seq) {
        let bytes: usize = list.iter().map(|quote| quote.text.len()).sum();
        let heading = &*list[0].heading;
        let is_offered = answer::asks(heading) || answer::offers(heading);
        if is_offered && list.len() <= LINES_MAX && bytes <= BYTES_MAX {
            return list.iter_mut().for_each(|quote| quote.is_fixed = true);
        }
        after += list.len();
        if after > LINES_AFTER {
            return;
        }
    }
}
