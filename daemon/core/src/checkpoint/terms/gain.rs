//! Which name is needed next.

use super::{Anchor, Term, TermKind};

/// Calls after which a term counts half, in [`Term::gain`].
const HALF_LIFE_CALLS: u64 = 12;

/// The same for what the sighting before the last one adds.
const REPEAT_HALF_LIFE_CALLS: u64 = 24;

impl Term {
    /// Chance that the term, which reads `text`, is needed next, seen from call `now`, in
    /// millionths. Integers, so that every machine agrees.
    ///
    /// # Source
    /// What agents went on to use in 44 published sessions of Codex and Claude Code in 11
    /// repositories, at 368 cuts (2026): names they wrote themselves before names they saw, names of
    /// a file before names in a command's output, paths that someone spoke of before others, and all
    /// the more what stood there often. Each of the percentages gains in more repositories than it
    /// costs in. A ranking fitted to sixty features of each name does no better in repositories that
    /// it was not fitted to.
    pub fn gain(&self, text: &str, now: u64) -> u64 {
        let hits = |most: u32| u64::from(self.hits.min(most));
        let weight = match (self.uses > 0, self.kind, &self.anchor) {
            (true, TermKind::Path, Anchor::Command(_)) => 40 + 10 * hits(8),
            (true, TermKind::Path, Anchor::Talk) if !is_whole_file(text) => 60,
            (true, TermKind::Path, _) => 170,
            (true, TermKind::Name, Anchor::File(_)) => 50 * hits(8),
            (true, TermKind::Name, Anchor::Command(_)) => 40 * hits(8),
            (true, TermKind::Name, Anchor::Talk) => 20 * hits(4),
            (true, TermKind::Id, Anchor::File(_)) => 30 * hits(8),
            (true, TermKind::Id, _) => 15 * hits(4),
            (false, TermKind::Path, Anchor::File(_)) => 20 * hits(6),
            (false, TermKind::Path, _) => 8 * hits(32),
            (false, TermKind::Name, Anchor::File(_)) => 30 + 12 * hits(12),
            (false, TermKind::Name, _) => 12 + 2 * hits(16),
            (false, TermKind::Id, Anchor::File(_)) => 18,
            (false, TermKind::Id, _) => 6,
            (_, TermKind::Compound, Anchor::Talk) => 1,
            (_, TermKind::Compound, _) => 2 * hits(8),
        };
        let fresh = weight * 1_000 * HALF_LIFE_CALLS / (HALF_LIFE_CALLS + self.age(now));
        fresh * self.repeat_percent(now) / 100 * shape_percent(self.kind, text) / 100
    }

    /// What a second sighting makes of a term's chance, in percent: what came up in one call and
    /// again in another is what the work is about, and what a tool printed once is mostly passed by.
    pub fn repeat_percent(&self, now: u64) -> u64 {
        match (self.gap, self.uses) {
            (0, 0) => 70,
            (0, _) => 100,
            (gap, _) => {
                let age = self.age(now) + u64::from(gap);
                100 + 100 * REPEAT_HALF_LIFE_CALLS / (REPEAT_HALF_LIFE_CALLS + age)
            }
        }
    }

    fn age(&self, now: u64) -> u64 {
        now.saturating_sub(self.tick)
    }
}

/// What a term's shape makes of its chance, in percent.
fn shape_percent(kind: TermKind, text: &str) -> u64 {
    match (kind, text.rfind('/')) {
        // A file's name without its folder: calls need the whole path, which often stands too.
        (TermKind::Path, None) => 70,
        // One name below the root: what is left of a path that began with a variable.
        (TermKind::Path, Some(0)) => 30,
        (TermKind::Path, _) if is_whole_file(text) => 140,
        (TermKind::Path | TermKind::Name | TermKind::Id | TermKind::Compound, _) => 100,
    }
}

/// Whether a path names a file with its folder; what has no extension is a folder or, in talk,
/// `this/that`.
fn is_whole_file(path: &str) -> bool {
    path.rsplit_once('/').is_some_and(|(_, name)| name.contains('.'))
}

#[cfg(test)]
mod tests {
    use super::super::{Spot, Terms, Voice};
    use super::*;

    fn note(terms: &mut Terms, text: &str, anchor: &Anchor, voice: Voice, tick: u64) {
        terms.note(text, Spot { anchor, voice, tick, cwd: None });
    }

    #[test]
    fn a_name_of_code_goes_before_two_words_of_prose() {
        let mut terms = Terms::default();
        note(&mut terms, "a well-known parse_header", &Anchor::Talk, Voice::Used, 1);
        let gain = |text| terms.get(text).map(|term| term.gain(text, 1));
        assert!(gain("parse_header") > gain("well-known"));
    }

    #[test]
    fn a_name_that_comes_back_goes_before_one_seen_once() {
        let mut terms = Terms::default();
        let printed = |terms: &mut Terms, text: &str, tick| {
            note(terms, text, &Anchor::Command(tick), Voice::Printed, tick);
        };
        printed(&mut terms, "come_back", 1);
        printed(&mut terms, "come_back seen_twice seen_twice", 9);
        let gain = |text| terms.get(text).map(|term| term.gain(text, 9));
        assert!(gain("come_back") > gain("seen_twice"));
        assert_eq!(terms.get("come_back").map(|term| term.gap), Some(8));
    }

    #[test]
    fn a_whole_path_goes_before_parts_and_prose() {
        let mut terms = Terms::default();
        let said = "src/net/retry.rs retry.rs /retry.rs stop/retry/go";
        note(&mut terms, said, &Anchor::Talk, Voice::Used, 1);
        let gain = |text| terms.get(text).map(|term| term.gain(text, 1)).unwrap();
        for other in ["retry.rs", "/retry.rs", "stop/retry/go"] {
            assert!(gain("src/net/retry.rs") > 2 * gain(other), "{other}");
        }
    }
}
