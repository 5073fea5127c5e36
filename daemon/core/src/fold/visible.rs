//! How large a history the model sees now, and which lines it is made of, through compactions and
//! rollbacks, without keeping it.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::item::breakdown::{Breakdown, ContextKind};
use crate::limits;
use crate::rollout::Replacement;

/// Newest user messages that survive a compaction without a replacement history, in tokens
/// (`facts/codex-compaction.md` §2.2).
const KEPT_USER_TOKENS: u64 = 20_000;

/// Rolled-back spans kept. The oldest is forgotten first: it has most likely been compacted away.
const VOIDS: usize = 64;

/// The model-visible history in numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Visible {
    tokens: Breakdown,
    /// Line and size of the largest item since the last compaction.
    largest: Option<(u64, u64)>,
    /// Tokens of all requests so far.
    user_tokens: u64,
    /// First line that is still visible: the last compaction, or the beginning.
    from: u64,
    /// Line and size at the start of each of the last turns since the last compaction.
    turns: VecDeque<(u64, Breakdown)>,
    /// Spans of lines taken back since then: first, and first after.
    voids: VecDeque<(u64, u64)>,
}

impl Visible {
    /// Estimated tokens.
    pub fn tokens(&self) -> u64 {
        self.tokens.total()
    }

    /// The same, by what they are spent on.
    pub fn breakdown(&self) -> &Breakdown {
        &self.tokens
    }

    /// Line and size of the largest item since the last compaction.
    pub fn largest(&self) -> Option<(u64, u64)> {
        self.largest
    }

    /// First visible line.
    pub fn from(&self) -> u64 {
        self.from
    }

    /// Whether a line is visible: neither compacted away nor taken back.
    pub fn holds(&self, seq: u64) -> bool {
        seq >= self.from && !self.voids.iter().any(|(first, after)| (*first..*after).contains(&seq))
    }

    /// Adds the item at line `seq`.
    pub(super) fn add(&mut self, seq: u64, tokens: &Breakdown) {
        self.tokens.add(tokens);
        let size = tokens.total();
        if self.largest.is_none_or(|(_, largest)| size > largest) {
            self.largest = Some((seq, size));
        }
    }

    /// A request of `tokens` at line `seq` begins a turn; it is added with the other items.
    pub(super) fn begin_turn(&mut self, seq: u64, tokens: u64) {
        if self.turns.len() >= limits::ROLLBACK_TURNS {
            self.turns.pop_front();
        }
        self.turns.push_back((seq, self.tokens));
        self.user_tokens = self.user_tokens.saturating_add(tokens);
    }

    /// Drops the last turns, as told at line `seq`. A rollback past a compaction drops what came
    /// after it.
    pub(super) fn roll_back(&mut self, seq: u64, turns: u64) {
        for _ in 0..turns {
            let Some((first, before)) = self.turns.pop_back() else { break };
            self.tokens = before;
            // One that was smaller and stays is no longer known: better none than a wrong one.
            self.largest = self.largest.filter(|(largest, _)| *largest < first);
            match self.voids.back_mut() {
                Some(last) if last.0 > first => *last = (first, seq),
                _ => self.voids.push_back((first, seq)),
            }
        }
        if self.voids.len() > VOIDS {
            self.voids.pop_front();
        }
    }

    /// Line `seq` replaces the history: by the one given, or by the newest requests and the summary.
    pub(super) fn compact(
        &mut self,
        seq: u64,
        replacement: Option<Replacement>,
        summary_tokens: u64,
    ) {
        self.tokens = match replacement {
            Some(replacement) => replacement.tokens,
            None => {
                let user_tokens = self.user_tokens.min(KEPT_USER_TOKENS);
                let mut tokens = Breakdown::of(ContextKind::User, user_tokens);
                tokens.add(&Breakdown::of(ContextKind::Summary, summary_tokens));
                tokens
            }
        };
        self.largest = None;
        self.from = seq;
        self.turns.clear();
        self.voids.clear();
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
        assert_eq!((visible.tokens(), visible.from()), (70, 20));
        visible.compact(30, Some(Replacement { items: 3, tokens: user(33) }), 50);
        visible.begin_turn(31, 5);
        visible.add(31, &user(5));
        visible.roll_back(32, 9);
        assert_eq!(visible.tokens(), 33);
        assert!(visible.holds(30) && !visible.holds(31));
    }
}
