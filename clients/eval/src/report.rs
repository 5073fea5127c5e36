//! The report of a run: totals with intervals, rows per session, and on request every miss.

mod builder;

pub use builder::{CutScore, ReportBuilder, ScoreKey};

use std::collections::BTreeMap;

use serde::Serialize;

use crate::cut::Cut;
use crate::entity::EntityKind;
use crate::evaluate::VIEW_NAME;
use crate::fact::{Fact, FactKind};
use crate::gold::Gold;
use crate::tally::Tally;
use crate::words::WordKind;

/// The result of a run. All orders are fixed, so two runs give the same bytes.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    pub corpus: CorpusSummary,
    /// What was needed, independent of any view.
    pub gold: GoldSummary,
    /// One entry per view and budget.
    pub measures: Vec<Measure>,
    /// One entry per view, budget and session.
    pub rows: Vec<SessionRow>,
    /// Summaries that agents continued from, each with the view of the same size.
    pub summaries: Vec<Comparison>,
    /// Statements of the tested view that the transcript contradicts, at most 200.
    pub contradicted: Vec<String>,
    /// Calls from each real compaction to the first edit after it, in ascending order.
    pub calls_to_edit: Vec<u64>,
    /// What the tested view lacks; empty unless requested.
    pub misses: Vec<Miss>,
}

#[derive(Debug, Default, Serialize)]
pub struct CorpusSummary {
    /// Sessions that could be read.
    pub sessions: usize,
    /// Distinct ones of these.
    pub distinct: usize,
    /// Distinct ones with at least one cut that counts.
    pub scored: usize,
    /// Repositories of the scored sessions.
    pub repositories: usize,
    /// Cuts that count.
    pub cuts: usize,
    /// Cuts with too little to remember.
    pub cuts_skipped: usize,
    /// Sessions that could not be read, with the reason, at most 20.
    pub unreadable: Vec<String>,
    /// Views that could not be made, with the reason, at most 20.
    pub failed_views: Vec<String>,
    /// Number of views that could not be made.
    pub failed_view_count: usize,
    /// Number of views over their budget; they are cut before scoring.
    pub over_budget: usize,
    /// Names excluded because too many sessions have them, at most 200.
    pub stop_entities: Vec<String>,
}

#[derive(Debug, Default, Serialize)]
pub struct GoldSummary {
    /// Names by kind.
    pub by_kind: BTreeMap<EntityKind, u64>,
    /// Facts by class.
    pub facts: BTreeMap<FactKind, u64>,
    /// Mean names per cut.
    pub names_per_cut: f64,
}

/// One view at one budget.
#[derive(Debug, Serialize)]
pub struct Measure {
    pub view: String,
    /// Budget (tokens, bytes / 4).
    pub budget_tokens: u64,
    /// Future-reference recall (percent) over all names of all cuts.
    pub frr: f64,
    /// The same as a mean over sessions.
    pub frr_per_session: f64,
    /// 95 % interval of `frr` by bootstrap over repositories.
    pub frr_interval: (f64, f64),
    /// Bound-fact recall (percent); 100 without facts.
    pub bfr: f64,
    /// The same as a mean over sessions.
    pub bfr_per_session: f64,
    /// The smaller of `frr` and `bfr`, so that names without meaning do not score.
    pub score: f64,
    /// Names by kind.
    pub by_kind: BTreeMap<EntityKind, Tally>,
    /// Names by first use: "1-10", "11-40", "41-80" calls after the cut.
    pub by_distance: BTreeMap<&'static str, Tally>,
    /// Facts by class.
    pub facts: BTreeMap<FactKind, Tally>,
    pub words: BTreeMap<WordKind, Tally>,
}

/// One session under one view.
#[derive(Debug, Serialize)]
pub struct SessionRow {
    pub session: String,
    pub repository: String,
    pub view: String,
    pub budget_tokens: u64,
    /// Cuts that count.
    pub cuts: u64,
    /// Names.
    pub frr: Tally,
    /// Facts.
    pub bfr: Tally,
}

/// A model's summary that its agent continued from, and the tested view of the same history with the same number of
/// tokens.
#[derive(Debug, Serialize)]
pub struct Comparison {
    pub session: String,
    pub repository: String,
    pub tokens: u64,
    /// Names the summary kept.
    pub summary_frr: Tally,
    /// Facts the summary kept.
    pub summary_bfr: Tally,
    /// Names the view kept.
    pub view_frr: Tally,
    /// Facts the view kept.
    pub view_bfr: Tally,
    /// Sentences that were referred to later.
    pub summary_relied: Tally,
    pub view_relied: Tally,
}

/// One thing the tested view lacks.
#[derive(Debug, Serialize)]
pub struct Miss {
    pub session: String,
    /// Share of the session's tokens before the cut (percent).
    pub percent: u8,
    /// Where the file was cut (bytes).
    pub offset: usize,
    pub budget_tokens: u64,
    /// "path", "command" … for a name, "edited file" … for a fact.
    pub what: &'static str,
    /// The name, or the fact as text.
    pub text: String,
    /// For a name: its first use, in calls after the cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<usize>,
}

impl Miss {
    /// A name that is not in the view.
    pub fn name(cut: &Cut<'_>, budget_tokens: u64, gold: &Gold) -> Self {
        let (what, text) = (gold.entity.kind.into_str(), gold.entity.text.clone());
        Self { distance: Some(gold.distance), ..Self::new(cut, budget_tokens, what, text) }
    }

    /// A fact that the view does not state.
    pub fn fact(cut: &Cut<'_>, budget_tokens: u64, fact: &Fact) -> Self {
        Self::new(cut, budget_tokens, fact.kind().into_str(), fact.sentence())
    }

    fn new(cut: &Cut<'_>, budget_tokens: u64, what: &'static str, text: String) -> Self {
        Self {
            session: cut.session.to_owned(),
            percent: cut.percent,
            offset: cut.bytes.len(),
            budget_tokens,
            what,
            text,
            distance: None,
        }
    }
}

impl Report {
    /// All real summaries together, as text; `None` without any.
    pub fn summaries_line(&self) -> Option<String> {
        let rows = &self.summaries;
        let all = |of: fn(&Comparison) -> Tally| {
            let total: Tally = rows.iter().map(of).sum();
            total.percent().map_or_else(|| "-".to_owned(), |percent| format!("{percent:.1} %"))
        };
        let tokens =
            rows.iter().map(|row| row.tokens).sum::<u64>().checked_div(rows.len() as u64)?;
        Some(format!(
            "{} real summaries of {tokens} tokens on average: FRR {}, BFR {}, relied on {}; {VIEW_NAME} in the same size: FRR {}, BFR {}, relied on {}",
            rows.len(),
            all(|row| row.summary_frr),
            all(|row| row.summary_bfr),
            all(|row| row.summary_relied),
            all(|row| row.view_frr),
            all(|row| row.view_bfr),
            all(|row| row.view_relied),
        ))
    }

    /// The measure of a view at a budget.
    pub fn measure(&self, view: &str, budget_tokens: u64) -> Option<&Measure> {
        let mut measures = self.measures.iter();
        measures.find(|measure| measure.view == view && measure.budget_tokens == budget_tokens)
    }
}
