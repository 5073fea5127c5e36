//! The size of the history that the model sees and the lines it consists of, across compactions and
//! rollbacks, without keeping the history itself.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::bounded::push_bounded;
use crate::item::breakdown::{Breakdown, ContextKind};
use crate::limits;
use crate::rollout::Replacement;

/// Tokens of the person's newest messages that survive a compaction without a replacement history, as in Codex.
pub(crate) const KEPT_USER_TOKENS: u64 = 20_000;

/// Maximum rolled-back spans to keep. The oldest is dropped first, since it was most likely compacted away.
const VOIDS: usize = 64;

/// Maximum compactions that can be undone, newest last. The transcript still holds the history of older ones.
const REPLACED: usize = 16;

/// The start of a turn, and what was visible before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Turn {
    /// First line to drop when the turn is rolled back.
    cut: u64,
    tokens: Breakdown,
    user_tokens: u64,
    base: Option<u64>,
}

/// What a compaction replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Replaced {
    /// Line of the compaction.
    line: u64,
    before: Breakdown,
    after: Breakdown,
    base: Option<u64>,
    largest: Option<(u64, u64)>,
    model_switch: Option<u64>,
}

/// The model-visible history in numbers.
///
/// The base is chosen after rollbacks: rolling back a turn also undoes its compactions and restores what they
/// replaced. Codex itself keeps such a base.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Visible {
    tokens: Breakdown,
    /// Line and size of the largest item since the last compaction.
    largest: Option<(u64, u64)>,
    /// Tokens of all requests so far.
    user_tokens: u64,
    /// Line of the last valid compaction.
    base: Option<u64>,
    /// The history that the last compactions replaced, oldest first; the last entry belongs to the base.
    replaced: VecDeque<Replaced>,
    /// The last turns, oldest first, including those before the base.
    turns: VecDeque<Turn>,
    /// Rolled-back spans of lines: first line, and first line after.
    voids: VecDeque<(u64, u64)>,
    /// First of the context items directly before the next request, and the tokens before it.
    context: Option<(u64, Breakdown)>,
    /// Line of the newest model-switch instructions since the last compaction.
    model_switch: Option<u64>,
}

impl Visible {
    /// Estimated tokens.
    pub fn tokens(&self) -> u64 {
        self.tokens.total()
    }

    /// The tokens by kind of content.
    pub fn breakdown(&self) -> &Breakdown {
        &self.tokens
    }

    /// Line and size of the largest item since the last compaction.
    pub fn largest(&self) -> Option<(u64, u64)> {
        self.largest
    }

    /// Line of the newest model-switch instructions since the last compaction.
    pub fn model_switch(&self) -> Option<u64> {
        self.model_switch
    }

    /// Line of the compaction that the history starts with; `None` if it starts with the thread.
    pub fn base(&self) -> Option<u64> {
        self.base
    }

    /// Estimated tokens added since the last valid compaction; `None` without one.
    pub fn grown(&self) -> Option<u64> {
        let last = self.replaced.back().filter(|last| Some(last.line) == self.base)?;
        Some(self.tokens().saturating_sub(last.after.total()))
    }

    /// Whether the history starts with the compaction on `line`, and it can be undone.
    pub fn can_put_back(&self, line: u64) -> bool {
        self.base == Some(line) && self.replaced.back().is_some_and(|last| last.line == line)
    }

    pub fn from(&self) -> u64 {
        self.base.unwrap_or(0)
    }

    /// Whether a line is visible: neither compacted away nor rolled back.
    pub fn holds(&self, seq: u64) -> bool {
        seq >= self.from() && !self.is_taken_back(seq)
    }

    /// Whether a line was rolled back.
    pub fn is_taken_back(&self, seq: u64) -> bool {
        self.voids.iter().any(|(first, after)| (*first..*after).contains(&seq))
    }

    /// Adds the item at line `seq`.
    pub(super) fn add(&mut self, seq: u64, tokens: &Breakdown) {
        self.tokens.add(tokens);
        let size = tokens.total();
        if self.largest.is_none_or(|(_, largest)| size > largest) {
            self.largest = Some((seq, size));
        }
        self.context = None;
    }

