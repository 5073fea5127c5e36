//! What the tested view keeps, by kind, in rows for a table.

use strum::VariantArray as _;

use crate::entity::EntityKind;
use crate::evaluate::VIEW_NAME;
use crate::fact::FactKind;
use crate::report::{Measure, Report};
use crate::tally::Tally;
use crate::words::WordKind;

impl Report {
    /// The tested view's measures, by budget.
    fn own(&self) -> impl Iterator<Item = &Measure> {
        self.measures.iter().filter(|measure| measure.view == VIEW_NAME)
    }

    /// Budgets of the report, in the requested order.
    pub fn budgets(&self) -> Vec<u64> {
        self.own().map(|measure| measure.budget_tokens).collect()
    }

    /// What the tested view keeps: names by kind and by distance, facts by kind, and words in their order.
    pub fn kept_rows(&self) -> Vec<KeptRow> {
        let names = EntityKind::VARIANTS.iter().map(|kind| {
            self.kept(format!("names: {}", kind.into_str()), |m| m.by_kind.get(kind).copied())
        });
        let distances = ["1-10", "11-40", "41-80"].into_iter().map(|bucket| {
            self.kept(format!("used {bucket} calls on"), |m| m.by_distance.get(bucket).copied())
        });
        let facts = FactKind::VARIANTS.iter().map(|kind| {
            self.kept(format!("facts: {}", kind.into_str()), |m| m.facts.get(kind).copied())
        });
        // The other kinds count words of the view, whose number depends on the budget.
        let words =
            [WordKind::PersonsWords, WordKind::LastReport, WordKind::ReliedOn].map(|kind| {
                self.kept(format!("words: {}", kind.into_str()), |m| m.words.get(&kind).copied())
            });
        names.chain(distances).chain(facts).chain(words).collect()
    }

    fn kept(&self, name: String, tally: impl Fn(&Measure) -> Option<Tally>) -> KeptRow {
        let tallies: Vec<Tally> = self.own().map(|m| tally(m).unwrap_or_default()).collect();
        let asked = tallies.first().map_or(0, |tally| tally.asked);
        KeptRow { name, asked, tallies }
    }
}

/// What the tested view keeps of one kind of names, facts or words.
pub struct KeptRow {
    pub name: String,
    /// How many the rest of the sessions needs.
    pub asked: u64,
    /// One for each budget.
    pub tallies: Vec<Tally>,
}
