//! Forecast: turns until the next tier, until the window is full, and until the next boundary.

use serde::{Deserialize, Serialize};

use super::Tier;
use super::settings::Policy;
use crate::context::window::{BASELINE_TOKENS, Window};
use crate::fold::Point as Mark;
use crate::signal::{Boundary, Occurrence, SignalEvent};

/// An estimate from the thread's own history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forecast {
    pub tokens_per_turn: u64,
    pub turns_left: Option<u64>,
    pub next_tier: Option<Tier>,
    pub turns_to_next_tier: Option<u64>,
    pub next_boundary: Option<Boundary>,
    pub turns_to_boundary: Option<u64>,
}

#[derive(Debug, Clone, Copy)]
pub struct Course<'a> {
    /// Window sizes since the thread's start, oldest first.
    pub points: &'a [Mark],
    /// Line of the last compaction, from which growth is measured.
    pub compacted_at: Option<u64>,
    pub turn: u64,
    pub used: u64,
}

pub fn forecast(
    policy: &Policy,
    window: &Window,
    course: Course<'_>,
    log: &[SignalEvent],
) -> Forecast {
    let since = course.points.iter().find(|p| course.compacted_at.is_none_or(|at| p.seq >= at));
    let turns = since.map_or(0, |point| course.turn.saturating_sub(point.turn)).max(1);
    let grown = since.map_or(0, |point| course.used.saturating_sub(point.tokens));
    let tokens_per_turn = grown / turns;
    let turns_for = |tokens: u64| (tokens_per_turn > 0).then(|| tokens.div_ceil(tokens_per_turn));
    let percent = window.percent_left(course.used);
    let now = policy.tier(percent);
    let next_tier = Tier::ALL.iter().copied().find(|tier| now.is_none_or(|now| *tier > now));
    let next_tier = next_tier.filter(|_| window.is_known());
    let room_to = |tier: Tier| {
        let lt = policy.tiers.get(&tier).map_or(0, |rule| rule.percent_remaining_lt);
        let room = window.effective.saturating_sub(BASELINE_TOKENS);
        room.saturating_mul(percent.saturating_sub(lt) + 1) / 100
    };
    let (next_boundary, turns_to_boundary) = next_boundary(course.turn, log);
    Forecast {
        tokens_per_turn,
        turns_left: turns_for(window.effective.saturating_sub(course.used))
            .filter(|_| window.is_known()),
        next_tier,
        turns_to_next_tier: next_tier.and_then(|tier| turns_for(room_to(tier))),
        next_boundary,
        turns_to_boundary,
    }
}

/// The most frequent boundary, and its due date by the mean distance of its turns.
fn next_boundary(turn: u64, log: &[SignalEvent]) -> (Option<Boundary>, Option<u64>) {
    let turns_of = |boundary: Boundary| {
        let mut turns: Vec<u64> = log
            .iter()
            .filter(|event| event.what == Occurrence::Boundary(boundary))
            .map(|event| event.turn)
            .collect();
        turns.dedup();
        turns
    };
    let seen = Boundary::ALL.iter().copied().filter(|b| *b != Boundary::TurnComplete);
    let most = seen.map(|boundary| (boundary, turns_of(boundary)));
    let Some((boundary, turns)) = most.rev().max_by_key(|(_, turns)| turns.len()) else {
        return (None, None);
    };
    let (Some(first), Some(last)) = (turns.first(), turns.last()) else { return (None, None) };
    let gaps = (turns.len() as u64).saturating_sub(1);
    let every = (gaps > 0).then(|| (last.saturating_sub(*first) / gaps).max(1));
    let due = every.map(|every| (last + every).saturating_sub(turn));
    (Some(boundary), due)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::window::{WindowSources, decide};

    #[test]
    fn turns_are_counted_from_the_last_compaction() {
        let window = decide(&WindowSources { asked: Some(100_000), ..WindowSources::default() });
        let mark = |seq, turn, tokens| Mark { seq, turn, tokens };
        let points = [mark(0, 1, 90_000), mark(10, 3, 20_000), mark(20, 5, 40_000)];
        let course = Course { points: &points, compacted_at: Some(10), turn: 5, used: 40_000 };
        let event = |turn| SignalEvent {
            seq: turn,
            turn,
            at_ms: 0,
            what: Occurrence::Boundary(Boundary::Commit),
        };
        let log = [event(1), event(3), event(5)];
        let found = forecast(&Policy::default(), &window, course, &log);
        assert_eq!((found.tokens_per_turn, found.turns_left), (10_000, Some(6)));
        assert_eq!(found.next_tier, Some(Tier::Asap));
        assert_eq!(
            (found.next_boundary, found.turns_to_boundary),
            (Some(Boundary::Commit), Some(2))
        );
    }

    #[test]
    fn a_boundary_that_was_seen_once_has_no_distance() {
        let what = Occurrence::Boundary(Boundary::Commit);
        let log = [SignalEvent { seq: 3, turn: 2, at_ms: 0, what }];
        assert_eq!(next_boundary(5, &log), (Some(Boundary::Commit), None));
        assert_eq!(next_boundary(5, &[]).1, None);
    }

    #[test]
    fn the_next_tier_begins_after_as_many_turns() {
        let policy = Policy::default();
        for (tokens, used, next) in [
            (272_000, 16_000, Tier::Early),
            (272_000, 60_000, Tier::Ready),
            (272_000, 80_000, Tier::Asap),
            (272_000, 120_000, Tier::Emergency),
            (40_000, 24_000, Tier::Emergency),
        ] {
            let window = decide(&WindowSources { asked: Some(tokens), ..WindowSources::default() });
            let points = [Mark { seq: 0, turn: 0, tokens: 0 }];
            let course = Course { points: &points, compacted_at: None, turn: 8, used };
            let found = forecast(&policy, &window, course, &[]);
            assert_eq!((found.tokens_per_turn, found.next_tier), (used / 8, Some(next)));
            let still = forecast(&policy, &window, Course { used: 0, ..course }, &[]);
            assert_eq!((still.turns_left, still.turns_to_next_tier), (None, None), "no growth");
            let reaches = |turns: &u64| {
                let left = window.percent_left(used + turns * found.tokens_per_turn);
                policy.tier(left) >= Some(next)
            };
            let actual = (0..100).find(reaches).unwrap();
            let turns = found.turns_to_next_tier.unwrap();
            assert!((actual..=actual + 1).contains(&turns), "{next:?}: {turns}, not {actual}");
        }
    }
}
