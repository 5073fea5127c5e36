//! The settings that the history tells the model, to compare the next turn's with.
//!
//! Settings are told at the beginning of a turn, on a line that is no item. They count from the first
//! item after them: a bare line of settings is no turn. A compaction takes them away, and a rollback
//! those of the turns it takes back.
//!
//! After an old compaction, which wrote down no history to go on with, none count until the next one: what it
//! put before the model stands nowhere, so whoever goes on from the transcript has to tell all of it again.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::limits;
use crate::rollout::TurnSettings;

/// Settings remembered: as many as change in the turns that a rollback takes back.
const KNOWN: usize = 16;

/// Settings by the line they count from.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct References {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pending: Option<TurnSettings>,
    /// Oldest first; `None` where a compaction took them away.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    known: VecDeque<(u64, Option<TurnSettings>)>,
    /// Line of the compaction that wrote down no history, while it is the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unwritten: Option<u64>,
}

impl References {
    /// What the model was last told; `None` when it has to be told everything.
    pub fn current(&self) -> Option<&TurnSettings> {
        self.known.back().and_then(|(_, settings)| settings.as_ref())
    }

    pub(super) fn told(&mut self, settings: &TurnSettings) {
        let mut settings = settings.clone();
        // The others are bounded where they are read. A folder cut short would be another folder.
        settings.cwd = settings.cwd.filter(|cwd| cwd.len() <= limits::PATH_BYTES);
        settings.model = settings.model.filter(|model| model.len() <= limits::NAME_BYTES);
        self.pending = Some(settings);
    }

    /// The item at line `seq`.
    pub(super) fn item(&mut self, seq: u64) {
        if let Some(settings) = self.pending.take()
            && self.unwritten.is_none()
            && self.current() != Some(&settings)
        {
            self.push(seq, Some(settings));
        }
    }

    /// Line `seq` replaces the history, by one that it wrote down or not.
    pub(super) fn compact(&mut self, seq: u64, is_written: bool) {
        self.pending = None;
        self.unwritten = (!is_written).then_some(seq);
        if self.current().is_some() {
            self.push(seq, None);
        }
    }

    pub(super) fn roll_back(&mut self, is_taken_back: impl Fn(u64) -> bool) {
        self.pending = None;
        self.unwritten = self.unwritten.filter(|seq| !is_taken_back(*seq));
        self.known.retain(|(seq, _)| !is_taken_back(*seq));
    }

    fn push(&mut self, seq: u64, settings: Option<TurnSettings>) {
        if self.known.len() >= KNOWN {
            self.known.pop_front();
        }
        self.known.push_back((seq, settings));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_folder(cwd: &str) -> TurnSettings {
        TurnSettings { cwd: Some(cwd.to_owned()), ..TurnSettings::default() }
    }

    #[test]
    fn settings_count_from_the_first_item_until_they_are_taken_away() {
        let mut references = References::default();
        references.told(&in_folder("/a"));
        assert_eq!(references.current(), None, "a bare line of settings is no turn");
        references.item(3);
        references.told(&in_folder("/b"));
        references.item(7);
        assert_eq!(references.current(), Some(&in_folder("/b")));
        references.roll_back(|seq| seq >= 6);
        assert_eq!(references.current(), Some(&in_folder("/a")));
        references.compact(9, true);
        assert_eq!(references.current(), None);
        references.told(&in_folder("/a"));
        references.item(11);
        assert_eq!(references.current(), Some(&in_folder("/a")), "told anew after a compaction");
        references.roll_back(|seq| seq >= 9);
        assert_eq!(
            references.current(),
            Some(&in_folder("/a")),
            "the compaction is taken back too"
        );
    }

    #[test]
    fn after_a_compaction_that_wrote_down_no_history_all_is_to_be_told() {
        let mut references = References::default();
        references.told(&in_folder("/a"));
        references.item(3);
        references.compact(5, false);
        references.told(&in_folder("/b"));
        references.item(7);
        assert_eq!(references.current(), None);
        references.roll_back(|seq| seq >= 4);
        assert_eq!(references.current(), Some(&in_folder("/a")), "it is taken back too");
        references.compact(9, false);
        references.compact(10, true);
        references.told(&in_folder("/b"));
        references.item(11);
        assert_eq!(references.current(), Some(&in_folder("/b")), "the last one counts");
    }

    #[test]
    fn they_do_not_pile_up() {
        let mut references = References::default();
        for seq in 0..100 {
            references.told(&in_folder(&format!("/{seq}")));
            references.item(seq);
        }
        assert_eq!(references.known.len(), KNOWN);
    }
}
