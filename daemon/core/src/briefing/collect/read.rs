//! Documents that were read as evidence.

use std::collections::{HashMap, HashSet};

use rustc_hash::FxBuildHasher;

use super::super::documents::{self, lower_older_entries};
use super::super::evidence::Line;
use super::super::kinds::EvidenceKind;
use super::super::spot::{Shape, Spot};
use super::super::{lines, tasks};
use super::Briefing;

/// The form in which commands and skills are written.
const STEPS_FILE: &str = "steps.md";

impl Briefing {
    /// Records what reading a file printed.
    pub(in crate::briefing) fn record_read(&mut self, seq: u64, path: &str, printed: &str) {
        if tasks::is_list(path) {
            self.tasks.read(seq, path, printed.lines());
        }
        if !documents::is_document(path) {
            return;
        }
        let percent = documents::percent_of(path);
        let typed = self.requests.iter().map(|line| line.text.as_str());
        let named = typed.chain(self.skills.iter().map(String::as_str));
        let binds = documents::binds(path, named);
        let has_steps = binds && documents::has_steps(printed);
        let is_workflow = documents::is_workflow(path);
        let (turn, rules) = (self.turn, &mut self.rules);
        if documents::is_step(path) && is_workflow {
            // A step is finished once another one is read.
            let is_step = |path: &str| documents::is_step(path) && documents::is_workflow(path);
            let holds = |line: &Line| line.group == path || !is_step(&line.group);
            rules.retain(holds);
            self.documents.retain(holds);
        }
        let line = |heading: &str, text: String, strength: u16, spot: Spot| {
            let (group, heading) = (path.to_owned(), heading.to_owned());
            Line { seq, turn, strength, group, heading, text, spot, is_cut: false }
        };
        let mut read = Vec::new();
        documents::passages(path, printed, |passage| {
            // What is left to do says more.
            if documents::is_ticked(passage.text) {
                return;
            }
            // Of a workflow, what to do is said in other lines, too.
            let is_order = || documents::rule_strength(passage.text).is_some();
            if !binds || (is_workflow || has_steps) && !is_order() {
                let text = lines::tidy(passage.text, None, 240);
                let percent = if passage.is_sample { percent / 2 } else { percent };
                let strength = passage.strength * percent / 100;
                read.push(line(passage.heading, text, strength, passage.spot));
                return;
            }
            // A workflow's block of code is a text to show the person.
            if is_workflow && passage.spot.shape == Shape::Code {
                return;
            }
            lines::each_sentence(passage.text, |sentence| {
                let Some(strength) = documents::rule_strength(sentence) else { return };
                let text = lines::tidy(sentence, None, 200);
                // A rule that is read again appears once.
                rules.retain(|line| line.text != text);
                rules.add(EvidenceKind::Rule, line("", text, strength, Spot::default()));
            });
        });
        if has_steps {
            return self.record_workflow(path, read);
        }
        lower_older_entries(&mut read);
        self.replace_known(path, &mut read);
        for line in read {
            self.documents.add(EvidenceKind::Document, line);
        }
    }

    /// Records the steps that a command or skill consists of.
    pub(super) fn record_steps(&mut self, seq: u64, name: &str, text: &str) {
        let mut steps = Vec::new();
        documents::passages(STEPS_FILE, text, |passage| {
            steps.push(Line {
                seq,
                turn: self.turn,
                strength: passage.strength,
                group: name.to_owned(),
                heading: passage.heading.to_owned(),
                text: lines::tidy(passage.text, None, 240),
                spot: passage.spot,
                is_cut: false,
            });
        });
        self.record_workflow(name, steps);
    }

    /// Records the steps of a workflow, which may be read in parts.
    fn record_workflow(&mut self, path: &str, read: Vec<Line>) {
        self.workflow
            .retain(|line| line.group == path && !read.iter().any(|again| again.text == line.text));
        for line in read {
            self.workflow.push(line, EvidenceKind::Template.rule().bytes_max);
        }
    }

    /// Drops lines of a document that are read again. A part of a document begins below a heading that only an
    /// earlier read showed.
    pub(super) fn replace_known(&mut self, path: &str, read: &mut [Line]) {
        if !self.documents.has_group(path) {
            return;
        }
        let of_path = self.documents.iter().filter(|line| line.group == path);
        let known: HashMap<&str, &Line, FxBuildHasher> =
            of_path.map(|line| (line.text.as_str(), line)).collect();
        let mut above = String::new();
        let mut is_begin = true;
        for line in read.iter_mut() {
            is_begin &= line.heading.is_empty();
            let before = known.get(line.text.as_str());
            if let Some(before) = before {
                // An entry that was an older one remains that, also where the newer ones are not read again.
                line.strength = line.strength.min(before.strength);
                if before.heading.ends_with(&line.heading) {
                    above.clone_from(&before.heading);
                }
            }
            if is_begin || before.is_some_and(|before| before.heading.ends_with(&line.heading)) {
                line.heading.clone_from(&above);
            }
        }
        let again: HashSet<&str, FxBuildHasher> =
            read.iter().map(|line| line.text.as_str()).collect();
        self.documents.retain_in(path, |line| !again.contains(line.text.as_str()));
    }
}
