//! Counts of kept and needed, and figures from them.

/// How many of the needed ones are in the view.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Tally {
    pub kept: u64,
    pub asked: u64,
}

impl Tally {
    pub fn note(&mut self, is_kept: bool) {
        self.asked += 1;
        self.kept += u64::from(is_kept);
    }

    pub fn add(&mut self, other: Self) {
        self.kept += other.kept;
        self.asked += other.asked;
    }

    /// Percent kept; `None` if nothing was needed.
    pub fn percent(self) -> Option<f64> {
        (self.asked > 0).then(|| 100.0 * to_f64(self.kept) / to_f64(self.asked))
    }
}

impl std::iter::Sum for Tally {
    fn sum<I: Iterator<Item = Self>>(tallies: I) -> Self {
        let mut total = Self::default();
        tallies.for_each(|tally| total.add(tally));
        total
    }
}

/// Counts stay far below 2^52, where this is exact.
#[expect(clippy::cast_precision_loss, reason = "counts of questions stay far below 2^52")]
pub(crate) fn to_f64(count: u64) -> f64 {
    count as f64
}

/// The mean of some percentages; none of none.
pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / to_f64(values.len() as u64))
}
