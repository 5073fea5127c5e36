//! Whether a thread is at the limit at which an agent compacts by itself: the answer of `compaction/should`. When
//! longhaul compacts is decided in [`crate::policy`].
//!
//! Follows Codex, with three differences: text about to be sent counts, a user's limit above 90 % of the
//! window is honored, and a limit of 0 means off, not always.

use crate::context::window::Window;

/// When the question is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriggerMoment {
    /// Before a request is sent.
    PreTurn {
        /// Tokens about to be added.
        incoming: u64,
    },
    /// Between two model responses of one turn.
    MidTurn {
        /// Whether the turn continues: calls await outputs, or the person sent more.
        follow_up: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum LimitVerdict {
    SwitchedOff,
    UnderLimit,
    /// The turn is over; the next one checks again.
    NoFollowUp,
    ContextLimit,
    /// The next model has a smaller window than the history: the previous model compacts.
    ModelDownshift,
}

impl LimitVerdict {
    pub fn compacts(self) -> bool {
        matches!(self, Self::ContextLimit | Self::ModelDownshift)
    }
}

/// Decides for a history of `used` tokens in `window`; `previous` is the window of the model that answered
/// last, if it differs.
pub fn should(
    used: u64,
    moment: TriggerMoment,
    window: &Window,
    previous: Option<&Window>,
) -> LimitVerdict {
    let Some(trigger) = window.trigger else { return LimitVerdict::SwitchedOff };
    match moment {
        TriggerMoment::PreTurn { incoming } => {
            let shrinks = previous.is_some_and(|previous| previous.effective > window.effective);
            if shrinks && used > trigger {
                return LimitVerdict::ModelDownshift;
            }
            let reached = used.saturating_add(incoming) >= trigger;
            if reached { LimitVerdict::ContextLimit } else { LimitVerdict::UnderLimit }
        }
        TriggerMoment::MidTurn { .. } if used < trigger => LimitVerdict::UnderLimit,
        TriggerMoment::MidTurn { follow_up: true } => LimitVerdict::ContextLimit,
        TriggerMoment::MidTurn { follow_up: false } => LimitVerdict::NoFollowUp,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::window::{WindowSources, decide};

    fn window(tokens: u64, limit: Option<u64>) -> Window {
        decide(&WindowSources {
            asked: Some(tokens),
            limit_asked: limit,
            ..WindowSources::default()
        })
    }

    #[test]
    fn limits_are_reached_exactly_and_incoming_text_counts() {
        let full = window(100_000, None);
        let pre = |used, incoming| should(used, TriggerMoment::PreTurn { incoming }, &full, None);
        assert_eq!(pre(89_999, 0), LimitVerdict::UnderLimit);
        assert_eq!(pre(90_000, 0), LimitVerdict::ContextLimit);
        assert_eq!(
            pre(50_000, 40_000),
            LimitVerdict::ContextLimit,
            "a paste on a half full thread"
        );
    }

    #[test]
    fn a_users_limit_is_honored_above_ninety_percent_and_zero_is_off() {
        let high = window(100_000, Some(94_000));
        let pre = TriggerMoment::PreTurn { incoming: 0 };
        assert_eq!(should(93_999, pre, &high, None), LimitVerdict::UnderLimit);
        assert_eq!(should(94_000, pre, &high, None), LimitVerdict::ContextLimit);
        assert_eq!(
            should(u64::MAX, pre, &window(100_000, Some(0)), None),
            LimitVerdict::SwitchedOff
        );
    }

    #[test]
    fn a_finished_turn_is_not_compacted_mid_turn() {
        let full = window(100_000, None);
        let mid = |used, follow_up| should(used, TriggerMoment::MidTurn { follow_up }, &full, None);
        assert_eq!(mid(95_000, true), LimitVerdict::ContextLimit);
        assert_eq!(mid(95_000, false), LimitVerdict::NoFollowUp);
        assert_eq!(mid(89_999, true), LimitVerdict::UnderLimit);
        assert_eq!(mid(90_000, true), LimitVerdict::ContextLimit);
    }

    #[test]
    fn only_a_reached_limit_compacts() {
        for (verdict, expected) in [
            (LimitVerdict::SwitchedOff, false),
            (LimitVerdict::UnderLimit, false),
            (LimitVerdict::NoFollowUp, false),
            (LimitVerdict::ContextLimit, true),
            (LimitVerdict::ModelDownshift, true),
        ] {
            assert_eq!(verdict.compacts(), expected, "{verdict:?}");
        }
    }

    #[test]
    fn only_a_larger_previous_model_compacts_for_a_smaller_one() {
        let (small, large) = (window(100_000, None), window(272_000, None));
        let pre = TriggerMoment::PreTurn { incoming: 0 };
        assert_eq!(should(90_001, pre, &small, Some(&large)), LimitVerdict::ModelDownshift);
        assert_eq!(should(90_000, pre, &small, Some(&large)), LimitVerdict::ContextLimit);
        assert_eq!(should(200_000, pre, &large, Some(&small)), LimitVerdict::UnderLimit);
        assert_eq!(should(95_000, pre, &small, Some(&small)), LimitVerdict::ContextLimit);
    }
}
