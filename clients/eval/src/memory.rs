//! X-FRR: how much a memory of earlier sessions helps the next one.
//!
//! The sessions of each repository run in order of time. Before the memory learns a session, it makes a view, scored by
//! the names that the session's first calls used, that only earlier sessions had shown and that the session itself did
//! not show first. So no memory can see what it is scored on. All repositories share one memory; rows of a view that a
//! memory of only that repository would not have count as leaks.

mod naive;
mod rows;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::Value;

use crate::baseline::head;
use crate::corpus::{Corpus, Identity, Session, distinct};
use crate::entity::{Entity, Extractor, ExtractorKind};
use crate::evaluate::{EvalError, StopList};
use crate::gold::Index;
use crate::tally::{Tally, mean};
use crate::transcript::Transcript;
use crate::view::View;
pub use rows::Junk;

use naive::Naive;

/// Calls at the beginning of a session that count.
const OPENING_CALLS: usize = 40;

/// Builds memories. It learns each session after the view for it.
pub trait MemoryMaker {
    /// Learns a finished session. With an error, the session counts as unreadable.
    fn learn(&mut self, session: &Session) -> Result<(), String>;

    /// The view for the next session of `repository`, at most `budget` tokens (bytes / 4). An error is scored as an
    /// empty view.
    fn view(&mut self, repository: &str, budget: u64) -> Result<String, String>;
}

/// One view at one budget.
#[derive(Debug, Clone, serde::Serialize)]
pub struct MemoryRow {
    /// `longhaul`, or the name of a baseline.
    pub view: &'static str,
    pub budget: u64,
    /// The extractor of the names.
    pub extractor: ExtractorKind,
    /// Names needed, and those of them in the view.
    pub names: Tally,
    /// The same by kind of name.
    pub kinds: BTreeMap<&'static str, Tally>,
    /// Mean over sessions, percent.
    pub per_session: Option<f64>,
    /// Mean over repositories, percent, so that busy ones do not dominate.
    pub per_repository: Option<f64>,
}

#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct MemoryReport {
    /// Sessions without copies.
    pub sessions: usize,
    /// Repositories with at least one earlier session.
    pub repositories: usize,
    /// Sessions that needed something from memory.
    pub asked: usize,
    pub rows: Vec<MemoryRow>,
    /// Rows of the largest views, and worthless ones.
    pub junk: Junk,
    /// The worthless rows, each after its repository and the reason.
    pub worthless: Vec<String>,
    /// Rows of the largest views, and those that a memory of only this repository would not have.
    pub leaks: Tally,
    pub leaked: Vec<String>,
    pub over_budget: usize,
    /// What each session needed, by the first extractor, in order.
    pub questions: Vec<MemoryQuestion>,
}

/// What one session needed from memory.
#[derive(Debug, Clone, serde::Serialize)]
pub struct MemoryQuestion {
    pub repository: String,
    /// Names in order of first use, each with whether the largest view has it.
    pub needed: Vec<(Entity, bool)>,
}

/// Scores the memories from `fresh` over `corpus`: one that learns every repository, and one per repository to detect
/// leaks from the others.
pub fn evaluate_memory(
    corpus: &(impl Corpus + ?Sized),
    budgets: &[u64],
    fresh: &mut dyn FnMut() -> Box<dyn MemoryMaker>,
) -> Result<MemoryReport, EvalError> {
    let [first, second] = ExtractorKind::ALL;
    let extractors = [Extractor::new(first)?, Extractor::new(second)?];
    let repositories = Order::of(corpus, &extractors);
    let mut shared = fresh();
    let mut run = Run {
        extractors,
        budgets,
        stop: repositories.stop,
        scores: BTreeMap::new(),
        report: MemoryReport::default(),
    };
    for (repository, sessions) in &repositories.sessions {
        let mut alone = fresh();
        run.repository(corpus, (repository, sessions), (&mut *shared, &mut *alone));
    }
    Ok(run.finish())
}

/// Sessions by repository, in the order of their time.
struct Order {
    sessions: BTreeMap<String, Vec<usize>>,
    stop: StopList,
}

