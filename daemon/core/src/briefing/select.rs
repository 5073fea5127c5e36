//! Chooses lines for a budget: the most information on the subject for the fewest tokens.
//!
//! A line is worth the terms it contains that no chosen line contains yet. A term weighs more if the last
//! turns are about it, if many turns mention it, and if few lines contain it. Greedy choice by worth per cost
//! is within a constant factor of the optimum for such submodular sums, and fast: worth only falls, so a line
//! is re-evaluated only when it reaches the top.
//!
//! Sums have a fixed order and use only `+ × ÷ √`, so every machine chooses the same lines.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};
use std::ops::Range;

use rustc_hash::FxBuildHasher;

use super::kinds::{EvidenceKind, RULES};
use super::spot::Spot;
use super::terms;
use crate::{quote, tokens};

/// Below this many tokens a view is small.
pub(super) const SMALL_TOKENS: u64 = 3_000;

/// A line that may be chosen.
#[derive(Debug, Clone)]
pub(super) struct Quote<'a> {
    pub kind: EvidenceKind,
    /// Order of lines within a section.
    pub order: (u64, u64),
    /// Weight of its kind and age times the strength of its form.
    pub weight: f64,
    /// Label above it: a turn or a file; lines of one group share it. A file's line is its own label.
    pub group: Cow<'a, str>,
    pub heading: Cow<'a, str>,
    pub text: Cow<'a, str>,
    /// Must appear in the view, regardless of its worth.
    pub is_fixed: bool,
    /// The next line continues it: if that is omitted, the view marks the gap.
    pub goes_on: bool,
    pub spot: Spot,
    /// Neighbors with the same number are chosen together; 0 means alone.
    pub unit: u32,
}

impl<'a> Quote<'a> {
    pub fn new(kind: EvidenceKind, order: (u64, u64), weight: f64, text: Cow<'a, str>) -> Self {
        Self {
            kind,
            order,
            weight,
            group: Cow::Borrowed(""),
            heading: Cow::Borrowed(""),
            text,
            is_fixed: false,
            goes_on: false,
            spot: Spot::default(),
            unit: 0,
        }
    }

    /// Sets the labels above it.
    pub fn label(&mut self, group: impl Into<Cow<'a, str>>, heading: impl Into<Cow<'a, str>>) {
        self.group = quote::whole_line(group.into());
        self.heading = quote::whole_line(heading.into());
    }

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
    /// The running turn has only read documents so far: what comes next is made of them.
    pub is_reading: bool,
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

/// Times a term was said are counted up to this.
const SAID_MAX: u8 = 3;

/// Factor for a term that was already said this many times.
const AGAIN: [f64; SAID_MAX as usize + 1] = [1.0, 0.35, 0.12, 0.05];

/// Percentage of a view that documents may fill while the running turn only reads.
const READING_PERCENT: u32 = 40;

/// What a selection fills a view with, one after the other.
#[derive(Clone, Copy)]
enum Stage {
    /// The share of each kind.
    Shares,
    /// What is worth the most, up to the maximum of each kind.
    Worth,
    /// Whatever is left, if there is room.
    Room,
}

impl Stage {
    /// Minimum worth of a line.
    fn worth_min(self) -> f64 {
        match self {
            Self::Shares => 0.02,
            Self::Worth => 0.002,
            Self::Room => 0.0,
        }
    }

    /// Percentage of a view that a kind may fill.
    fn percent(self, kind: EvidenceKind) -> u32 {
        match self {
            Self::Shares => kind.rule().share_percent,
            Self::Worth => kind.rule().max_percent,
            Self::Room => 100,
        }
    }
}

/// One line, or several of one kind and heading that are chosen together.
struct QuoteGroup {
    lines: Range<usize>,
    kind: EvidenceKind,
    /// That of its strongest line.
    weight: f64,
    /// Hashes at first; in a [`Selection`] their places in its tables.
    terms: Vec<u32>,
    tokens: u64,
    /// Places of the labels above it in [`Labels`]; the same one twice without a heading.
    labels: [u32; 2],
    /// The label that it is itself.
    own_label: u32,
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
pub(super) struct Selection<'a> {
    quotes: Vec<Quote<'a>>,
    groups: Vec<QuoteGroup>,
    /// Worth of each term.
    worth: Vec<f64>,
    /// How often the reader already knows each term, at most [`SAID_MAX`].
    said: Vec<u8>,
    /// Tokens of each label.
    labels: Vec<u64>,
    is_reading: bool,
}

/// A selection in progress.
struct SelectionState<'a> {
    of: &'a Selection<'a>,
    said: Vec<u8>,
    /// Worth of each term, said as often as it is.
    left_worth: Vec<f64>,
    /// Tokens of each label, 0 once counted.
    labels: Vec<u64>,
    used: [u64; RULES.len()],
    left: u64,
    shared: u64,
    chosen: Vec<bool>,
}

