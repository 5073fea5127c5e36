//! What a running agent reports of its own window: how large it is, and its fill.
//!
//! An agent knows its window exactly where its transcript does not say it. A report holds for the model and
//! the history it was made of: it is dropped when another model answers, and its fill when the provider
//! counts again, or when the history is compacted or rolled back.

use serde::{Deserialize, Serialize};

use super::Fold;

/// A report of a running agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gauge {
    /// Time of the report, Unix milliseconds.
    pub at_ms: i64,
    /// The model that the thread named then.
    pub model: Option<String>,
    /// Tokens of the whole window.
    pub window: Option<u64>,
    /// Tokens in the window.
    pub fill: Option<u64>,
    /// The history that `fill` is of.
    history: GaugedHistory,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct GaugedHistory {
    /// Our estimate of its items.
    estimated: u64,
    compactions: u64,
    /// Line of the provider's last count.
    counted_seq: Option<u64>,
}

impl Gauge {
    /// A report on the thread in the state of `fold`; `None` if no value is plausible.
    pub fn of(fold: &Fold, (window, fill): (Option<u64>, Option<u64>), at_ms: i64) -> Option<Self> {
        let window = window.filter(|tokens| *tokens > 0);
        let fill = fill.filter(|fill| *fill > 0 && window.is_none_or(|window| *fill <= window));
        let model = fold.head().model.clone();
        let known = window.is_some() || fill.is_some();
        known.then(|| Self { at_ms, model, window, fill, history: GaugedHistory::of(fold) })
    }

    /// The window, if the report is about this model.
    pub fn window_of(&self, model: Option<&str>) -> Option<u64> {
        self.window.filter(|_| self.model.as_deref() == model)
    }

    /// Tokens in the window now: the fill that was reported, and an estimate of what came since.
    pub fn fill_now(&self, fold: &Fold) -> Option<u64> {
        let (then, now) = (self.history, GaugedHistory::of(fold));
        let is_same = self.model == fold.head().model
            && then.compactions == now.compactions
            && then.counted_seq == now.counted_seq;
        let since = now.estimated.checked_sub(then.estimated).filter(|_| is_same)?;
        Some(self.fill?.saturating_add(since))
    }
}

impl GaugedHistory {
    fn of(fold: &Fold) -> Self {
        Self {
            estimated: fold.visible().tokens(),
            compactions: fold.head().compactions,
            counted_seq: fold.meter().report().map(|report| report.seq),
        }
    }
}
