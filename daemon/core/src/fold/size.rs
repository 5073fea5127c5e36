//! How large a history the model sees now, through compactions and rollbacks, without keeping it.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::limits;
use crate::rollout::Replacement;

/// Newest user messages that survive a compaction without a replacement history, in tokens
/// (`facts/codex-compaction.md` §2.2).
const KEPT_USER_TOKENS: u64 = 20_000;

/// Running size of the model-visible history.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct HistorySize {
    tokens: u64,
    /// Tokens of all requests so far.
    user_tokens: u64,
    /// Size before each of the last turns since the last compaction.
    turns: VecDeque<u64>,
}

impl HistorySize {
    pub(super) fn tokens(&self) -> u64 {
        self.tokens
    }

    pub(super) fn add(&mut self, tokens: u64) {
        self.tokens = self.tokens.saturating_add(tokens);
    }

    /// A request of `tokens` begins a turn; it is added with the other items.
    pub(super) fn begin_turn(&mut self, tokens: u64) {
        if self.turns.len() >= limits::ROLLBACK_TURNS {
            self.turns.pop_front();
        }
        self.turns.push_back(self.tokens);
        self.user_tokens = self.user_tokens.saturating_add(tokens);
    }

    /// Drops the last turns. A rollback past a compaction drops what came after it.
    pub(super) fn roll_back(&mut self, turns: u64) {
        for _ in 0..turns.min(self.turns.len() as u64) {
            if let Some(before) = self.turns.pop_back() {
                self.tokens = before;
            }
        }
    }

    /// Replaces the history: by the one given, or by the newest requests and the summary.
    pub(super) fn compact(&mut self, replacement: Option<Replacement>, summary_tokens: u64) {
        self.tokens = match replacement {
            Some(replacement) => replacement.tokens,
            None => self.user_tokens.min(KEPT_USER_TOKENS).saturating_add(summary_tokens),
        };
        self.turns.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_follow_turns_compactions_and_rollbacks() {
        let mut size = HistorySize::default();
        size.add(100);
        size.begin_turn(10);
        size.add(10);
        size.add(500);
        size.roll_back(1);
        assert_eq!(size.tokens(), 100);
        size.compact(None, 50);
        assert_eq!(size.tokens(), 60);
        size.compact(Some(Replacement { items: 3, tokens: 33 }), 50);
        size.begin_turn(5);
        size.add(5);
        size.roll_back(9);
        assert_eq!(size.tokens(), 33);
    }
}
