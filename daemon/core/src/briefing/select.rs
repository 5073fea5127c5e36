//! Chooses lines for a budget: the most information on the subject for the fewest tokens.
//!
//! A line is worth the terms it contains that no chosen line contains yet. A term weighs more if the last
//! turns are about it, if many turns mention it, and if few lines contain it. Greedy choice by worth per cost
//! is within a constant factor of the optimum for such submodular sums, and fast: worth only falls, so a line
//! is re-evaluated only when it reaches the top.
//!
//! Sums have a fixed order and use only `+ × ÷ √`, so every machine chooses the same lines.

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
    /// Order of lines within a section.
    pub order: (u64, u64),
    /// Weight of its kind and age times the strength of its form.
    pub weight: f64,
    /// Label above it: a turn or a file; lines of one group share it. A file's line is its own label.
    pub group: String,
    pub heading: String,
    pub text: String,
    /// Must appear in the view, regardless of its worth.
    pub is_fixed: bool,
    /// The next line continues it: if that is omitted, the view marks the gap.
    pub goes_on: bool,
    /// Neighbours with the same number are chosen together; 0 means alone.
    pub unit: u32,
}

impl Quote {
    /// The transcript line it was taken from; `None` for counts and combined lines.
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

/// The subject of the work: terms, with how often the last turns used them and how many turns did.
#[derive(Debug, Default)]
pub(super) struct Focus {
    pub recent: HashMap<u32, u32, FxBuildHasher>,
    pub central: HashMap<u32, u32, FxBuildHasher>,
}

impl Focus {
    /// Adds the words of a turn; `weight` is 0 for older turns.
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

/// Number of turns about a term at which its weight is highest.
const CENTRAL_TURNS: u32 = 5;

/// Factor for a term that was already said this many times.
const AGAIN: [f64; 4] = [1.0, 0.35, 0.12, 0.05];

/// Minimum worth within the shares, and beyond them even if there is room.
const WORTH_MIN_OF_SHARE: f64 = 0.02;
const WORTH_MIN: f64 = 0.002;

/// One line, or several of one kind and heading that are chosen together.
struct QuoteGroup {
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

/// The candidates, ready for selection with any budget.
pub(super) struct Selection {
    groups: Vec<QuoteGroup>,
    worth: HashMap<u32, f64, FxBuildHasher>,
    /// Terms that the reader already knows.
    said: HashMap<u32, usize, FxBuildHasher>,
}

/// A selection in progress.
struct SelectionState<'a> {
    groups: &'a [QuoteGroup],
    worth: &'a HashMap<u32, f64, FxBuildHasher>,
    said: HashMap<u32, usize, FxBuildHasher>,
    /// Groups and headings whose label is already counted.
    labels: HashSet<(EvidenceKind, &'a str, &'a str), FxBuildHasher>,
    used: [u64; RULES.len()],
    left: u64,
    budget: u64,
    chosen: Vec<bool>,
}

impl Selection {
    /// `known` is text that need not be repeated.
    pub(super) fn new(quotes: Vec<Quote>, focus: &Focus, known: &str) -> Self {
        let mut groups: Vec<QuoteGroup> = Vec::with_capacity(quotes.len());
        for line in quotes {
            match groups.last_mut().filter(|last| line.unit > 0 && last.unit() == line.unit) {
                Some(last) => last.add(line),
                None => groups.push(QuoteGroup::of(line)),
            }
        }
        let mut lines: HashMap<u32, u32, FxBuildHasher> = HashMap::default();
        for term in groups.iter().flat_map(|w| &w.terms) {
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
        Self { groups, worth: worth.collect(), said: said.collect() }
    }

    /// The lines to show within `budget` tokens.
    pub(super) fn select(&self, budget: u64) -> Vec<&Quote> {
        let mut choice = SelectionState {
            groups: &self.groups,
            worth: &self.worth,
            said: self.said.clone(),
            labels: HashSet::default(),
            used: [0; RULES.len()],
            left: budget,
            budget,
            chosen: vec![false; self.groups.len()],
        };
        let fixed = (0..self.groups.len()).filter(|index| self.groups[*index].lines[0].is_fixed);
        fixed.for_each(|index| choice.take(index));
        // First fill each kind's share, then the rest by worth.
        choice.fill(true);
        choice.fill(false);
        let chosen = self.groups.iter().zip(choice.chosen);
        chosen.filter(|(_, is_chosen)| *is_chosen).flat_map(|(w, _)| &w.lines).collect()
    }
}

impl QuoteGroup {
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

impl<'a> SelectionState<'a> {
    fn fill(&mut self, within_shares: bool) {
        let open = (0..self.groups.len()).filter(|index| !self.chosen[*index]);
        let mut heap: BinaryHeap<Offer> =
            open.map(|index| Offer { worth: self.worth_of(index), index }).collect();
        while let Some(Offer { index, .. }) = heap.pop() {
            let cost = self.cost(index);
            let kind = self.groups[index].lines[0].kind;
            let rule = kind.rule();
            let percent = if within_shares { rule.share_percent } else { rule.max_percent };
            let is_over = self.used[kind as usize] + cost > self.budget * u64::from(percent) / 100;
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
        let line = &self.groups[index];
        let mut sum = 0.15;
        for term in &line.terms {
            let said = self.said.get(term).copied().unwrap_or(0).min(AGAIN.len() - 1);
            sum += self.worth.get(term).copied().unwrap_or(0.0) * AGAIN[said];
        }
        // Costs count slightly less than in full, because one complete thought is worth more than two halves.
        // In a small budget they count in full.
        let cost = to_f64(self.cost(index) + 3);
        let counted =
            if self.budget < SMALL_TOKENS { cost } else { cost.sqrt() * cost.sqrt().sqrt() };
        line.lines[0].weight * sum / counted
    }

    /// Tokens of a line, and of the labels above it that are not counted yet.
    fn cost(&self, index: usize) -> u64 {
        let QuoteGroup { lines, tokens, .. } = &self.groups[index];
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
        let line = &self.groups[index];
        let candidate = &line.lines[0];
        self.left -= cost;
        self.used[candidate.kind as usize] += cost;
        self.labels.insert((candidate.kind, &candidate.group, ""));
        self.labels.insert((candidate.kind, &candidate.group, &candidate.heading));
        // Added lines are shown below their file's line.
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
