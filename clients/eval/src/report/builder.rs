//! Collects scores cut by cut and computes the totals.

use std::collections::{BTreeMap, BTreeSet};

use super::{Comparison, Measure, Miss, Report, SessionRow};
use crate::entity::{Entity, EntityKind};
use crate::evaluate::Options;
use crate::fact::{Fact, FactKind};
use crate::gold::Gold;
use crate::random::Random;
use crate::tally::{Tally, mean};
use crate::words::WordKind;

/// Maximum entries of the report's lists; further ones are only counted.
const REASONS_MAX: usize = 20;
const STOP_ENTITIES_MAX: usize = 200;
const CONTRADICTED_MAX: usize = 200;
const MISSES_MAX: usize = 200_000;

/// Recall without questions (percent).
const NOTHING_ASKED: f64 = 100.0;

const BOOTSTRAP_DRAWS: usize = 1000;

/// The score of one view at one cut.
#[derive(Debug, Default, Clone)]
pub struct CutScore {
    names: BTreeMap<(EntityKind, &'static str), Tally>,
    facts: BTreeMap<FactKind, Tally>,
    words: BTreeMap<WordKind, Tally>,
}

impl CutScore {
    pub fn name(&mut self, gold: &Gold, is_kept: bool) {
        let key = (gold.entity.kind, bucket(gold.distance));
        self.names.entry(key).or_default().note(is_kept);
    }

    pub fn fact(&mut self, kind: FactKind, is_kept: bool) {
        self.facts.entry(kind).or_default().note(is_kept);
    }

    pub fn words(&mut self, kind: WordKind, kept: u64, asked: u64) {
        self.words.entry(kind).or_default().add(Tally { kept, asked });
    }

    fn add(&mut self, other: &Self) {
        for (key, tally) in &other.words {
            self.words.entry(*key).or_default().add(*tally);
        }
        for (key, tally) in &other.names {
            self.names.entry(*key).or_default().add(*tally);
        }
        for (key, tally) in &other.facts {
            self.facts.entry(*key).or_default().add(*tally);
        }
    }

    fn frr(&self) -> Tally {
        self.names.values().copied().sum()
    }

    fn said(&self, kind: WordKind) -> Tally {
        self.words.get(&kind).copied().unwrap_or_default()
    }

    fn bfr(&self) -> Tally {
        self.facts.values().copied().sum()
    }

    fn names_by<K: Ord>(&self, key: impl Fn(EntityKind, &'static str) -> K) -> BTreeMap<K, Tally> {
        let mut by: BTreeMap<K, Tally> = BTreeMap::new();
        for ((kind, bucket), tally) in &self.names {
            by.entry(key(*kind, bucket)).or_default().add(*tally);
        }
        by
    }
}

/// Which score a cut adds to.
#[derive(Debug, Clone, Copy)]
pub struct ScoreKey<'a> {
    pub session: &'a str,
    pub repository: &'a str,
    pub view: &'static str,
    pub budget_tokens: u64,
}

#[derive(Debug, Default)]
struct SessionScore {
    cuts: u64,
    score: CutScore,
}

type SessionKey = (String, String);

#[derive(Debug, Default)]
pub struct ReportBuilder {
    report: Report,
    /// Views in the order of their first score.
    order: Vec<&'static str>,
    stop_names: BTreeSet<String>,
    scores: BTreeMap<(&'static str, u64), BTreeMap<SessionKey, SessionScore>>,
}

impl ReportBuilder {
    /// A session could not be read.
    pub fn unreadable(&mut self, reason: String) {
        push_bounded(&mut self.report.corpus.unreadable, reason, REASONS_MAX);
    }

    /// How many sessions there are, and how many distinct ones.
    pub fn distinct(&mut self, sessions: usize, distinct: usize) {
        self.report.corpus.sessions = sessions;
        self.report.corpus.distinct = distinct;
    }

    /// Excluded names of a session.
    pub fn stop_names<'a>(&mut self, names: impl Iterator<Item = &'a Entity>) {
        self.stop_names.extend(names.map(|name| name.text.clone()));
    }

    /// A cut had too little to remember.
    pub fn skipped_cut(&mut self) {
        self.report.corpus.cuts_skipped += 1;
    }

    pub fn cut(&mut self, gold: &[Gold], facts: &[Fact]) {
        self.report.corpus.cuts += 1;
        let summary = &mut self.report.gold;
        for gold in gold {
            *summary.by_kind.entry(gold.entity.kind).or_default() += 1;
        }
        for fact in facts {
            *summary.facts.entry(fact.kind()).or_default() += 1;
        }
    }

    /// A view could not be made.
    pub fn failed_view(&mut self, session: &str, reason: &str) {
        self.report.corpus.failed_view_count += 1;
        let reason = format!("{session}: {reason}");
        push_bounded(&mut self.report.corpus.failed_views, reason, REASONS_MAX);
    }

    /// A view was larger than its budget.
    pub fn over_budget(&mut self) {
        self.report.corpus.over_budget += 1;
    }

    /// Statements of the tested view that the transcript contradicts.
    pub fn contradicted(&mut self, session: &str, found: Vec<String>) {
        for statement in found {
            let statement = format!("{session}: {statement}");
            push_bounded(&mut self.report.contradicted, statement, CONTRADICTED_MAX);
        }
    }

    /// Calls from a real compaction to the first edit after it, if there was one.
    pub fn first_edit(&mut self, calls: Option<u64>) {
        self.report.calls_to_edit.extend(calls);
    }

