//! Finds the requests that a person took back by editing an earlier one.
//!
//! Claude Code never removes a line: it writes an edited request again, with the same parent line as the first
//! time. The thread is the path from the last line to the root, so a request with the same parent as an earlier
//! request takes back that request and everything after it. It is enough to remember the parents of the last
//! requests.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::bounded::push_bounded;
use crate::limits;

/// The parents of the last requests.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Branches {
    /// One for each of the last turns, oldest first; 0 if the transcript does not state it.
    parents: VecDeque<u64>,
    /// Parent of the request that follows on the same line.
    #[serde(skip)]
    next: u64,
}

impl Branches {
    /// Records the parent line of the next request and returns the number of turns that it takes back.
    pub(super) fn record_parent(&mut self, parent: Option<&str>) -> u64 {
        // 0 means "not stated"; the one digest in 2^64 that is 0 becomes 1.
        self.next = xxh3_64(parent.unwrap_or_default().as_bytes()).max(1);
        let later = self.parents.iter().rev().position(|known| *known == self.next);
        later.map_or(0, |later| later as u64 + 1)
    }

    pub(super) fn begin_turn(&mut self) {
        push_bounded(&mut self.parents, std::mem::take(&mut self.next), limits::ROLLBACK_TURNS);
    }

    pub(super) fn roll_back(&mut self, turns: u64) {
        let left = self.parents.len().saturating_sub(usize::try_from(turns).unwrap_or(usize::MAX));
        self.parents.truncate(left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(branches: &mut Branches, parent: Option<&str>) -> u64 {
        let turns = branches.record_parent(parent);
        branches.roll_back(turns);
        branches.begin_turn();
        turns
    }

    #[test]
    fn a_repeated_request_takes_back_the_first() {
        let mut branches = Branches::default();
        let asked = [None, Some("a"), Some("b"), Some("c"), Some("b"), Some("d"), Some("a"), None];
        let taken = asked.map(|parent| ask(&mut branches, parent));
        assert_eq!(taken, [0, 0, 0, 0, 2, 0, 3, 2]);
        branches.begin_turn();
        assert_eq!(ask(&mut branches, Some("e")), 0, "a turn that tells no parent matches none");
    }
}
