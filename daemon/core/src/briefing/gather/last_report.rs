//! The agent's last report: the work that follows is about it.

use super::super::answer;
use super::super::select::Quote;

/// Percentage of the view's bytes that the last report has, even where it repeats names that are said elsewhere; and that
/// of one that the person answered in a few words: they are about it.
const SHARE_PERCENT: u64 = 12;
const ANSWERED_PERCENT: u64 = 25;

/// Estimated bytes of a token.
const BYTES_PER_TOKEN: u64 = 4;

/// Maximum lines and bytes of a list of what is offered, and lines that may follow it.
const OFFER_LINES: usize = 6;
const OFFER_BYTES: usize = 600;
const LINES_AFTER_OFFER: usize = 2;

/// Fixes the message at line `seq`: what it offers at its end, then its lines in their order of strength.
pub(super) fn keep(quotes: &mut [Quote<'_>], (seq, is_answered): (u64, bool), max_tokens: u64) {
    keep_offer(quotes, seq);
    let mut lines: Vec<&mut Quote<'_>> =
        quotes.iter_mut().filter(|quote| quote.order.0 == seq).collect();
    lines.sort_by(|one, other| other.weight.total_cmp(&one.weight));
    let percent = if is_answered { ANSWERED_PERCENT } else { SHARE_PERCENT };
    let mut left = max_tokens * BYTES_PER_TOKEN * percent / 100;
    for line in lines.into_iter().filter(|line| !line.is_fixed) {
        let Some(rest) = left.checked_sub(line.text.len() as u64) else { return };
        (left, line.is_fixed) = (rest, true);
    }
}

/// Fixes the list below a heading that asks or offers.
fn keep_offer(quotes: &mut [Quote<'_>], seq: u64) {
    let mut after = 0;
    let is_one_list = |one: &Quote<'_>, next: &Quote<'_>| {
        (one.order.0, &one.heading) == (next.order.0, &next.heading)
    };
    let lists = quotes.chunk_by_mut(is_one_list).rev();
    for list in lists.filter(|list| list[0].order.0 == seq) {
        let bytes: usize = list.iter().map(|quote| quote.text.len()).sum();
        let heading = &*list[0].heading;
        let is_offered = answer::asks(heading) || answer::offers(heading);
        if is_offered && list.len() <= OFFER_LINES && bytes <= OFFER_BYTES {
            return list.iter_mut().for_each(|quote| quote.is_fixed = true);
        }
        after += list.len();
        if after > LINES_AFTER_OFFER {
            return;
        }
    }
}