    /// What the tested view lacks.
    pub fn misses(&mut self, misses: Vec<Miss>) {
        let room = MISSES_MAX.saturating_sub(self.report.misses.len());
        self.report.misses.extend(misses.into_iter().take(room));
    }

    /// Adds one cut under one view and budget.
    pub fn score(&mut self, key: &ScoreKey<'_>, score: &CutScore) {
        if !self.order.contains(&key.view) {
            self.order.push(key.view);
        }
        let session = (key.repository.to_owned(), key.session.to_owned());
        let sessions = self.scores.entry((key.view, key.budget_tokens)).or_default();
        let total = sessions.entry(session).or_default();
        total.cuts += 1;
        total.score.add(score);
    }

    /// Adds a real summary and the view of the same size.
    pub fn compared(&mut self, key: &ScoreKey<'_>, summary: &CutScore, view: &CutScore) {
        self.report.summaries.push(Comparison {
            session: key.session.to_owned(),
            repository: key.repository.to_owned(),
            tokens: key.budget_tokens,
            summary_frr: summary.frr(),
            summary_bfr: summary.bfr(),
            view_frr: view.frr(),
            view_bfr: view.bfr(),
            summary_relied: summary.said(WordKind::ReliedOn),
            view_relied: view.said(WordKind::ReliedOn),
        });
    }

    pub fn finish(mut self, options: &Options) -> Report {
        for view in &self.order {
            for budget in &options.budgets {
                let Some(sessions) = self.scores.get(&(*view, *budget)) else { continue };
                self.report.measures.push(measure(view, *budget, sessions));
                self.report.rows.extend(rows(view, *budget, sessions));
            }
        }
        let sessions: BTreeSet<&SessionKey> =
            self.scores.values().flat_map(BTreeMap::keys).collect();
        let repositories: BTreeSet<&str> = sessions.iter().map(|key| key.0.as_str()).collect();
        let stop_names = self.stop_names.into_iter().take(STOP_ENTITIES_MAX);
        self.report.corpus.stop_entities = stop_names.collect();
        self.report.corpus.scored = sessions.len();
        self.report.corpus.repositories = repositories.len();
        self.report.calls_to_edit.sort_unstable();
        let names: u64 = self.report.gold.by_kind.values().sum();
        let cuts = self.report.corpus.cuts.max(1) as u64;
        self.report.gold.names_per_cut = crate::tally::to_f64(names) / crate::tally::to_f64(cuts);
        self.report
    }
}

fn measure(
    view: &str,
    budget_tokens: u64,
    sessions: &BTreeMap<SessionKey, SessionScore>,
) -> Measure {
    let mut total = CutScore::default();
    let mut by_repository: BTreeMap<&str, Tally> = BTreeMap::new();
    let (mut frr_rows, mut bfr_rows) = (Vec::new(), Vec::new());
    for ((repository, _), session) in sessions {
        total.add(&session.score);
        let frr = session.score.frr();
        by_repository.entry(repository).or_default().add(frr);
        frr_rows.extend(frr.percent());
        bfr_rows.extend(session.score.bfr().percent());
    }
    let frr = total.frr().percent().unwrap_or(NOTHING_ASKED);
    let bfr = total.bfr().percent().unwrap_or(NOTHING_ASKED);
    let repositories: Vec<Tally> = by_repository.into_values().collect();
    Measure {
        view: view.to_owned(),
        budget_tokens,
        frr,
        frr_per_session: mean(&frr_rows).unwrap_or(NOTHING_ASKED),
        frr_interval: interval(&repositories),
        bfr,
        bfr_per_session: mean(&bfr_rows).unwrap_or(NOTHING_ASKED),
        score: frr.min(bfr),
        by_kind: total.names_by(|kind, _| kind),
        by_distance: total.names_by(|_, bucket| bucket),
        facts: total.facts,
        words: total.words,
    }
}

fn rows<'a>(
    view: &'a str,
    budget_tokens: u64,
    sessions: &'a BTreeMap<SessionKey, SessionScore>,
) -> impl Iterator<Item = SessionRow> + 'a {
    sessions.iter().map(move |((repository, session), score)| SessionRow {
        session: session.clone(),
        repository: repository.clone(),
        view: view.to_owned(),
        budget_tokens,
        cuts: score.cuts,
        frr: score.score.frr(),
        bfr: score.score.bfr(),
    })
}

/// The middle 95 % of the recall of repositories drawn with replacement: sessions of one repository are similar, so
/// they are drawn together.
fn interval(repositories: &[Tally]) -> (f64, f64) {
    let mut random = Random::new(0x1009_4a01);
    let mut draws: Vec<f64> = (0..BOOTSTRAP_DRAWS)
        .filter_map(|_| {
            let drawn = repositories.iter().map(|_| repositories[random.index(repositories.len())]);
            drawn.sum::<Tally>().percent()
        })
        .collect();
    draws.sort_unstable_by(f64::total_cmp);
    let at = |per_mille: usize| {
        draws.get((draws.len() * per_mille / 1000).min(draws.len().saturating_sub(1))).copied()
    };
    (at(25).unwrap_or(0.0), at(975).unwrap_or(0.0))
}

fn bucket(distance: usize) -> &'static str {
    match distance {
        ..=10 => "1-10",
        11..=40 => "11-40",
        _ => "41-80",
    }
}

fn push_bounded<T>(list: &mut Vec<T>, entry: T, max: usize) {
    if list.len() < max {
        list.push(entry);
    }
}
