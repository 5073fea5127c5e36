//! The steps of the workflow that is under way: the current and the next one say what to do.

use std::collections::{BTreeMap, HashMap, HashSet};

use rustc_hash::{FxBuildHasher, FxHashSet};

use super::super::documents::{self, step_in, steps_in};
use super::super::kinds::EvidenceKind;
use super::super::terms;
use super::{Builder, CURRENT_STEP};

/// Weight factor of the steps after the next one.
const LATER_STEP: f64 = 0.4;

/// Terms that a request shares with the step that it is about, and steps in which a term may be to show one.
const TERMS_OF_STEP: usize = 2;
const STEPS_WITH_TERM: usize = 1;

/// Maximum bytes of a choice from a menu.
const CHOICE_BYTES: usize = 3;

impl Builder<'_> {
    /// Quotes the steps that are not done. Once instructions of another workflow were read, the steps weigh little; if no
    /// step was spoken of, all are quoted.
    pub(super) fn workflow(&mut self) {
        let first = self.candidates.len();
        self.lines(EvidenceKind::Template, self.briefing.workflow.iter());
        if self.has_read_another_workflow() {
            let read = &mut self.candidates[first..];
            return read.iter_mut().for_each(|quote| quote.weight *= LATER_STEP);
        }
        let Some(current) = self.step_under_way() else { return };
        let of_step = |heading: &str| step_in(heading).unwrap_or(0);
        let mut read = self.candidates.split_off(first);
        let typed = Some(self.briefing.active().1.trim());
        let chosen = typed.filter(|_| read.iter().any(|quote| choice_in(&quote.heading) == typed));
        read.retain(|quote| {
            let choice = chosen.and_then(|_| choice_in(&quote.heading));
            of_step(&quote.heading) >= current && (choice.is_none() || choice == chosen)
        });
        for quote in &mut read {
            quote.weight = quote.weight.max(quote.kind.rule().weights[0]);
            let is_chosen = chosen.is_some() && choice_in(&quote.heading) == chosen;
            quote.weight *= match of_step(&quote.heading) - current {
                0 if is_chosen => CURRENT_STEP * CURRENT_STEP,
                0 => CURRENT_STEP,
                1 => 1.0,
                _ => LATER_STEP,
            };
        }
        self.candidates.extend(read);
    }

    /// Whether instructions of another workflow were read since: the steps are those of a part that has ended.
    fn has_read_another_workflow(&self) -> bool {
        let briefing = self.briefing;
        let Some(last) = briefing.workflow.iter().next_back() else { return false };
        let mut read = briefing.rules.iter().chain(briefing.documents.iter());
        read.any(|line| {
            line.seq > last.seq && line.group != last.group && documents::is_workflow(&line.group)
        })
    }

    /// The number of the step that the agent and the person spoke of last.
    fn step_under_way(&self) -> Option<u32> {
        let briefing = self.briefing;
        let last = briefing.workflow.iter().filter_map(|line| step_in(&line.heading)).max();
        // A greater number is of something else, such as a phase of the project.
        let step_in = |words: &str| steps_in(words).filter(|step| Some(*step) <= last).max();
        // With what it answers.
        let asked = briefing.requests.iter().rev();
        let asked = asked.take_while(|line| line.seq == briefing.active().0);
        let asked: String = asked.flat_map(|line| [line.text.as_str(), "\n"]).collect();
        let named = briefing.last_words().find_map(step_in).or_else(|| {
            let report = briefing.last_report().into_iter();
            report.chain([asked.as_str()]).filter_map(step_in).max()
        });
        self.step_about(&asked).max(named)
    }

    /// The step that shares most terms with a request which no other step has.
    fn step_about(&self, asked: &str) -> Option<u32> {
        let asked: FxHashSet<u32> = terms::of(asked).into_iter().collect();
        let mut steps_with: HashMap<u32, HashSet<u32>, FxBuildHasher> = HashMap::default();
        for line in self.briefing.workflow.iter() {
            let Some(step) = step_in(&line.heading) else { continue };
            for term in terms::of(&line.text).into_iter().filter(|term| asked.contains(term)) {
                steps_with.entry(term).or_default().insert(step);
            }
        }
        let mut shared: BTreeMap<u32, usize> = BTreeMap::new();
        for steps in steps_with.values().filter(|steps| steps.len() <= STEPS_WITH_TERM) {
            steps.iter().for_each(|step| *shared.entry(*step).or_default() += 1);
        }
        let best = shared.into_iter().max_by_key(|(_, terms)| *terms);
        best.filter(|(_, terms)| *terms >= TERMS_OF_STEP).map(|(step, _)| step)
    }
}

/// The choice that a part of a step is for: the last word of `step 4, if the person chooses 2`.
fn choice_in(heading: &str) -> Option<&str> {
    let (_, condition) = heading.split_once(", if ")?;
    let last = condition.rsplit(' ').next()?;
    Some(last).filter(|last| last.len() <= CHOICE_BYTES && condition.contains("choose"))
}
