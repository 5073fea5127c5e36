//! Edits as evidence: what they add, and which quotations of their file no longer hold.

use memchr::memmem::Finder;
use rustc_hash::FxHashSet;

use super::super::chain::Chain;
use super::super::checks;
use super::super::documents::{self, FRONT_MATTER};
use super::super::evidence::Line;
use super::super::file_edit::FileEdit;
use super::super::finished::FinishedCommand;
use super::super::kinds::EvidenceKind;
use super::super::{lines, replacements, tasks};
use super::Briefing;
use crate::rollout::shell::Class;
use crate::step::CommandOutcome;
use crate::text;

/// An edit that removes at least this many lines counts as a rewrite of its file.
const REWRITTEN_LINES: usize = 5;

/// A removed line of at least this length also invalidates longer quotations that contain it.
const DISTINCTIVE_BYTES: usize = 12;

/// Strength of a front matter that an edit continues.
const STATE_STRENGTH: u16 = 150;

impl Briefing {
    /// Records the result of a patch. A patch that did not apply counts as a failure until its files are
    /// edited.
    pub(in crate::briefing) fn record_patch(
        &mut self,
        (seq, call_id): (u64, &str),
        paths: &[String],
        outcome: CommandOutcome,
        printed: &str,
    ) {
        if !outcome.is_failure() {
            self.end_action(call_id, "applied");
            return self.commands.edited(seq, paths);
        }
        self.end_action(call_id, &outcome.words());
        let command = format!("edit {}", paths[..paths.len().min(3)].join(", "));
        self.commands.finish(&FinishedCommand {
            seq,
            turn: self.turn,
            command: &command,
            typed: &command,
            chain: Chain::of(&command),
            program: checks::EDIT,
            is_look: false,
            is_unconfined: false,
            class: Class::Other,
            outcome,
            counts: None,
            printed,
            place: "",
        });
    }

    /// Records a change of a file at line `seq`.
    pub(in crate::briefing) fn record_edit(&mut self, seq: u64, edit: &FileEdit) {
        let turn = self.turn;
        self.refused = self.refused.take().filter(|(_, refused)| refused.path != edit.path);
        if !tasks::is_manual(&edit.path) {
            self.tasks.read(seq, &edit.path, edit.added.lines());
            self.tasks.edit(&edit.path);
        }
        self.drop_overwritten(edit);
        if edit.is_deleted {
            for path in self.effects.delete_below(&edit.path) {
                self.added.retain_in(&path, |_| false);
            }
        }
        let branch = self.commands.git.branch().map(str::to_owned);
        let effect = self.effects.record((seq, turn), edit);
        effect.deleted_on = branch.filter(|_| edit.is_deleted);
        let added = &mut self.added;
        // The items of a list that grows are part of its state.
        let only_grows = edit.state.is_some()
            && edit.added.lines().all(|line| lines::item_of(line.trim()).is_some());
        effect.read(edit, |heading, text, strength, spot| {
            if only_grows {
                return;
            }
            let text = added_line(&edit.path, &text);
            let (group, heading) = (edit.path.clone(), heading.to_owned());
            let line = Line { seq, turn, strength, group, heading, text, spot, is_cut: false };
            added.add(EvidenceKind::Added, line);
        });
        if let Some(state) = &edit.state {
            self.record_state(seq, &edit.path, state);
        }
    }

    /// Drops what earlier calls wrote to hand on in temporary files that the call at `seq` wrote anew.
    pub(in crate::briefing) fn drop_rewritten(&mut self, seq: u64, rewrites: &[String]) {
        for heading in rewrites {
            self.remarks.retain(|line| {
                let is_of_file = |rest: &str| rest.starts_with(" (#");
                line.seq == seq
                    || !line.heading.strip_prefix(heading.as_str()).is_some_and(is_of_file)
            });
        }
    }

    /// Drops quotations of a file that an edit removes or overwrites: they no longer hold.
    fn drop_overwritten(&mut self, edit: &FileEdit) {
        let quoted = [&self.added, &self.documents, &self.rules];
        if !quoted.iter().any(|lines| lines.has_group(&edit.path)) {
            return;
        }
        let removed: FxHashSet<String> =
            edit.removed.lines().map(|line| added_line(&edit.path, line)).collect();
        let distinctive = removed.iter().filter(|line| line.len() >= DISTINCTIVE_BYTES);
        let distinctive: Vec<Finder<'_>> = distinctive.map(Finder::new).collect();
        // A quotation may join several lines; if one of them was removed, the quotation is wrong.
        let is_removed = |text: &str| {
            let text = replacements::without_was(text);
            removed.contains(text)
                || distinctive.iter().any(|line| line.find(text.as_bytes()).is_some())
        };
        let is_restored = |text: &str| {
            let removed = replacements::removed(text);
            removed.is_some_and(|removed| edit.added.lines().any(|line| removed.is_of(line)))
        };
        // It is also wrong if lines were added in the middle of it.
        let is_parted = |text: &str| {
            let has_all = |(one, next): &(String, String)| {
                text.find(one.as_str()).is_some_and(|at| text[at..].contains(next.as_str()))
            };
            edit.parted.iter().any(has_all)
        };
        let is_gone = |line: &Line| {
            let text = line.text.as_str();
            let is_rewritten = edit.is_whole || edit.is_deleted;
            is_rewritten || is_parted(text) || is_removed(text) || is_restored(text)
        };
        self.added.retain_in(&edit.path, |line| !is_gone(line));
        // Passages read before a rewrite describe the old text.
        let is_rewritten = removed.len() >= REWRITTEN_LINES || edit.is_whole || edit.is_deleted;
        for read in [&mut self.documents, &mut self.rules] {
            read.retain_in(&edit.path, |line| !is_rewritten && !is_gone(line));
        }
    }

    /// Records how far the front matter of an edited document says that it is.
    fn record_state(&mut self, seq: u64, path: &str, state: &str) {
        let is_front = |line: &&Line| line.group == path && line.heading == FRONT_MATTER;
        let known = self.documents.iter().chain(self.added.iter()).rfind(is_front);
        let text = documents::with_entry(known.map_or("", |line| &line.text), state);
        for lines in [&mut self.documents, &mut self.added] {
            lines.retain_in(path, |line| line.heading != FRONT_MATTER);
        }
        let (turn, strength) = (self.turn, STATE_STRENGTH);
        let (group, heading) = (path.to_owned(), FRONT_MATTER.to_owned());
        let line = Line { seq, turn, strength, group, heading, text, ..Line::default() };
        self.added.add(EvidenceKind::Added, line);
    }
}

/// A line of a file as it is quoted. In code, `**` is no markup.
fn added_line(path: &str, line: &str) -> String {
    match documents::is_prose(path) {
        true => lines::tidy(line, None, 260),
        false => lines::cut(&text::one_line(line), 260).into_owned(),
    }
}
