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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::fold::Source;
    use crate::fold::tests::{self, codex, message};

    fn push(fold: &mut Fold, kind: &str, payload: &Value) {
        tests::push(fold, &[codex(kind, payload)]);
    }

    fn say(fold: &mut Fold, role: &str) {
        tests::push(fold, &[message(role, "some more words")]);
    }

    fn model(fold: &mut Fold, name: &str) {
        push(fold, "turn_context", &json!({ "model": name }));
    }

    fn thread() -> Fold {
        let mut fold = Fold::new(Source::Codex);
        model(&mut fold, "m1");
        say(&mut fold, "user");
        say(&mut fold, "assistant");
        fold
    }

    #[test]
    fn only_plausible_values_are_kept() {
        for (window, fill, expected) in [
            (Some(100), Some(40), Some((Some(100), Some(40)))),
            (Some(100), Some(100), Some((Some(100), Some(100)))),
            (Some(100), Some(101), Some((Some(100), None))),
            (Some(100), None, Some((Some(100), None))),
            (Some(0), Some(40), Some((None, Some(40)))),
            (None, Some(1), Some((None, Some(1)))),
            (Some(1), Some(0), Some((Some(1), None))),
            (Some(0), Some(0), None),
            (None, None, None),
        ] {
            let gauge = Gauge::of(&thread(), (window, fill), 7);
            let found = gauge.as_ref().map(|gauge| (gauge.window, gauge.fill));
            assert_eq!(found, expected, "{window:?} {fill:?}");
            assert_eq!(gauge.map(|gauge| gauge.at_ms), expected.map(|_| 7));
        }
    }

    #[test]
    fn a_report_holds_for_its_model_and_history() {
        let counted = json!({ "type": "token_count", "info": { "last_token_usage":
            { "input_tokens": 900, "total_tokens": 950 } } });
        let rolled_back = json!({ "type": "thread_rolled_back", "num_turns": 1 });
        let compacted = json!({ "message": "the state", "replacement_history": [] });
        type Later<'a> = &'a dyn Fn(&mut Fold);
        let cases: [(&str, Later<'_>, bool); 6] = [
            ("nothing new", &|_| {}, true),
            ("more items", &|fold| say(fold, "user"), true),
            ("another model", &|fold| model(fold, "m2"), false),
            ("a count", &|fold| push(fold, "event_msg", &counted), false),
            ("a rollback", &|fold| push(fold, "event_msg", &rolled_back), false),
            (
                "a compaction, after which it grew",
                &|fold| {
                    push(fold, "compacted", &compacted);
                    (0..9).for_each(|_| say(fold, "user"));
                },
                false,
            ),
        ];
        for (what, change, holds) in cases {
            let mut fold = thread();
            let gauge = Gauge::of(&fold, (Some(1_000), Some(500)), 0).unwrap();
            let before = fold.visible().tokens();
            change(&mut fold);
            let grown = fold.visible().tokens().saturating_sub(before);
            assert_eq!(gauge.fill_now(&fold), holds.then_some(500 + grown), "{what}");
            let is_same = fold.head().model.as_deref() == Some("m1");
            let window = gauge.window_of(fold.head().model.as_deref());
            assert_eq!(window, is_same.then_some(1_000), "{what}");
        }
        let unfilled = Gauge::of(&thread(), (Some(1_000), None), 0).unwrap();
        assert_eq!(unfilled.fill_now(&thread()), None);
    }
}
