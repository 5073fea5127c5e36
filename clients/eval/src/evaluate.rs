//! Scores views over a corpus: two passes, one session in memory at a time.
//!
//! The first pass finds copies and the names that every session has; the second cuts, asks for
//! views and scores them. The maker of a view gets truncated bytes and nothing else, so it cannot
//! see what it is scored on, however it is written.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::baseline::{Baseline, Histories, head};
use crate::corpus::{Corpus, Identity, Session, distinct};
use crate::cut::{Cut, CutPlace, places};
use crate::entity::{Entity, Extractor, ExtractorKind};
use crate::fact::{Fact, FactReader, Words, holds};
use crate::gold::{Gold, Index};
use crate::report::{CutScore, Miss, Report, ReportBuilder, ScoreKey};
use crate::transcript::Transcript;
use crate::view::View;

/// A cut with fewer names than this to remember says nothing (names, reference extractor).
/// Source: facts on peers (e2), 2026.
pub const GOLD_MIN: usize = 5;

/// A name that more than this share of all sessions hold is boilerplate (percent).
const STOP_PERCENT: usize = 20;

/// The list of such names is made from this many sessions on.
const STOP_SESSIONS_MIN: usize = 10;

/// The name under which the view in question is reported.
pub const VIEW_NAME: &str = "longhaul";

/// What to measure.
#[derive(Debug, Clone)]
pub struct Options {
    /// Budgets of the views (tokens, bytes / 4).
    pub budgets: Vec<u64>,
    /// Score the baselines too.
    pub baselines: bool,
    /// List what the view in question lacks, cut by cut.
    pub misses: bool,
}

/// Why nothing could be measured.
#[derive(Debug)]
pub struct EvalError(regex::Error);

impl std::fmt::Display for EvalError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a pattern of the scorer does not compile: {}", self.0)
    }
}

impl std::error::Error for EvalError {}

impl From<regex::Error> for EvalError {
    fn from(error: regex::Error) -> Self {
        Self(error)
    }
}

/// Makes a view of a cut within a budget (tokens). An error is scored as an empty view.
pub type ViewMaker<'a> = dyn FnMut(&Cut<'_>, u64) -> Result<String, String> + 'a;

/// Scores `view` over `corpus`.
///
/// # Errors
/// Only a defect of this crate, see [`EvalError`]; unreadable sessions and failing views are
/// counted in the report.
pub fn evaluate(
    corpus: &(impl Corpus + ?Sized),
    options: &Options,
    view: &mut ViewMaker<'_>,
) -> Result<Report, EvalError> {
    let scorer = Scorer::new()?;
    let mut report = ReportBuilder::new();
    let survey = scorer.survey(corpus, &mut report);
    for number in survey.sessions {
        if let Ok(session) = corpus.load(number) {
            scorer.session(&session, options, &survey.stop, (&mut *view, &mut report));
        }
    }
    Ok(report.finish(options))
}

struct Scorer {
    extractors: [Extractor; 2],
    facts: FactReader,
    words: Words,
}

struct Survey {
    sessions: Vec<usize>,
    stop: HashMap<ExtractorKind, HashSet<Entity>>,
}

/// One cut with everything that is asked about it.
struct Question<'a> {
    session: &'a Session,
    cut: Cut<'a>,
    place: CutPlace,
    gold: BTreeMap<ExtractorKind, Vec<Gold>>,
    facts: Vec<Fact>,
}

impl Scorer {
    fn new() -> Result<Self, EvalError> {
        let [first, second] = ExtractorKind::ALL;
        Ok(Self {
            extractors: [Extractor::new(first)?, Extractor::new(second)?],
            facts: FactReader::new()?,
            words: Words::new()?,
        })
    }

    fn survey(&self, corpus: &(impl Corpus + ?Sized), report: &mut ReportBuilder) -> Survey {
        let mut identities = Vec::new();
        let mut entities: Vec<(usize, ExtractorKind, HashSet<Entity>)> = Vec::new();
        for number in 0..corpus.len() {
            let session = match corpus.load(number) {
                Ok(session) => session,
                Err(reason) => {
                    report.unreadable(reason);
                    continue;
                }
            };
            let transcript = Transcript::parse(&session.bytes);
            identities.push(Identity::new(number, &transcript));
            for extractor in &self.extractors {
                let index = Index::new(&transcript, extractor);
                let names = index.entities().cloned().collect();
                entities.push((number, extractor.kind(), names));
            }
        }
        let sessions = distinct(&identities);
        report.distinct(identities.len(), sessions.len());
        entities.retain(|(number, ..)| sessions.binary_search(number).is_ok());
        let stop = stop_entities(&entities, sessions.len());
        report.stop_entities(&stop);
        Survey { sessions, stop }
    }

