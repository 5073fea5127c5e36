//! The report as plain text of at most 100 columns, for terminals and for notes.

use std::fmt::Write as _;

use crate::entity::{EntityKind, ExtractorKind};
use crate::evaluate::VIEW_NAME;
use crate::fact::FactKind;
use crate::report::{Measure, Report};
use crate::tally::Tally;
use crate::words::WordKind;
use strum::VariantArray as _;

/// False statements that the table lists.
const CONTRADICTED_SHOWN: usize = 10;

impl Report {
    /// All views and budgets, then the view in question by kind, distance and fact.
    pub fn table(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        self.write(&mut text).map(|()| text).unwrap_or_default()
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        let corpus = &self.corpus;
        writeln!(
            out,
            "{} sessions, {} distinct, {} scored in {} repositories; {} cuts, {:.1} names a cut",
            corpus.sessions,
            corpus.distinct,
            corpus.scored,
            corpus.repositories,
            corpus.cuts,
            self.gold.names_per_cut
        )?;
        if corpus.failed_view_count + corpus.over_budget + corpus.unreadable.len() > 0 {
            writeln!(
                out,
                "{} views failed, {} over budget, {} files unreadable",
                corpus.failed_view_count,
                corpus.over_budget,
                corpus.unreadable.len()
            )?;
        }
        writeln!(
            out,
            "\n{:<15} {:>6} {:>6} {:>6} {:>13} {:>9} {:>7} {:>6}  {:>6} {:>7}",
            "view",
            "tokens",
            "score",
            "FRR",
            "95 %",
            "/session",
            "FRR tok",
            "BFR",
            "edited",
            "request"
        )?;
        for measure in self.measures.iter().filter(|m| m.extractor == ExtractorKind::Regex) {
            self.line(out, measure)?;
        }
        self.words(out)?;
        self.details(out)?;
        match self.summaries_line() {
            Some(line) => writeln!(out, "\n{line}"),
            None => Ok(()),
        }
    }

    fn line(&self, out: &mut String, measure: &Measure) -> std::fmt::Result {
        let second = self.measure(&measure.view, measure.budget_tokens, ExtractorKind::Tokenizer);
        let fact = |kind| percent(measure.facts.get(&kind).copied().unwrap_or_default());
        writeln!(
            out,
            "{:<15} {:>6} {:>6.1} {:>6.1} {:>6.1}-{:<6.1} {:>9.1} {:>7.1} {:>6.1}  {:>6} {:>7}",
            measure.view,
            measure.budget_tokens,
            measure.score,
            measure.frr,
            measure.frr_interval.0,
            measure.frr_interval.1,
            measure.frr_per_session,
            second.map_or(0.0, |second| second.frr),
            measure.bfr,
            fact(FactKind::EditedFile),
            fact(FactKind::LastRequest),
        )
    }

    fn words(&self, out: &mut String) -> std::fmt::Result {
        write!(out, "\n{:<15} {:>6}", "in words", "tokens")?;
        for kind in WordKind::VARIANTS {
            write!(out, " {:>15}", kind.into_str())?;
        }
        writeln!(out)?;
        for measure in self.measures.iter().filter(|m| m.extractor == ExtractorKind::Regex) {
            write!(out, "{:<15} {:>6}", measure.view, measure.budget_tokens)?;
            for kind in WordKind::VARIANTS {
                let tally = measure.words.get(kind).copied().unwrap_or_default();
                let words = match kind {
                    WordKind::FalseStatements => format!("{} of {}", tally.kept, tally.asked),
                    _ => percent(tally),
                };
                write!(out, " {words:>15}")?;
            }
            writeln!(out)?;
        }
        for statement in self.contradicted.iter().take(CONTRADICTED_SHOWN) {
            writeln!(out, "false: {statement}")?;
        }
        let edits = &self.calls_to_edit;
        match edits.get(edits.len() / 2) {
            Some(median) => {
                let count = edits.len();
                writeln!(out, "{count} real compactions: {median} calls to the next edit (median)")
            }
            None => Ok(()),
        }
    }

    fn details(&self, out: &mut String) -> std::fmt::Result {
        write!(out, "\n{:<25} {:>7}", format!("{VIEW_NAME}, in detail"), "asked")?;
        for budget in self.budgets() {
            write!(out, " {budget:>8}")?;
        }
        writeln!(out)?;
        for row in self.kept_rows() {
            write!(out, "{:<25} {:>7}", row.name, row.asked)?;
            for tally in row.tallies {
                write!(out, " {:>8}", percent(tally))?;
            }
            writeln!(out)?;
        }
        Ok(())
    }

    /// The tested view's measures, by budget.
    fn own(&self) -> impl Iterator<Item = &Measure> {
        let own = |m: &&Measure| m.view == VIEW_NAME && m.extractor == ExtractorKind::Regex;
        self.measures.iter().filter(own)
    }

    /// Budgets of the report, in the requested order.
    pub fn budgets(&self) -> Vec<u64> {
        self.own().map(|measure| measure.budget_tokens).collect()
    }

    /// What the tested view keeps: names by kind and by distance, and facts by kind.
    pub fn kept_rows(&self) -> Vec<KeptRow> {
        let names = EntityKind::ALL.iter().map(|kind| {
            self.kept(format!("names: {}", kind.into_str()), |m| m.by_kind.get(kind).copied())
        });
        let distances = ["1-10", "11-40", "41-80"].into_iter().map(|bucket| {
            self.kept(format!("used {bucket} calls on"), |m| m.by_distance.get(bucket).copied())
        });
        let facts = FactKind::ALL.iter().map(|kind| {
            self.kept(format!("facts: {}", kind.into_str()), |m| m.facts.get(kind).copied())
        });
        names.chain(distances).chain(facts).collect()
    }

    fn kept(&self, name: String, tally: impl Fn(&Measure) -> Option<Tally>) -> KeptRow {
        let tallies: Vec<Tally> = self.own().map(|m| tally(m).unwrap_or_default()).collect();
        let asked = tallies.first().map_or(0, |tally| tally.asked);
        KeptRow { name, asked, tallies }
    }
}

/// What the tested view keeps of one kind of names or facts.
pub struct KeptRow {
    pub name: String,
    /// How many the rest of the sessions needs.
    pub asked: u64,
    /// One for each budget.
    pub tallies: Vec<Tally>,
}

fn percent(tally: Tally) -> String {
    tally.percent().map_or_else(|| "-".to_owned(), |percent| format!("{percent:.1}"))
}