impl Order {
    fn of(corpus: &(impl Corpus + ?Sized), extractors: &[Extractor; 2]) -> Self {
        let mut identities = Vec::new();
        let mut places: HashMap<usize, (String, String)> = HashMap::new();
        let mut names: BTreeMap<String, HashSet<u64>> = BTreeMap::new();
        for number in 0..corpus.len() {
            let Ok(session) = corpus.load(number) else { continue };
            let transcript = Transcript::parse(&session.bytes);
            identities.push(Identity::new(number, &transcript));
            let held = names.entry(session.repository.clone()).or_default();
            let index = Index::new(&transcript, &extractors[0]);
            held.extend(index.entities().map(Entity::fingerprint));
            places.insert(number, (session.repository, begun(&session.bytes)));
        }
        let mut sessions: BTreeMap<String, Vec<(String, usize)>> = BTreeMap::new();
        for number in distinct(&identities) {
            if let Some((repository, begun)) = places.remove(&number) {
                sessions.entry(repository).or_default().push((begun, number));
            }
        }
        let sorted = sessions.into_iter().map(|(repository, mut list)| {
            list.sort();
            (repository, list.into_iter().map(|(_, number)| number).collect())
        });
        let names: Vec<HashSet<u64>> = names.into_values().collect();
        Self { sessions: sorted.collect(), stop: StopList::of_repositories(&names) }
    }
}

/// The first time that a file names.
fn begun(bytes: &[u8]) -> String {
    let dated = bytes.split(|byte| *byte == b'\n').take(50).find_map(|line| {
        let line: Value = serde_json::from_slice(line).ok()?;
        line.get("timestamp")?.as_str().map(str::to_owned)
    });
    dated.unwrap_or_default()
}

/// Scores of one view at one budget by one extractor.
#[derive(Default)]
struct Score {
    names: Tally,
    kinds: BTreeMap<&'static str, Tally>,
    sessions: Vec<f64>,
    repositories: BTreeMap<String, Tally>,
}

/// A session, its instructions, and the names that earlier ones had.
type Met<'a> = (&'a Transcript, &'a str, &'a HashSet<u64>);

struct Run<'a> {
    extractors: [Extractor; 2],
    budgets: &'a [u64],
    stop: StopList,
    scores: BTreeMap<(&'static str, u64, usize), Score>,
    report: MemoryReport,
}