    /// Adds context that a harness inserted at line `seq`: it belongs to the request after it.
    pub(super) fn add_context(&mut self, seq: u64, tokens: &Breakdown) {
        let run = self.context.unwrap_or((seq, self.tokens));
        self.add(seq, tokens);
        self.context = Some(run);
    }

    /// Records model-switch instructions at line `seq`.
    pub(super) fn switch_model(&mut self, seq: u64) {
        self.model_switch = Some(seq);
    }

    /// Begins a turn with a request of `tokens` at line `seq`, which is added like other items. A rollback
    /// never removes the context before the very first request.
    pub(super) fn begin_turn(&mut self, seq: u64, tokens: u64) {
        let is_first = self.turns.is_empty() && self.base.is_none();
        let above = self.context.filter(|_| !is_first);
        let (cut, before) = above.unwrap_or((seq, self.tokens));
        let turn = Turn { cut, tokens: before, user_tokens: self.user_tokens, base: self.base };
        push_bounded(&mut self.turns, turn, limits::ROLLBACK_TURNS);
        self.user_tokens = self.user_tokens.saturating_add(tokens);
    }

    /// Drops the last turns and the compactions in them, as recorded at line `seq`.
    pub(super) fn roll_back(&mut self, seq: u64, turns: u64) {
        for _ in 0..turns {
            let Some(turn) = self.turns.pop_back() else { break };
            (self.tokens, self.user_tokens, self.base) = (turn.tokens, turn.user_tokens, turn.base);
            self.context = None;
            self.replaced.retain(|replaced| replaced.line < turn.cut);
            // The next largest item is unknown; none is better than a wrong one.
            self.largest = self.largest.filter(|(largest, _)| *largest < turn.cut);
            self.model_switch = self.model_switch.filter(|switch| *switch < turn.cut);
            match self.voids.back_mut() {
                Some(last) if last.0 > turn.cut => *last = (turn.cut, seq),
                _ => push_bounded(&mut self.voids, (turn.cut, seq), VOIDS),
            }
        }
    }

    /// Replaces the history at line `seq` by `replacement`, else by the newest requests and the summary.
    pub(super) fn compact(
        &mut self,
        seq: u64,
        replacement: Option<Replacement>,
        summary_tokens: u64,
    ) {
        let before = self.tokens;
        self.tokens = match replacement {
            Some(replacement) => replacement.tokens,
            None => {
                let user_tokens = self.user_tokens.min(KEPT_USER_TOKENS);
                let mut tokens = Breakdown::of(ContextKind::User, user_tokens);
                tokens.add(&Breakdown::of(ContextKind::Summary, summary_tokens));
                tokens
            }
        };
        let (base, largest) = (self.base.replace(seq), self.largest.take());
        let model_switch = self.model_switch.take();
        self.context = None;
        let after = self.tokens;
        let replaced = Replaced { line: seq, before, after, base, largest, model_switch };
        push_bounded(&mut self.replaced, replaced, REPLACED);
    }

