//! Chooses lines for a budget: the most said about what matters, for the fewest tokens.
//!
//! A line is worth the terms it says that nothing chosen says yet. A term weighs more when the last turns
//! are about it, when many turns speak of it, and when few lines hold it. Greedy choice by worth for cost is
//! within a constant of the best for such (submodular) sums, and fast: worth only falls, so a line is
//! looked at again only when it comes up.
//!
//! Numbers are summed in one order and only `+ × ÷ √` are used, so every machine chooses alike.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap, HashSet};

use rustc_hash::FxBuildHasher;

use super::gather::SMALL_TOKENS;
use super::kinds::{EvidenceKind, RULES};
use super::terms;
use crate::tokens;

/// A line that may be chosen.
#[derive(Debug, Clone)]
pub(super) struct Quote {
    pub kind: EvidenceKind,
    /// Ranks lines of a section in the text.
    pub order: (u64, u64),
    /// Weight of its kind and age times the strength of its form.
    pub weight: f64,
    /// Label above it: a turn or a file; lines of one group share it. The line of a file is a label itself.
    pub group: String,
    pub heading: String,
    pub text: String,
    /// Must stand in the view, whatever it says.
    pub is_fixed: bool,
    /// The next line goes on from it: where that is left out, the view says so.
    pub goes_on: bool,
    /// Neighbours of one number are chosen together; 0 stands alone.
    pub unit: u32,
}

impl Quote {
    /// The line of the transcript it was taken from; `None` for what is counted or put together from many.
    pub fn seq(&self) -> Option<u64> {
        use EvidenceKind::{
            Added, Check, Document, FailedCommand, Git, Remark, Report, Request, Rule, Seen,
            Template,
        };
        let is_of_line = matches!(
            self.kind,
            Request
                | Template
                | Report
                | Remark
                | Document
                | Rule
                | Added
                | FailedCommand
                | Check
                | Git
                | Seen
        );
        Some(self.order.0).filter(|seq| is_of_line && *seq != u64::MAX)
    }
}

/// What the work is about: terms and how often the last turns said them, or how many turns did.
#[derive(Debug, Default)]
pub(super) struct Focus {
    pub recent: HashMap<u32, u32, FxBuildHasher>,
    pub central: HashMap<u32, u32, FxBuildHasher>,
}

impl Focus {
    /// The words of a turn: `weight` for what is recent, 0 for older turns.
    pub(super) fn add(&mut self, text: &str, weight: u32) {
        for term in terms::of(text) {
            *self.central.entry(term).or_default() += 1;
            if weight > 0 {
                *self.recent.entry(term).or_default() += weight;
            }
        }
    }

    /// Makes the terms of a text count like those that the last turns said most.
    pub(super) fn aim_at(&mut self, text: &str) {
        let most = self.recent.values().copied().max().unwrap_or(1);
        for term in terms::of(text) {
            self.recent.insert(term, most);
            *self.central.entry(term).or_default() += CENTRAL_TURNS;
        }
    }
}

/// Turns that speak of a term, from which on it counts most.
const CENTRAL_TURNS: u32 = 5;

/// Worth of a term that was said this many times already.
const AGAIN: [f64; 4] = [1.0, 0.35, 0.12, 0.05];

/// Lines worth less wait until the others had more than their share, or are left out even where there is room.
const WORTH_MIN_OF_SHARE: f64 = 0.02;
const WORTH_MIN: f64 = 0.002;

/// A line, or lines that are chosen together, of one kind and heading.
struct Weighed {
    lines: Vec<Quote>,
    terms: Vec<u32>,
    tokens: u64,
}

#[derive(PartialEq)]
struct Offer {
    worth: f64,
    index: usize,
}

impl Eq for Offer {}

impl Ord for Offer {
    fn cmp(&self, other: &Self) -> Ordering {
        self.worth.total_cmp(&other.worth).then_with(|| other.index.cmp(&self.index))
    }
}

impl PartialOrd for Offer {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The candidates, ready to be chosen from for any budget.
pub(super) struct Selection {
    weighed: Vec<Weighed>,
    worth: HashMap<u32, f64, FxBuildHasher>,
    /// Terms that the reader knows from elsewhere.
    said: HashMap<u32, usize, FxBuildHasher>,
}

/// A choice in the making.
struct Choice<'a> {
    weighed: &'a [Weighed],
    worth: &'a HashMap<u32, f64, FxBuildHasher>,
    said: HashMap<u32, usize, FxBuildHasher>,
    /// Groups and headings whose label is paid.
    labels: HashSet<(EvidenceKind, &'a str, &'a str), FxBuildHasher>,
    used: [u64; RULES.len()],
    left: u64,
    budget: u64,
    chosen: Vec<bool>,
}

impl Selection {
    /// What `known` says needs no saying again.
    pub(super) fn new(candidates: Vec<Quote>, focus: &Focus, known: &str) -> Self {
        let mut weighed: Vec<Weighed> = Vec::with_capacity(candidates.len());
        for line in candidates {
            match weighed.last_mut().filter(|last| line.unit > 0 && last.unit() == line.unit) {
                Some(last) => last.add(line),
                None => weighed.push(Weighed::of(line)),
            }
        }
        let mut lines: HashMap<u32, u32, FxBuildHasher> = HashMap::default();
        for term in weighed.iter().flat_map(|w| &w.terms) {
            *lines.entry(*term).or_default() += 1;
        }
        let most = f64::from(focus.recent.values().copied().max().unwrap_or(1).max(1));
        let count = |of: &HashMap<u32, u32, FxBuildHasher>, term| {
            f64::from(of.get(term).copied().unwrap_or(0))
        };
        let worth = lines.iter().map(|(term, lines)| {
            let rarity = 1.0 / f64::from(*lines).sqrt().sqrt();
            let recent = (count(&focus.recent, term) / most).sqrt();
            let central =
                count(&focus.central, term).min(CENTRAL_TURNS.into()) / f64::from(CENTRAL_TURNS);
            (*term, rarity * (0.35 + 1.6 * recent + central))
        });
        let said = terms::of(known).into_iter().map(|term| (term, 1));
        Self { weighed, worth: worth.collect(), said: said.collect() }
    }

