//! The steps of the last prompt template.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use rustc_hash::FxBuildHasher;

use super::super::answer;
use super::super::kinds::EvidenceKind;
use super::super::terms;
use super::{Builder, CURRENT_STEP, requests};

/// Weight factors of the first and the last step of a template.
const FIRST_STEP: f64 = 0.85;
const LAST_STEP: f64 = 1.25;

/// A word of the heading above what an agent does to take on a role, and the weight factor of that afterwards.
const ACTIVATION: &str = "activation";
const ROLE_TAKEN_ON: f64 = 0.3;

/// Terms that the agent's words share with the step that they are about.
const TERMS_OF_STEP: usize = 2;

impl Builder<'_> {
    /// Weighs later steps of a template higher: they are more likely open, and the last ones say what to
    /// deliver.
    pub(super) fn template(&mut self) {
        let first = self.candidates.len();
        self.lines(EvidenceKind::Template, self.briefing.template.iter());
        let steps = &mut self.candidates[first..];
        let last = u32::try_from(steps.len()).unwrap_or(u32::MAX).max(2) - 1;
        for (at, step) in (0..).zip(steps) {
            step.weight *= FIRST_STEP + (LAST_STEP - FIRST_STEP) * f64::from(at) / f64::from(last);
        }
        // A role was taken on with the first report.
        if self.briefing.is_role && self.briefing.reports.iter().next().is_some() {
            let steps = self.candidates[first..].iter_mut();
            let of_activation = steps.filter(|step| step.heading.contains(ACTIVATION));
            of_activation.for_each(|step| step.weight *= ROLE_TAKEN_ON);
        }
        self.raise_current_step(first);
    }

    /// Whether the last template still says what to do: it is a role, or the person only answered since.
    pub(super) fn is_template_current(&self) -> bool {
        let briefing = self.briefing;
        let of = briefing.template.iter().next().map_or(0, |step| step.turn);
        let since = briefing.requests.iter().filter(|line| line.turn > of);
        let mut typed = since.filter(|line| !requests::is_answer(line));
        briefing.is_role || typed.all(|line| line.text.len() <= answer::ANSWER_BYTES)
    }

    /// Raises the step of the template that the agent's last words are about, and the one after it.
    fn raise_current_step(&mut self, first: usize) {
        let said: HashSet<u32> = self.briefing.last_words().flat_map(terms::of).collect();
        let steps: Vec<Vec<u32>> =
            self.candidates[first..].iter().map(|step| terms::of(&step.text)).collect();
        let mut steps_with: HashMap<u32, usize, FxBuildHasher> = HashMap::default();
        for term in steps.iter().flatten() {
            *steps_with.entry(*term).or_default() += 1;
        }
        // What most steps say shows none of them.
        let shows = |term: &&u32| said.contains(term) && steps_with[*term] <= 2;
        let shared = steps.iter().map(|of| of.iter().filter(shows).count()).enumerate();
        let best = shared.max_by_key(|(at, shared)| (*shared, Reverse(*at)));
        let Some((at, _)) = best.filter(|(_, shared)| *shared >= TERMS_OF_STEP) else { return };
        for step in self.candidates[first..].iter_mut().skip(at).take(2) {
            step.weight *= CURRENT_STEP;
        }
    }
}