impl<'a> Selection<'a> {
    /// `known` is text that need not be repeated.
    pub(super) fn new(quotes: Vec<Quote<'a>>, focus: &Focus, known: &str) -> Self {
        let mut labels = Labels::default();
        let mut groups: Vec<QuoteGroup> = Vec::with_capacity(quotes.len());
        for (index, line) in quotes.iter().enumerate() {
            let is_next = line.unit > 0 && index > 0 && quotes[index - 1].unit == line.unit;
            match groups.last_mut().filter(|_| is_next) {
                Some(last) => last.add(line),
                None => groups.push(QuoteGroup::of(index, line, &mut labels)),
            }
        }
        // Terms are looked up again and again, so each gets a place in tables.
        let mut places: HashMap<u32, u32, FxBuildHasher> = HashMap::default();
        let mut lines: Vec<(u32, u32)> = Vec::new();
        for term in groups.iter_mut().flat_map(|group| &mut group.terms) {
            let next = u32::try_from(lines.len()).unwrap_or(u32::MAX);
            let place = *places.entry(*term).or_insert(next);
            if place == next {
                lines.push((*term, 0));
            }
            lines[place as usize].1 += 1;
            *term = place;
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
            rarity * (0.35 + 1.6 * recent + central)
        });
        let worth = worth.collect();
        let mut said = vec![0; lines.len()];
        for place in terms::of(known).iter().filter_map(|term| places.get(term)) {
            said[*place as usize] = 1;
        }
        let is_reading = focus.is_reading;
        Self { groups, worth, said, labels: labels.tokens, quotes, is_reading }
    }

    /// The lines to show within `budget` tokens. The shares of the kinds are percentages of `shared`.
    pub(super) fn select(&self, budget: u64, shared: u64) -> Vec<&Quote<'a>> {
        let left_worth = self.worth.iter().zip(&self.said);
        let mut choice = SelectionState {
            of: self,
            said: self.said.clone(),
            left_worth: left_worth.map(|(worth, said)| worth * AGAIN[usize::from(*said)]).collect(),
            labels: self.labels.clone(),
            used: [0; RULES.len()],
            left: budget,
            shared,
            chosen: vec![false; self.groups.len()],
        };
        for (index, group) in self.groups.iter().enumerate() {
            if self.quotes[group.lines.start].is_fixed {
                choice.take(index);
            }
        }
        choice.fill(Stage::Shares);
        choice.fill(Stage::Worth);
        choice.fill(Stage::Room);
        let chosen = self.groups.iter().zip(choice.chosen).filter(|(_, is_chosen)| *is_chosen);
        chosen.flat_map(|(group, _)| &self.quotes[group.lines.clone()]).collect()
    }
}

/// The labels above lines, each with a place.
#[derive(Default)]
struct Labels<'q> {
    /// By kind, group and heading.
    places: HashMap<(EvidenceKind, &'q str, &'q str), u32, FxBuildHasher>,
    /// Cost of each; nothing for an empty one, and for a file, whose line is its own label.
    tokens: Vec<u64>,
}

impl<'q> Labels<'q> {
    fn place(&mut self, kind: EvidenceKind, group: &'q str, heading: &'q str) -> u32 {
        let next = u32::try_from(self.tokens.len()).unwrap_or(u32::MAX);
        let place = *self.places.entry((kind, group, heading)).or_insert(next);
        if place == next {
            let words = if heading.is_empty() { group } else { heading };
            let is_shown = !words.is_empty() && kind != EvidenceKind::File;
            self.tokens.push(if is_shown { tokens::of_text(words) + 2 } else { 0 });
        }
        place
    }
}

