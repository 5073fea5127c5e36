//! Raises quotes from files that matter for what comes next.

use super::super::documents;
use super::super::kinds::EvidenceKind;
use super::super::select::Quote;
use super::{Builder, shares};

/// Open tasks to search for file names, the minimum length of such a name, and the weight factors of named
/// files.
const TASKS_AHEAD: usize = 8;
const NAME_BYTES_MIN: usize = 6;
const NAMED_WEIGHT: f64 = 1.5;
const READ_FOR_STEP_WEIGHT: f64 = 1.25;

/// A request shorter than this names no files itself.
const SHORT_REQUEST_BYTES: usize = 80;

/// Weight factor of the lines of files that the last calls read or wrote.
const UNREAD_WEIGHT: f64 = 2.0;

/// Weight factors of what the last edits of a running turn added, newest first. Nothing else says yet what they did, so
/// their least line counts as an ordinary one.
const NEWEST_EDITS: [f64; 2] = [2.0, 1.4];

/// Maximum lines of such an edit: all lines of a file that was written whole would displace what it is for.
const NEWEST_EDIT_LINES: usize = 16;

impl Builder<'_> {
    /// Raises what the last edits of the running turn added: its half-done change.
    pub(super) fn raise_newest_edits(&mut self, first: usize) {
        let briefing = self.briefing;
        if briefing.pending_words().next().is_some() {
            return;
        }
        let of_turn = briefing.added.iter().rev().filter(|line| line.turn == briefing.turn());
        let mut edits: Vec<u64> = of_turn.map(|line| line.seq).collect();
        edits.dedup();
        for (edit, factor) in edits.into_iter().zip(NEWEST_EDITS) {
            let is_of_edit = |quote: &&mut Quote<'_>| quote.order.0 == edit;
            let quotes = self.candidates[first..].iter_mut().filter(is_of_edit);
            let quotes: Vec<_> = quotes.collect();
            if quotes.len() > NEWEST_EDIT_LINES {
                continue;
            }
            for quote in quotes {
                quote.weight = quote.weight.max(quote.kind.rule().weights[0]) * factor;
            }
        }
    }

    /// Raises what the agent's last calls read and wrote: it has not gone on from it yet.
    pub(super) fn raise_unread(&mut self) {
        let Some(last_call) = self.briefing.actions.back().map(|call| call.seq) else { return };
        let of_files = [EvidenceKind::Document, EvidenceKind::Rule, EvidenceKind::Added];
        let is_of_files = |quote: &&mut Quote<'_>| of_files.contains(&quote.kind);
        for quote in self.candidates.iter_mut().filter(is_of_files) {
            if quote.order.0 > last_call {
                // Instructions of a tool, too, which weigh little later.
                let percent = match quote.kind {
                    EvidenceKind::Document => documents::percent_of(&quote.group),
                    _ => 100,
                };
                quote.weight *= UNREAD_WEIGHT * 100.0 / f64::from(percent);
            }
        }
    }

    /// Raises the first lines of each recently edited file, so that every file appears before any is
    /// complete.
    pub(super) fn raise_first_of_edits(&mut self, first: usize) {
        let (briefing, now) = (self.briefing, self.briefing.turn());
        let is_recent = |quote: &Quote<'_>| {
            let effect = briefing.effects.of(&quote.group);
            effect.is_some_and(|effect| effect.turn + 1 >= now && !effect.is_deleted)
        };
        shares::raise_first(&mut self.candidates[first..], is_recent);
    }

    /// Raises quotes from files that the next tasks or the current request name.
    pub(super) fn raise_named(&mut self) {
        let mut ahead = self.briefing.active().1.to_owned();
        let tasks = self.briefing.tasks.current().map(|(_, tasks)| tasks).unwrap_or_default();
        for task in tasks.iter().filter(|task| !task.is_done).take(TASKS_AHEAD) {
            ahead.push(' ');
            ahead.push_str(&task.text);
        }
        // "Go on" is about the files of the report before it.
        if ahead.len() < SHORT_REQUEST_BYTES {
            for line in self.briefing.last_report() {
                ahead.push(' ');
                ahead.push_str(line);
            }
        }
        let steps = self.briefing.template.iter().filter(|_| self.is_template_current());
        let steps: Vec<&str> = steps.map(|step| step.text.as_str()).collect();
        let names = |words: &str, path: &str| {
            let name = path.rsplit('/').next().unwrap_or(path);
            name.len() >= NAME_BYTES_MIN && name.contains('.') && words.contains(name)
        };
        let of_files =
            [EvidenceKind::File, EvidenceKind::Added, EvidenceKind::Document, EvidenceKind::Rule];
        // Neighbors are mostly of one file.
        let mut last: (&str, bool) = ("", names(&ahead, ""));
        for quote in self.candidates.iter_mut().filter(|quote| of_files.contains(&quote.kind)) {
            let Quote { kind, group, weight, .. } = quote;
            if last.0 != group {
                last = (group, names(&ahead, group));
            }
            if last.1 {
                *weight = weight.max(kind.rule().weights[0]) * NAMED_WEIGHT;
            } else if *kind == EvidenceKind::Document && steps.iter().any(|step| names(step, group))
            {
                *weight *= READ_FOR_STEP_WEIGHT;
            }
        }
    }
}
