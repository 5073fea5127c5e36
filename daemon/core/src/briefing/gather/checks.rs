//! Checks and failures as quotes.

use super::super::checks::{Check, EDIT, has_verbs};
use super::super::collect::TurnOutcome;
use super::super::coverage;
use super::super::kinds::EvidenceKind;
use super::Builder;

/// Strength of an earlier turn's failure whose command worked later, and of one that needed another command: it would fail
/// again.
const MENDED_STRENGTH: u16 = 35;
const REPLACED_STRENGTH: u16 = 80;

/// Maximum files that changed after a check to name.
const NAMED_MAX: usize = 2;

/// Strength of the newest failure of the current turn.
const NEWEST_STRENGTH: u16 = 250;

impl Builder<'_> {
    pub(super) fn commands(&mut self) {
        let now = self.briefing.turn();
        let commands = &self.briefing.commands;
        for (newer, check) in commands.checks.iter().rev().enumerate() {
            let has_passed_since = commands.has_passed_after(check);
            if check.turn < now && check.outcome.is_failure() && has_passed_since {
                continue;
            }
            let strength = match newer {
                0 | 1 => 120,
                _ if has_passed_since => 40,
                _ => 80,
            };
            let (text, age) = (self.check_words(check), self.age_of(check.turn));
            self.push(EvidenceKind::Check, (check.seq, 0), (age, strength), text);
        }
        // A check is listed under CHECKS with its latest outcome.
        let is_check = |seq: u64| commands.checks.iter().any(|check| check.seq == seq);
        let is_open = self.briefing.outcome(now) == TurnOutcome::Open;
        let newest = commands.failures.iter().filter(|failure| {
            is_open && failure.turn == now && !failure.is_usable && !is_check(failure.seq)
        });
        let newest = newest.map(|failure| failure.seq).max();
        for failure in commands.failures.iter().filter(|failure| !is_check(failure.seq)) {
            let place = if failure.needs_no_sandbox { ", outside the sandbox" } else { "" };
            let repair = match (&failure.repair, failure.program.as_str()) {
                (Some(repair), EDIT) => format!("; {repair}"),
                (Some(repair), _) if failure.text.starts_with(repair.as_str()) => {
                    format!("; worked later{place}")
                }
                (Some(repair), _) => format!("; then worked{place}: {repair}"),
                // The report of that turn covers it.
                (None, EDIT) if failure.turn < now => continue,
                // Another `git …` that worked says nothing about this one.
                (None, program)
                    if failure.is_usable && (failure.is_compound || !has_verbs(program)) =>
                {
                    if failure.turn < now {
                        continue;
                    }
                    format!("; {program} worked later{place}")
                }
                // Which of several commands succeeded later is unknown.
                (None, _) if failure.turn < now && !failure.is_compound => {
                    "; no later run that worked was seen".to_owned()
                }
                (None, _) => String::new(),
            };
            let text = format!("#{} {}{repair}", failure.seq, failure.text);
            let strength = match &failure.repair {
                Some(repair) if failure.turn < now => {
                    let is_same = failure.text.starts_with(repair.as_str());
                    if is_same || failure.program == EDIT {
                        MENDED_STRENGTH
                    } else {
                        REPLACED_STRENGTH
                    }
                }
                // What the agent is about to react to.
                None if newest == Some(failure.seq) => NEWEST_STRENGTH,
                _ => 100,
            };
            let weight = (self.age_of(failure.turn), strength);
            self.push(EvidenceKind::FailedCommand, (failure.seq, 0), weight, text);
        }
    }

    /// Notes files that changed after a check, which it does not cover.
    fn check_words(&self, check: &Check) -> String {
        let since = coverage::changed_since(check, &self.briefing.effects);
        let mut words = format!("#{} {} → {}", check.seq, check.command, check.result);
        if check.outcome.is_failure() {
            return words;
        }
        match since.len() {
            0 => {}
            1..=NAMED_MAX => words.push_str(&format!(" (changed after it: {})", since.join(", "))),
            count => words.push_str(&format!(" ({count} files changed after it)")),
        }
        words
    }
}

/// Whether a command only queries or waits.
pub(super) fn only_watches(command: &str) -> bool {
    const WATCHING: [&str; 8] =
        ["status", "capture", "wait", "list", "show", "logs", "view", "get"];
    command.split_whitespace().nth(1).is_some_and(|word| WATCHING.contains(&word))
}
