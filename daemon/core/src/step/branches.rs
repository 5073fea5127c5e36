//! Which branch of a conversation goes on.
//!
//! Claude Code never takes a line back: a request that the person changed is written once more, after
//! the same line as the first time. The thread is the path from the last line to the root, so a
//! request that goes on from where an earlier one went on takes that one back, with all after it. It
//! is enough to remember where each of the last requests went on from.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::limits;

/// Where the last requests went on from.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Branches {
    /// One for each of the last turns, oldest first; 0 where the transcript does not tell.
    parents: VecDeque<u64>,
    /// Of the request that comes next on the line.
    #[serde(skip)]
    next: u64,
}

impl Branches {
    /// A request goes on from the line `parent`; how many turns that takes back.
    pub(super) fn meet(&mut self, parent: Option<&str>) -> u64 {
        // 0 is taken for "not told"; one digest in 2^64 is moved out of its way.
        self.next = xxh3_64(parent.unwrap_or_default().as_bytes()).max(1);
        let later = self.parents.iter().rev().position(|known| *known == self.next);
        later.map_or(0, |later| later as u64 + 1)
    }

    pub(super) fn begin_turn(&mut self) {
        if self.parents.len() >= limits::ROLLBACK_TURNS {
            self.parents.pop_front();
        }
        self.parents.push_back(std::mem::take(&mut self.next));
    }

    /// The last turns were taken back.
    pub(super) fn roll_back(&mut self, turns: u64) {
        let left = self.parents.len().saturating_sub(usize::try_from(turns).unwrap_or(usize::MAX));
        self.parents.truncate(left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(branches: &mut Branches, parent: Option<&str>) -> u64 {
        let turns = branches.meet(parent);
        branches.roll_back(turns);
        branches.begin_turn();
        turns
    }

    #[test]
    fn a_request_written_once_more_takes_back_the_first() {
        let mut branches = Branches::default();
        let asked = [None, Some("a"), Some("b"), Some("c"), Some("b"), Some("d"), Some("a"), None];
        let taken = asked.map(|parent| ask(&mut branches, parent));
        assert_eq!(taken, [0, 0, 0, 0, 2, 0, 3, 2]);
        branches.begin_turn();
        assert_eq!(ask(&mut branches, Some("e")), 0, "a turn that tells no parent matches none");
    }
}