    fn session(
        &self,
        session: &Session,
        options: &Options,
        stop: &HashMap<ExtractorKind, HashSet<Entity>>,
        (view, report): (&mut ViewMaker<'_>, &mut ReportBuilder),
    ) {
        let transcript = Transcript::parse(&session.bytes);
        let indexes = self.extractors.each_ref().map(|e| (e.kind(), Index::new(&transcript, e)));
        let none = HashSet::new();
        for place in places(&transcript) {
            let gold: BTreeMap<_, _> = indexes
                .iter()
                .map(|(kind, index)| {
                    (*kind, index.gold(&transcript, place, stop.get(kind).unwrap_or(&none)))
                })
                .collect();
            if gold[&ExtractorKind::Regex].len() < GOLD_MIN {
                report.skipped_cut();
                continue;
            }
            let bytes = &session.bytes[..place.offset];
            let cut = Cut { session: &session.name, percent: place.percent, bytes };
            let facts = self.facts.read(&transcript, place.first_hidden);
            let question = Question { session, cut, place, gold, facts };
            self.ask(&question, options, view, report);
        }
    }

    /// Scores the view in question and the baselines at one cut, for every budget.
    fn ask(
        &self,
        question: &Question<'_>,
        options: &Options,
        view: &mut ViewMaker<'_>,
        report: &mut ReportBuilder,
    ) {
        report.cut(&question.gold, &question.facts);
        let histories = options
            .baselines
            .then(|| Histories::new(&Transcript::parse(question.cut.bytes), &self.extractors[0]));
        for &budget in &options.budgets {
            let limit = usize::try_from(budget.saturating_mul(4)).unwrap_or(usize::MAX);
            let text = view(&question.cut, budget).unwrap_or_else(|reason| {
                report.failed_view(question.cut.session, &reason);
                String::new()
            });
            if text.len() > limit {
                report.over_budget();
            }
            let misses = options.misses.then_some(&mut *report);
            let score = self.score(question, head(&text, limit), budget, misses);
            report.score(&key(question, VIEW_NAME, budget), &score);
            let Some(histories) = &histories else { continue };
            for baseline in Baseline::ALL {
                let gold = &question.gold[&ExtractorKind::Regex];
                let text = histories.view(baseline, limit, gold, &question.facts);
                let score = self.score(question, &text, budget, None);
                report.score(&key(question, baseline.name(), budget), &score);
            }
        }
    }

    fn score(
        &self,
        question: &Question<'_>,
        text: &str,
        budget: u64,
        mut misses: Option<&mut ReportBuilder>,
    ) -> CutScore {
        let view = View::new(text);
        let mut score = CutScore::default();
        for (extractor, gold) in &question.gold {
            for gold in gold {
                let is_kept = view.names(&gold.entity);
                score.name(*extractor, gold, is_kept);
                if !is_kept && let Some(report) = misses.as_deref_mut() {
                    report.miss(Miss::name(
                        question.cut,
                        question.place,
                        budget,
                        (*extractor, gold),
                    ));
                }
            }
        }
        for fact in &question.facts {
            let is_kept = holds(&view, fact, budget, &self.words);
            score.fact(fact.kind(), is_kept);
            if !is_kept && let Some(report) = misses.as_deref_mut() {
                report.miss(Miss::fact(question.cut, question.place, budget, fact));
            }
        }
        score
    }
}

fn key<'a>(question: &Question<'a>, view: &'static str, budget_tokens: u64) -> ScoreKey<'a> {
    ScoreKey {
        session: &question.session.name,
        repository: &question.session.repository,
        view,
        budget_tokens,
    }
}

fn stop_entities(
    entities: &[(usize, ExtractorKind, HashSet<Entity>)],
    sessions: usize,
) -> HashMap<ExtractorKind, HashSet<Entity>> {
    let mut stop: HashMap<ExtractorKind, HashSet<Entity>> = HashMap::new();
    if sessions < STOP_SESSIONS_MIN {
        return stop;
    }
    let mut counts: HashMap<(ExtractorKind, &Entity), usize> = HashMap::new();
    for (_, extractor, names) in entities {
        for name in names {
            *counts.entry((*extractor, name)).or_default() += 1;
        }
    }
    for ((extractor, name), count) in counts {
        if count * 100 > sessions * STOP_PERCENT {
            stop.entry(extractor).or_default().insert(name.clone());
        }
    }
    stop
}

#[cfg(test)]
mod tests;