    /// The lines to show within `budget` tokens.
    pub(super) fn select(&self, budget: u64) -> Vec<&Quote> {
        let mut choice = Choice {
            weighed: &self.weighed,
            worth: &self.worth,
            said: self.said.clone(),
            labels: HashSet::default(),
            used: [0; RULES.len()],
            left: budget,
            budget,
            chosen: vec![false; self.weighed.len()],
        };
        let fixed = (0..self.weighed.len()).filter(|index| self.weighed[*index].lines[0].is_fixed);
        fixed.for_each(|index| choice.take(index));
        // First each kind within its share, then what is left to whoever is worth it.
        choice.fill(true);
        choice.fill(false);
        let chosen = self.weighed.iter().zip(choice.chosen);
        chosen.filter(|(_, is_chosen)| *is_chosen).flat_map(|(w, _)| &w.lines).collect()
    }
}

impl Weighed {
    fn of(line: Quote) -> Self {
        let terms = terms::of(&line.text);
        let tokens = tokens::of_text(&line.text) + 1;
        Self { lines: vec![line], terms, tokens }
    }

    fn unit(&self) -> u32 {
        self.lines[0].unit
    }

    fn add(&mut self, line: Quote) {
        self.tokens += tokens::of_text(&line.text) + 1;
        self.terms.extend(terms::of(&line.text));
        self.terms.sort_unstable();
        self.terms.dedup();
        // The weight of a unit is that of its strongest line.
        self.lines[0].weight = self.lines[0].weight.max(line.weight);
        self.lines.push(line);
    }
}

impl<'a> Choice<'a> {
    fn fill(&mut self, within_shares: bool) {
        let open = (0..self.weighed.len()).filter(|index| !self.chosen[*index]);
        let mut heap: BinaryHeap<Offer> =
            open.map(|index| Offer { worth: self.worth_of(index), index }).collect();
        while let Some(Offer { index, .. }) = heap.pop() {
            let cost = self.cost(index);
            let kind = self.weighed[index].lines[0].kind;
            let share = self.budget * u64::from(kind.rule().share_percent) / 100;
            let is_over = within_shares && self.used[kind as usize] + cost > share;
            if cost > self.left || is_over {
                continue;
            }
            let worth = self.worth_of(index);
            if worth < if within_shares { WORTH_MIN_OF_SHARE } else { WORTH_MIN } {
                continue;
            }
            if heap.peek().is_some_and(|next| next.worth > worth) {
                heap.push(Offer { worth, index });
                continue;
            }
            self.take(index);
        }
    }

    fn worth_of(&self, index: usize) -> f64 {
        let line = &self.weighed[index];
        let mut sum = 0.15;
        for term in &line.terms {
            let said = self.said.get(term).copied().unwrap_or(0).min(AGAIN.len() - 1);
            sum += self.worth.get(term).copied().unwrap_or(0.0) * AGAIN[said];
        }
        // Costs count a little less than in full: a whole thought is worth more than two halves. Where room is short they
        // count in full.
        let cost = to_f64(self.cost(index) + 3);
        let counted =
            if self.budget < SMALL_TOKENS { cost } else { cost.sqrt() * cost.sqrt().sqrt() };
        line.lines[0].weight * sum / counted
    }

    /// Tokens of a line, and of the labels above it that are not there yet.
    fn cost(&self, index: usize) -> u64 {
        let Weighed { lines, tokens, .. } = &self.weighed[index];
        let candidate = &lines[0];
        let label = |group: &'a str, heading: &'a str, words: &str| {
            let is_new = !words.is_empty()
                && candidate.kind != EvidenceKind::File
                && !self.labels.contains(&(candidate.kind, group, heading));
            if is_new { tokens::of_text(words) + 2 } else { 0 }
        };
        let group = label(&candidate.group, "", &candidate.group);
        let title = || tokens::of_text(candidate.kind.legend()) + 4;
        let section = if self.used[candidate.kind as usize] == 0 { title() } else { 0 };
        tokens + group + label(&candidate.group, &candidate.heading, &candidate.heading) + section
    }

    fn take(&mut self, index: usize) {
        let cost = self.cost(index);
        if self.chosen[index] || cost > self.left {
            return;
        }
        let line = &self.weighed[index];
        let candidate = &line.lines[0];
        self.left -= cost;
        self.used[candidate.kind as usize] += cost;
        self.labels.insert((candidate.kind, &candidate.group, ""));
        self.labels.insert((candidate.kind, &candidate.group, &candidate.heading));
        // Added lines stand below the line of their file.
        if candidate.kind == EvidenceKind::File {
            self.labels.insert((EvidenceKind::Added, &candidate.group, ""));
        }
        self.chosen[index] = true;
        for term in &line.terms {
            *self.said.entry(*term).or_default() += 1;
        }
    }
}

/// Costs are far below 2^53.
fn to_f64(tokens: u64) -> f64 {
    f64::from(u32::try_from(tokens).unwrap_or(u32::MAX))
}