    /// Undoes the compaction on `line`: restores what it replaced, followed by what came after it. Returns
    /// false without a change if it is not the base.
    pub(super) fn put_back(&mut self, line: u64) -> bool {
        if !self.can_put_back(line) {
            return false;
        }
        let Some(last) = self.replaced.pop_back() else { return false };
        let carried_on = |tokens: Breakdown| {
            let mut sum = last.before;
            sum.add(&tokens.without(&last.after));
            sum
        };
        self.tokens = carried_on(self.tokens);
        self.base = last.base;
        self.largest = self.largest.into_iter().chain(last.largest).max_by_key(|(_, size)| *size);
        self.model_switch = self.model_switch.or(last.model_switch);
        self.context = None;
        for turn in self.turns.iter_mut().filter(|turn| turn.base == Some(line)) {
            (turn.tokens, turn.base) = (carried_on(turn.tokens), last.base);
        }
        push_bounded(&mut self.voids, (line, line + 1), VOIDS);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_follow_turns_compactions_and_rollbacks() {
        let user = |tokens| Breakdown::of(ContextKind::User, tokens);
        let mut visible = Visible::default();
        visible.add(1, &user(100));
        visible.begin_turn(5, 10);
        visible.add(6, &user(510));
        visible.begin_turn(8, 10);
        visible.add(8, &user(10));
        visible.roll_back(9, 2);
        assert_eq!(visible.tokens(), 100);
        assert_eq!(
            (visible.holds(4), visible.holds(5), visible.holds(8), visible.holds(9)),
            (true, false, false, true)
        );
        visible.compact(20, None, 50);
        assert_eq!((visible.tokens(), visible.from()), (50, 20), "no request is left");
        visible.compact(30, Some(Replacement { items: 3, tokens: user(33) }), 50);
        visible.begin_turn(31, 5);
        visible.add(31, &user(5));
        visible.roll_back(32, 9);
        assert_eq!(visible.tokens(), 33);
        assert!(visible.holds(30) && !visible.holds(31));
    }

    #[test]
    fn a_rollback_undoes_the_compactions_of_its_turns() {
        let user = |tokens| Breakdown::of(ContextKind::User, tokens);
        let mut visible = Visible::default();
        visible.add_context(1, &user(50));
        visible.begin_turn(2, 10);
        visible.add(2, &user(10));
        visible.begin_turn(6, 10);
        visible.add(2, &user(10));
        visible.compact(8, Some(Replacement { items: 1, tokens: user(5) }), 0);
        visible.add(2, &user(7));
        assert_eq!((visible.base(), visible.tokens()), (Some(8), 12));
        visible.roll_back(10, 1);
        assert_eq!((visible.base(), visible.tokens()), (None, 60));
        assert!(visible.holds(2) && !visible.holds(6) && !visible.holds(8) && visible.holds(10));
        visible.roll_back(11, 5);
        assert_eq!(visible.tokens(), 50, "items before the first request survive");
        assert!(visible.holds(1));
    }

    #[test]
    fn what_was_before_a_rolled_back_turn_is_as_it_was() {
        let user = |tokens| Breakdown::of(ContextKind::User, tokens);
        let mut visible = Visible::default();
        visible.switch_model(1);
        visible.add(1, &user(40));
        assert_eq!(visible.largest(), Some((1, 40)));
        visible.compact(3, Some(Replacement { items: 1, tokens: user(9) }), 0);
        assert_eq!(visible.largest(), None, "the model no longer sees it");
        visible.switch_model(4);
        visible.add(4, &user(40));
        visible.add(5, &user(30));
        visible.begin_turn(6, 10);
        visible.add(6, &user(10));
        assert_eq!((visible.largest(), visible.model_switch()), (Some((4, 40)), Some(4)));
        visible.compact(8, Some(Replacement { items: 1, tokens: user(5) }), 0);
        assert!(!visible.can_put_back(3) && visible.can_put_back(8) && !visible.can_put_back(9));
        visible.roll_back(10, 1);
        assert!(visible.can_put_back(3) && !visible.can_put_back(8));
        assert_eq!((visible.base(), visible.breakdown()), (Some(3), &user(79)));
        assert_eq!(visible.largest(), None, "the compaction removed it");
        visible.switch_model(11);
        visible.add(11, &user(20));
        visible.begin_turn(12, 10);
        visible.add(12, &user(10));
        visible.roll_back(14, 1);
        assert_eq!((visible.largest(), visible.model_switch()), (Some((11, 20)), Some(11)));
        visible.begin_turn(15, 10);
        visible.add(15, &user(90));
        assert_eq!(visible.largest(), Some((15, 90)));
        visible.roll_back(16, 1);
        assert_eq!(visible.largest(), None, "the next one is not known");
    }

    #[test]
    fn a_compaction_that_was_forgotten_cannot_be_undone() {
        let mut visible = Visible::default();
        visible.compact(1, None, 0);
        visible.begin_turn(2, 10);
        (3..4 + REPLACED as u64).for_each(|line| visible.compact(line, None, 0));
        visible.roll_back(100, 1);
        assert_eq!(visible.base(), Some(1));
        assert!(!visible.can_put_back(1) && !visible.put_back(1));
        assert_eq!(visible.grown(), None);
    }

    #[test]
    fn lines_that_were_rolled_back_stay_hidden() {
        let mut visible = Visible::default();
        // The only turn is rolled back, then the last of two, then the last two of three.
        for (turns, undone) in [(1, 1), (2, 1), (3, 2)] {
            let at = turns * 10;
            (0..turns).for_each(|turn| visible.begin_turn(at + turn, 1));
            visible.roll_back(at + 5, undone);
        }
        let shown: Vec<u64> = (0..40).filter(|seq| visible.holds(*seq)).collect();
        let hidden = [10..15, 21..25, 31..35].map(|span| span.collect::<Vec<u64>>()).concat();
        assert_eq!(shown, (0..40).filter(|seq| !hidden.contains(seq)).collect::<Vec<_>>());
    }

    #[test]
    fn spans_of_hidden_lines_are_bounded() {
        let mut rolled_back = Visible::default();
        for at in (0..2_000).step_by(10) {
            (0..3).for_each(|turn| rolled_back.begin_turn(at + turn, 1));
            rolled_back.roll_back(at + 5, 2);
        }
        let mut put_back = Visible::default();
        for line in 0..200 {
            put_back.compact(line, None, 0);
            assert!(put_back.put_back(line));
        }
        for (visible, newest) in [(rolled_back, 1_991), (put_back, 199)] {
            assert_eq!(visible.voids.len(), VOIDS);
            assert!(visible.is_taken_back(newest), "the newest are kept");
        }
    }

    #[test]
    fn undoing_a_compaction_keeps_what_came_after_it() {
        let user = |tokens| Breakdown::of(ContextKind::User, tokens);
        let mut visible = Visible::default();
        visible.begin_turn(1, 10);
        visible.add(1, &user(100));
        visible.compact(5, Some(Replacement { items: 1, tokens: user(8) }), 0);
        assert_eq!((visible.grown(), visible.can_put_back(5)), (Some(0), true));
        visible.begin_turn(6, 10);
        visible.add(6, &user(30));
        visible.compact(7, Some(Replacement { items: 1, tokens: user(9) }), 0);
        visible.add(8, &user(2));
        assert!(!visible.put_back(5), "a later one depends on it");
        assert!(visible.put_back(7) && !visible.put_back(7), "once");
        assert_eq!((visible.tokens(), visible.base(), visible.grown()), (40, Some(5), Some(32)));
        assert!(visible.put_back(5));
        assert_eq!((visible.tokens(), visible.base(), visible.grown()), (132, None, None));
        assert!(visible.holds(1) && !visible.holds(5) && !visible.holds(7) && visible.holds(8));
        visible.roll_back(9, 1);
        assert_eq!(visible.tokens(), 100, "the turn began behind what was put back");
    }

    #[test]
    fn a_rollback_or_a_compaction_drops_model_switch_instructions() {
        let user = |tokens| Breakdown::of(ContextKind::User, tokens);
        let mut visible = Visible::default();
        visible.switch_model(1);
        visible.begin_turn(2, 1);
        visible.add_context(5, &user(20));
        visible.switch_model(5);
        visible.begin_turn(6, 1);
        assert_eq!(visible.model_switch(), Some(5));
        visible.roll_back(9, 1);
        assert_eq!(visible.model_switch(), None, "the older one is not known any more");
        visible.switch_model(10);
        visible.compact(20, None, 0);
        assert_eq!(visible.model_switch(), None, "its agent tells it anew");
    }

    #[test]
    fn a_rollback_drops_the_context_directly_before_the_request() {
        let user = |tokens| Breakdown::of(ContextKind::User, tokens);
        let mut visible = Visible::default();
        visible.begin_turn(2, 1);
        visible.add(2, &user(1));
        visible.add_context(5, &user(20));
        visible.add_context(6, &user(20));
        visible.begin_turn(7, 1);
        visible.add(2, &user(1));
        visible.roll_back(9, 1);
        assert!(visible.holds(2) && !visible.holds(5) && !visible.holds(6));
        assert_eq!(visible.tokens(), 1);
    }
}
