//! Commands with what came of them as quotes.

use std::collections::HashSet;

use super::super::kinds::EvidenceKind;
use super::super::result;
use super::{Builder, checks};

/// Strength of a command with a result, of one of which only the exit code is known, and of one that only watches.
const STRENGTH: u16 = 100;
const BARE_STRENGTH: u16 = 60;
const WATCHING_STRENGTH: u16 = 40;
const BARE_WATCHING_STRENGTH: u16 = 15;

/// The newest commands without a result count in full.
const BARE_NEWEST: usize = 8;

/// Divides the strength in a small view.
const SMALL_DIVISOR: u16 = 10;

impl<'a> Builder<'a> {
    /// Quotes the commands of earlier turns, and those of the running one whose output is no longer kept.
    pub(super) fn ran(&mut self) {
        let mut known = HashSet::new();
        for (seq, turn, command, result) in self.results() {
            known.insert(seq);
            // It may quote a file that was edited since.
            let since = self.briefing.effects.since(seq);
            let names = |path: &&str| command.contains(*path) || result.contains(*path);
            let holds = match since.iter().any(names) {
                true => result::warnings_in(&result),
                false => Some(result),
            };
            let Some(result) = holds else { continue };
            let age = usize::try_from(self.briefing.turn().saturating_sub(turn)).unwrap_or(2);
            let strength = if checks::only_watches(command) { WATCHING_STRENGTH } else { STRENGTH };
            let text = format!("#{seq} {command} → {result}");
            self.push(EvidenceKind::Ran, (seq, 0), (age, self.in_view(strength)), text);
        }
        for (newer, (seq, line)) in self.host.ran.iter().enumerate() {
            if known.contains(seq) || self.failed(line) || self.runs(line) {
                continue;
            }
            let strength = match () {
                () if checks::only_watches(line) => BARE_WATCHING_STRENGTH,
                () if newer < BARE_NEWEST => BARE_STRENGTH,
                () => BARE_STRENGTH / 2,
            };
            self.push(EvidenceKind::Ran, (*seq, 0), (0, self.in_view(strength)), line);
        }
    }

    /// Line, turn, command and result.
    fn results(&self) -> Vec<(u64, u32, &'a str, String)> {
        let (briefing, now) = (self.briefing, self.briefing.turn());
        let older = briefing.results.iter();
        let older = older.map(|it| (it.seq, it.turn, it.group.as_str(), it.text.clone()));
        let kept = briefing.outputs.iter();
        let kept = kept.filter(|output| output.turn < now && !output.has_own_section);
        let kept = kept.filter_map(|output| {
            let result = result::of(&output.what, &output.text)?;
            Some((output.seq, output.turn, output.what.as_str(), result))
        });
        older.chain(kept).collect()
    }

    fn in_view(&self, strength: u16) -> u16 {
        if self.is_small() { strength / SMALL_DIVISOR } else { strength }
    }
}
