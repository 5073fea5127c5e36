//! The ladder of strategies: which to try, in which order, and for how long.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::EnumString)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Strategy {
    Auto,
    Remote,
    Hybrid,
    Summary,
    Checkpoint,
}

impl Strategy {
    /// Whether it needs a model.
    pub fn asks(self) -> bool {
        !matches!(self, Self::Checkpoint | Self::Auto)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Offer {
    pub model: bool,
    pub remote: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Skip {
    /// No model, or the model cannot do this.
    NotConfigured,
    /// The caller's deadline leaves no time.
    NoTime,
}

/// The strategies to try, highest first; the last is always the checkpoint.
pub fn rungs(wanted: Strategy, offer: Offer) -> Vec<(Strategy, Option<Skip>)> {
    let if_ = |configured: bool| (!configured).then_some(Skip::NotConfigured);
    let mut rungs = match wanted {
        Strategy::Checkpoint => vec![],
        Strategy::Auto => {
            let all = [(Strategy::Remote, offer.remote), (Strategy::Hybrid, offer.model)];
            all.into_iter().filter(|rung| rung.1).map(|rung| (rung.0, None)).collect()
        }
        Strategy::Remote => {
            let mut rungs = vec![(Strategy::Remote, if_(offer.remote))];
            rungs.extend(offer.model.then_some((Strategy::Hybrid, None)));
            rungs
        }
        Strategy::Hybrid | Strategy::Summary => vec![(wanted, if_(offer.model))],
    };
    rungs.push((Strategy::Checkpoint, None));
    rungs
}

/// Milliseconds a compaction with a model may take if the caller sets no deadline.
pub const DEADLINE_MS: u64 = 120_000;

/// Milliseconds reserved for the checkpoint strategy, which must always fit.
const RESERVE_MS: u64 = 250;

/// Minimum milliseconds to ask a model.
const USEFUL_MS: u64 = 500;

/// Milliseconds the next strategy may take, given `left_ms` and `below` further strategies that ask a model;
/// `None` if that is too little.
pub fn rung_ms(left_ms: u64, below: u64) -> Option<u64> {
    let share = left_ms.saturating_sub(RESERVE_MS) / (below + 1);
    (share >= USEFUL_MS).then_some(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ladder_ends_with_the_checkpoint() {
        use Strategy::{Auto, Checkpoint, Hybrid, Remote, Summary};
        let none = Offer::default();
        let model = Offer { model: true, remote: false };
        let both = Offer { model: true, remote: true };
        let skipped = Some(Skip::NotConfigured);
        for (wanted, offer, expected) in [
            (Auto, none, vec![]),
            (Auto, model, vec![(Hybrid, None)]),
            (Auto, both, vec![(Remote, None), (Hybrid, None)]),
            (Remote, none, vec![(Remote, skipped)]),
            (Remote, model, vec![(Remote, skipped), (Hybrid, None)]),
            (Summary, none, vec![(Summary, skipped)]),
            (Summary, both, vec![(Summary, None)]),
            (Checkpoint, both, vec![]),
        ] {
            let mut ladder = rungs(wanted, offer);
            assert_eq!(ladder.pop(), Some((Checkpoint, None)));
            assert_eq!(ladder, expected, "{wanted:?} {offer:?}");
        }
    }

    #[test]
    fn only_strategies_that_need_a_model_ask_it() {
        use Strategy::{Auto, Checkpoint, Hybrid, Remote, Summary};
        assert!([Remote, Hybrid, Summary].into_iter().all(Strategy::asks));
        assert!(![Auto, Checkpoint].into_iter().any(Strategy::asks));
    }

    #[test]
    fn a_deadline_is_shared_and_leaves_room_for_the_checkpoint() {
        assert_eq!(rung_ms(120_250, 1), Some(60_000));
        assert_eq!(rung_ms(60_250, 0), Some(60_000));
        assert_eq!(rung_ms(749, 0), None);
        assert_eq!(rung_ms(0, 0), None);
    }
}
