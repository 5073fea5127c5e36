//! The settings that the history shows the model, to compare with those of the next turn.
//!
//! A transcript records settings at the start of a turn, in a line that is not an item. They take effect with
//! the first item after them: a line of settings alone is not a turn. A compaction removes them, and a rollback
//! removes those of the turns it undoes.
//!
//! An old compaction recorded no replacement history. Its context is unknown, so until the next compaction a
//! resumed thread must resend all settings.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::bounded::push_bounded;
use crate::limits;
use crate::rollout::TurnSettings;

/// Maximum changes of settings to keep for rollbacks.
const KNOWN: usize = 16;

/// Settings by the line from which they hold.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ShownSettings {
    pending: Option<TurnSettings>,
    /// Oldest first; `None` where a compaction removed them.
    known: VecDeque<(u64, Option<TurnSettings>)>,
    /// Line of the last compaction, if it recorded no history.
    unwritten: Option<u64>,
}

impl ShownSettings {
    /// The settings the model last received; `None` if it must receive all of them.
    pub fn current(&self) -> Option<&TurnSettings> {
        self.known.back().and_then(|(_, settings)| settings.as_ref())
    }

    pub(super) fn record_settings(&mut self, settings: &TurnSettings) {
        let mut settings = settings.clone();
        // Other fields are limited when read. A shortened path would name another folder.
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

    /// Records that line `seq` replaces the history; `is_written` if it recorded the replacement.
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
        push_bounded(&mut self.known, (seq, settings), KNOWN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_folder(cwd: &str) -> TurnSettings {
        TurnSettings { cwd: Some(cwd.to_owned()), ..TurnSettings::default() }
    }

    #[test]
    fn settings_hold_from_the_first_item_until_they_are_removed() {
        let mut shown = ShownSettings::default();
        shown.record_settings(&in_folder("/a"));
        assert_eq!(shown.current(), None, "a bare line of settings is no turn");
        shown.item(3);
        shown.record_settings(&in_folder("/b"));
        shown.item(7);
        assert_eq!(shown.current(), Some(&in_folder("/b")));
        shown.roll_back(|seq| seq >= 6);
        assert_eq!(shown.current(), Some(&in_folder("/a")));
        shown.compact(9, true);
        assert_eq!(shown.current(), None);
        shown.record_settings(&in_folder("/a"));
        shown.item(11);
        assert_eq!(shown.current(), Some(&in_folder("/a")), "told anew after a compaction");
        shown.roll_back(|seq| seq >= 9);
        assert_eq!(shown.current(), Some(&in_folder("/a")), "the compaction is taken back too");
    }

    #[test]
    fn after_a_compaction_without_recorded_history_all_settings_must_be_resent() {
        let mut shown = ShownSettings::default();
        shown.record_settings(&in_folder("/a"));
        shown.item(3);
        shown.compact(5, false);
        shown.record_settings(&in_folder("/b"));
        shown.item(7);
        assert_eq!(shown.current(), None);
        shown.roll_back(|seq| seq >= 4);
        assert_eq!(shown.current(), Some(&in_folder("/a")), "it is taken back too");
        shown.record_settings(&in_folder("/c"));
        shown.item(8);
        assert_eq!(shown.current(), Some(&in_folder("/c")), "so new ones count again");
        shown.compact(9, false);
        shown.roll_back(|seq| seq >= 10);
        shown.record_settings(&in_folder("/b"));
        shown.item(10);
        assert_eq!(shown.current(), None, "the compaction is not taken back");
        shown.compact(11, true);
        shown.record_settings(&in_folder("/b"));
        shown.item(12);
        assert_eq!(shown.current(), Some(&in_folder("/b")), "the last one counts");
    }

    #[test]
    fn names_that_are_too_long_are_not_kept() {
        let named = |cwd: usize, model: usize| TurnSettings {
            cwd: Some("c".repeat(cwd)),
            model: Some("m".repeat(model)),
            ..TurnSettings::default()
        };
        let (path, name) = (limits::PATH_BYTES, limits::NAME_BYTES);
        for (cwd, model) in [(path, name), (path + 1, name), (path, name + 1)] {
            let mut shown = ShownSettings::default();
            shown.record_settings(&named(cwd, model));
            shown.item(1);
            let kept = shown.current().unwrap();
            assert_eq!(kept.cwd.is_some(), cwd <= path, "{cwd} bytes of a folder");
            assert_eq!(kept.model.is_some(), model <= name, "{model} bytes of a model");
        }
    }

    #[test]
    fn kept_settings_are_bounded() {
        let mut shown = ShownSettings::default();
        for seq in 0..100 {
            shown.record_settings(&in_folder(&format!("/{seq}")));
            shown.item(seq);
        }
        assert_eq!(shown.known.len(), KNOWN);
    }
}
