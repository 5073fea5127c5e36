//! Scores views over a corpus: two passes, one session in memory at a time.
//!
//! The first pass finds copies and the names that every session has; the second cuts sessions, requests views and
//! scores them. The maker of a view gets only truncated bytes, so it cannot see what it is scored on.

mod question;
mod survey;

pub use survey::StopList;

use crate::baseline::{Baseline, Histories, head};
use crate::claims::{ClaimReader, exit_codes};
use crate::corpus::{Corpus, Session};
use crate::cut::{Cut, CutPlace, places};
use crate::entity::Extractor;
use crate::fact::{FactReader, Words};
use crate::gold::Index;
use crate::report::{Report, ReportBuilder};
use crate::transcript::{Summary, Transcript};
use crate::words::{SpokenText, spoken};
use question::Question;
use survey::Survey;

/// Cuts with fewer names to remember are ignored (names).
pub const GOLD_MIN: usize = 5;

/// Summaries of one session that are scored.
const SUMMARIES_MAX: usize = 32;

/// The name under which the tested view is reported.
pub const VIEW_NAME: &str = "longhaul";

#[derive(Debug, Clone)]
pub struct Options {
    /// Budgets of the views (tokens, bytes / 4).
    pub budgets: Vec<u64>,
    /// Score the baselines too.
    pub baselines: bool,
    /// List what the tested view lacks, cut by cut.
    pub misses: bool,
}

/// Makes a view of a cut within a budget (tokens). An error is scored as an empty view.
pub type ViewMaker<'a> = dyn FnMut(&Cut<'_>, u64) -> Result<String, String> + 'a;

/// Scores `view` over `corpus`. Unreadable sessions and failing views are counted in the report.
pub fn evaluate(
    corpus: &(impl Corpus + ?Sized),
    options: &Options,
    view: &mut ViewMaker<'_>,
) -> Result<Report, String> {
    let tools = Tools::new()
        .map_err(|error| format!("a pattern of the scorer does not compile: {error}"))?;
    let mut report = ReportBuilder::default();
    let survey = Survey::of(corpus, &tools.extractor, &mut report);
    let mut run = Run { tools: &tools, options, stop: &survey.stop, report };
    for number in survey.sessions {
        if let Ok(session) = corpus.load(number) {
            run.session(&session, view);
        }
    }
    Ok(run.report.finish(options))
}

struct Tools {
    extractor: Extractor,
    facts: FactReader,
    words: Words,
    claims: ClaimReader,
}

impl Tools {
    fn new() -> Result<Self, regex::Error> {
        Ok(Self {
            extractor: Extractor::new()?,
            facts: FactReader::new()?,
            words: Words::new()?,
            claims: ClaimReader::new()?,
        })
    }
}

/// The second pass.
struct Run<'a> {
    tools: &'a Tools,
    options: &'a Options,
    stop: &'a StopList,
    report: ReportBuilder,
}

impl Run<'_> {
    fn session(&mut self, session: &Session, view: &mut ViewMaker<'_>) {
        let transcript = Transcript::parse(&session.bytes);
        let index = Index::new(&transcript, &self.tools.extractor);
        self.report.stop_names(index.entities().filter(|name| self.stop.holds(name)));
        for place in places(&transcript) {
            let gold = index.gold(&transcript, place, self.stop);
            if gold.len() < GOLD_MIN {
                self.report.skipped_cut();
                continue;
            }
            let cut = Cut {
                session: &session.name,
                percent: place.percent,
                bytes: &session.bytes[..place.offset],
            };
            let question =
                Question { gold, ..self.question(session, cut, (&transcript, place.first_hidden)) };
            self.ask(&question, view);
        }
        for summary in &transcript.summaries {
            self.report.first_edit(transcript.calls_to_edit(summary.step));
        }
        for summary in transcript.summaries.iter().take(SUMMARIES_MAX) {
            self.compare(session, (&transcript, &index), summary, view);
        }
    }

    /// Scores a summary that the agent really continued from, and the view of the same history in the same number of
    /// tokens.
    fn compare(
        &mut self,
        session: &Session,
        (transcript, index): (&Transcript, &Index),
        summary: &Summary,
        view: &mut ViewMaker<'_>,
    ) {
        let place = CutPlace { percent: 0, offset: summary.before, first_hidden: summary.step };
        let gold = index.gold(transcript, place, self.stop);
        if gold.len() < GOLD_MIN {
            return;
        }
        let cut =
            Cut { session: &session.name, percent: 0, bytes: &session.bytes[..summary.before] };
        // References in the summary count like those of the agent after it.
        let question = Question { gold, ..self.question(session, cut, (transcript, summary.step)) };
        let tokens = summary.text.len().div_ceil(4);
        let text = view(&question.cut, tokens as u64).unwrap_or_else(|reason| {
            self.report.failed_view(question.cut.session, &reason);
            String::new()
        });
        let score = |text: &str| question.score(text, tokens as u64, &self.tools.words).0;
        let (theirs, ours) = (score(&summary.text), score(head(&text, tokens * 4)));
        self.report.compared(&question.key(VIEW_NAME, tokens as u64), &theirs, &ours);
    }

    /// The question at a cut, without the names.
    fn question<'q>(
        &self,
        session: &'q Session,
        cut: Cut<'q>,
        (transcript, first_hidden): (&Transcript, usize),
    ) -> Question<'q> {
        let (visible, later) = transcript.steps.split_at(first_hidden);
        Question {
            repository: &session.repository,
            cut,
            gold: Vec::new(),
            facts: self.tools.facts.read(transcript, first_hidden),
            codes: exit_codes(transcript, first_hidden),
            spoken_text: SpokenText::read(visible, &spoken(later)),
        }
    }

    /// Scores the tested view and the baselines at one cut, for every budget.
    fn ask(&mut self, question: &Question<'_>, view: &mut ViewMaker<'_>) {
        self.report.cut(&question.gold, &question.facts);
        let histories = self
            .options
            .baselines
            .then(|| Histories::new(&Transcript::parse(question.cut.bytes), &self.tools.extractor));
        for &budget in &self.options.budgets {
            let limit = usize::try_from(budget.saturating_mul(4)).unwrap_or(usize::MAX);
            let text = view(&question.cut, budget).unwrap_or_else(|reason| {
                self.report.failed_view(question.cut.session, &reason);
                String::new()
            });
            if text.len() > limit {
                self.report.over_budget();
            }
            let text = head(&text, limit);
            let (mut score, misses) = question.score(text, budget, &self.tools.words);
            let found = question.contradicted(text, &self.tools.claims, &mut score);
            self.report.contradicted(question.cut.session, found);
            self.report.score(&question.key(VIEW_NAME, budget), &score);
            if self.options.misses {
                self.report.misses(misses);
            }
            for &baseline in Baseline::ALL {
                let Some(histories) = &histories else { break };
                let text = histories.view(baseline, limit, &question.gold, &question.facts);
                let (score, _) = question.score(&text, budget, &self.tools.words);
                self.report.score(&question.key(baseline.into_str(), budget), &score);
            }
        }
    }
}

#[cfg(test)]
mod tests;