impl Run<'_> {
    fn repository(
        &mut self,
        corpus: &(impl Corpus + ?Sized),
        (repository, sessions): (&str, &[usize]),
        mut makers: (&mut dyn MemoryMaker, &mut dyn MemoryMaker),
    ) {
        self.report.repositories += usize::from(sessions.len() > 1);
        let mut naive = Naive::default();
        let mut seen: [HashSet<u64>; 2] = [HashSet::new(), HashSet::new()];
        for &number in sessions {
            let Ok(session) = corpus.load(number) else { continue };
            let transcript = Transcript::parse(&session.bytes);
            let indexes = self.extractors.each_ref().map(|e| Index::new(&transcript, e));
            self.report.sessions += 1;
            let gold = [0, 1].map(|at| {
                let mut needed = indexes[at].opening(&transcript, OPENING_CALLS, &self.stop);
                needed.retain(|name| seen[at].contains(&name.fingerprint()));
                needed
            });
            if !gold[0].is_empty() {
                let met = (&transcript, indexes[0].context(), &seen[0]);
                self.ask(repository, (&gold, met), (&mut makers, &naive));
            }
            for (seen, index) in seen.iter_mut().zip(&indexes) {
                seen.extend(index.entities().map(Entity::fingerprint));
            }
            naive.learn(indexes[0].entities());
            // The memory decides whether it learns anything from a session.
            let _learned = makers.0.learn(&session).is_ok() && makers.1.learn(&session).is_ok();
        }
    }

    fn ask(
        &mut self,
        repository: &str,
        (gold, met): (&[Vec<Entity>; 2], Met<'_>),
        (makers, naive): (&mut (&mut dyn MemoryMaker, &mut dyn MemoryMaker), &Naive),
    ) {
        self.report.asked += 1;
        let largest = self.budgets.iter().copied().max().unwrap_or_default();
        for &budget in self.budgets {
            let bytes = usize::try_from(budget.saturating_mul(4)).unwrap_or(usize::MAX);
            let text = makers.0.view(repository, budget).unwrap_or_default();
            self.report.over_budget += usize::from(text.len() > bytes);
            let text = head(&text, bytes);
            let names = |entities: &[Entity]| {
                entities.iter().map(|name| name.text.as_str()).collect::<Vec<_>>().join("\n")
            };
            let oracle = names(&gold[0]);
            let views = [
                ("longhaul", View::new(text)),
                ("recency x frequency", View::new(&naive.view(bytes))),
                ("oracle", View::new(head(&oracle, bytes))),
            ];
            for (name, view) in &views {
                for (at, gold) in gold.iter().enumerate() {
                    self.score((*name, budget, at), (repository, gold), view);
                }
            }
            if budget == largest {
                let alone = makers.1.view(repository, budget).unwrap_or_default();
                self.inspect(repository, (text, &alone), (met, &gold[0], &views[0].1));
            }
        }
    }

    fn score(
        &mut self,
        key: (&'static str, u64, usize),
        (repository, gold): (&str, &[Entity]),
        view: &View,
    ) {
        let score = self.scores.entry(key).or_default();
        let mut session = Tally::default();
        for name in gold {
            let is_kept = view.names(name);
            session.note(is_kept);
            score.kinds.entry(name.kind.into_str()).or_default().note(is_kept);
        }
        score.names.add(session);
        score.repositories.entry(repository.to_owned()).or_default().add(session);
        score.sessions.extend(session.percent());
    }

    /// Inspects the largest view: worthless rows, leaks, missing names.
    fn inspect(
        &mut self,
        repository: &str,
        (text, alone): (&str, &str),
        ((transcript, context, seen), gold, view): (Met<'_>, &[Entity], &View),
    ) {
        let extractor = &self.extractors[0];
        let knows = |row: &str| {
            let mut named: Option<bool> = None;
            extractor.extract(row, transcript, &mut |entity| {
                let is_met = seen.contains(&entity.fingerprint());
                named = Some(named.unwrap_or(false) || is_met);
            });
            named
        };
        let (junk, worthless) = rows::junk(text, context, &knows);
        self.report.junk.add(junk);
        let rows = worthless.iter().map(|row| format!("{repository}: {row}"));
        self.report.worthless.extend(rows);
        let own: HashSet<&str> = alone.lines().collect();
        for row in text.lines() {
            self.report.leaks.note(!own.contains(row));
            if !own.contains(row) {
                self.report.leaked.push(format!("{repository}: {row}"));
            }
        }
        let needed = gold.iter().map(|name| (name.clone(), view.names(name))).collect();
        self.report.questions.push(MemoryQuestion { repository: repository.to_owned(), needed });
    }

    fn finish(mut self) -> MemoryReport {
        for ((view, budget, at), score) in self.scores {
            let extractor = ExtractorKind::ALL[at];
            let per_session = mean(&score.sessions);
            let repositories: Vec<f64> =
                score.repositories.values().filter_map(|tally| tally.percent()).collect();
            let per_repository = mean(&repositories);
            let (names, kinds) = (score.names, score.kinds);
            self.report.rows.push(MemoryRow {
                view,
                budget,
                extractor,
                names,
                kinds,
                per_session,
                per_repository,
            });
        }
        self.report
    }
}

impl MemoryReport {
    /// The scores as plain text.
    pub fn table(&self) -> String {
        use std::fmt::Write as _;
        let mut out = format!(
            "{} sessions, {} repositories with several, {} sessions asked\n\n{:<20} {:>9} {:>7} {:>7} {:>9} {:>12}\n",
            self.sessions,
            self.repositories,
            self.asked,
            "view",
            "names by",
            "tokens",
            "X-FRR",
            "/session",
            "/repository"
        );
        let percent = |value: Option<f64>| value.map_or("-".to_owned(), |v| format!("{v:.1}"));
        for row in &self.rows {
            // Writing to a string cannot fail.
            let _written = writeln!(
                out,
                "{:<20} {:>9} {:>7} {:>7} {:>9} {:>12}  {}",
                row.view,
                row.extractor.into_str(),
                row.budget,
                percent(row.names.percent()),
                percent(row.per_session),
                percent(row.per_repository),
                row.kinds
                    .iter()
                    .map(|(kind, tally)| format!("{kind} {}/{}", tally.kept, tally.asked))
                    .collect::<Vec<_>>()
                    .join(", ")
            );
        }
        let _written = writeln!(
            out,
            "\njunk {} % of {} rows (restated {}, repeated {}, of nothing met {})\n\
             rows of other repositories {} of {} · over budget {}",
            percent(self.junk.percent()),
            self.junk.rows,
            self.junk.restated,
            self.junk.repeated,
            self.junk.unknown,
            self.leaks.kept,
            self.leaks.asked,
            self.over_budget
        );
        out
    }
}