/// Tokens of a line; of those of a text, about every second has a mark that others are left out.
fn tokens_of(line: &Quote<'_>) -> u64 {
    tokens::of_text(&line.text) + if line.spot.is_unknown() { 1 } else { 2 }
}

impl QuoteGroup {
    fn of<'q>(index: usize, line: &'q Quote<'_>, labels: &mut Labels<'q>) -> Self {
        let group = labels.place(line.kind, &line.group, "");
        let heading = match line.heading.is_empty() {
            true => group,
            false => labels.place(line.kind, &line.group, &line.heading),
        };
        // Added lines are shown below their file's line.
        let own_label = match line.kind {
            EvidenceKind::File => labels.place(EvidenceKind::Added, &line.group, ""),
            _ => group,
        };
        Self {
            lines: index..index + 1,
            kind: line.kind,
            weight: line.weight,
            terms: terms::of(&line.text),
            tokens: tokens_of(line),
            labels: [group, heading],
            own_label,
        }
    }

    fn add(&mut self, line: &Quote<'_>) {
        self.tokens += tokens_of(line);
        self.terms.extend(terms::of(&line.text));
        self.terms.sort_unstable();
        self.terms.dedup();
        self.weight = self.weight.max(line.weight);
        self.lines.end += 1;
    }
}

impl SelectionState<'_> {
    fn fill(&mut self, stage: Stage) {
        let open = (0..self.of.groups.len()).filter(|index| !self.chosen[*index]);
        let offers =
            open.map(|index| Offer { worth: self.worth_of(index, self.cost(index)), index });
        let mut heap: BinaryHeap<Offer> = offers.collect();
        while let Some(Offer { index, .. }) = heap.pop() {
            let cost = self.cost(index);
            let kind = self.of.groups[index].kind;
            let percent = match stage {
                Stage::Shares | Stage::Worth
                    if self.of.is_reading && kind == EvidenceKind::Document =>
                {
                    READING_PERCENT
                }
                _ => stage.percent(kind),
            };
            let is_over = self.used[kind as usize] + cost > self.shared * u64::from(percent) / 100;
            if cost > self.left || is_over {
                continue;
            }
            let worth = self.worth_of(index, cost);
            if worth < stage.worth_min() {
                continue;
            }
            if heap.peek().is_some_and(|next| next.worth > worth) {
                heap.push(Offer { worth, index });
                continue;
            }
            self.take(index);
        }
    }

    fn worth_of(&self, index: usize, cost: u64) -> f64 {
        let group = &self.of.groups[index];
        let mut sum = 0.15;
        for term in &group.terms {
            sum += self.left_worth[*term as usize];
        }
        // Costs count slightly less than in full, because one complete thought is worth more than two halves.
        // In a small budget they count in full.
        let cost = to_f64(cost + 3);
        let counted =
            if self.shared < SMALL_TOKENS { cost } else { cost.sqrt() * cost.sqrt().sqrt() };
        group.weight * sum / counted
    }

    /// Tokens of a line, and of the labels above it that are not counted yet.
    fn cost(&self, index: usize) -> u64 {
        let QuoteGroup { kind, tokens, labels: [group, heading], .. } = &self.of.groups[index];
        let above = self.labels[*group as usize]
            + if heading == group { 0 } else { self.labels[*heading as usize] };
        let title = || tokens::of_text(kind.legend()) + 4;
        let section = if self.used[*kind as usize] == 0 { title() } else { 0 };
        tokens + above + section
    }

    fn take(&mut self, index: usize) {
        let cost = self.cost(index);
        if self.chosen[index] || cost > self.left {
            return;
        }
        let QuoteGroup { kind, terms, labels: [group, heading], own_label, .. } =
            &self.of.groups[index];
        self.left -= cost;
        self.used[*kind as usize] += cost;
        for label in [group, heading, own_label] {
            self.labels[*label as usize] = 0;
        }
        self.chosen[index] = true;
        for term in terms {
            let term = *term as usize;
            let said = (self.said[term] + 1).min(SAID_MAX);
            self.said[term] = said;
            self.left_worth[term] = self.of.worth[term] * AGAIN[usize::from(said)];
        }
    }
}

/// Costs are far below 2^53.
fn to_f64(tokens: u64) -> f64 {
    f64::from(u32::try_from(tokens).unwrap_or(u32::MAX))
}
