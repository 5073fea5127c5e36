//! How full the model's window is after each line, and its course over time.
//!
//! The provider's count is exact only for the history it was made of. Our estimate of the items after the
//! model's answer is added to it. A compaction or a rollback invalidates it: then the history is estimated,
//! plus the provider's excess over our estimate at its first report (instructions, tool schemas), so that the
//! result right after is not too low.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::bounded::push_bounded;
use crate::limits;
use crate::rollout;

/// Maximum points of the course; on overflow every second one is dropped.
const POINTS_MAX: usize = 192;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    pub seq: u64,
    /// Tokens counted, including the answer.
    pub tokens: u64,
    /// Our estimate of the same items.
    pub estimated: u64,
}

/// How full the window was at a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    pub seq: u64,
    pub turn: u64,
    pub tokens: u64,
}

/// Window sizes around a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionPoint {
    pub seq: u64,
    pub before: u64,
    pub after: u64,
}

/// Tracks the window of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Meter {
    window: Option<u64>,
    /// The largest count the provider ever reported.
    filled: u64,
    /// Tokens in the window when the agent last compacted by itself.
    agent_compacted_at: Option<u64>,
    report: Option<Report>,
    /// The provider's excess over our estimate at its first report.
    overhead: Option<u64>,
    /// Our estimate up to the model's last item; `None` while it has produced none since the last compaction
    /// or rollback, when a report can only repeat an older one.
    at_model: Option<u64>,
    /// Our estimate now.
    estimated: u64,
    /// Reports precede the items of the answer they count, as in Codex up to 0.65.
    is_early: bool,
    /// The newest item is the model's.
    ends_own: bool,
    /// Items of the answer that an early report counts are yet to come.
    awaits_answer: bool,
    turns: u64,
    /// One of this many items becomes a point.
    stride: u64,
    items: u64,
    points: Vec<Point>,
    compactions: VecDeque<CompactionPoint>,
}

impl Meter {
    /// The window as the transcript states it.
    pub fn window(&self) -> Option<u64> {
        self.window
    }

    /// The largest number of tokens the window has held, as counted by the provider; `None` before the first
    /// count.
    pub fn filled(&self) -> Option<u64> {
        (self.filled > 0).then_some(self.filled)
    }

    /// Tokens in the window when the agent last compacted by itself, if its transcripts record it.
    pub fn agent_compacted_at(&self) -> Option<u64> {
        self.agent_compacted_at
    }

    /// The provider's last valid count.
    pub fn report(&self) -> Option<Report> {
        self.report
    }

    /// Tokens the provider counts in addition to the items: instructions and tool schemas.
    pub fn overhead(&self) -> u64 {
        self.overhead.unwrap_or(0)
    }

    /// Whether counts precede the answers they include.
    pub fn is_early(&self) -> bool {
        self.is_early
    }

    /// Turns begun, without those rolled back.
    pub fn turns(&self) -> u64 {
        self.turns
    }

    /// The course so far, oldest first.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// The newest compactions, oldest first, at most [`limits::COMPACTION_POINTS`].
    pub fn compactions(&self) -> impl Iterator<Item = &CompactionPoint> {
        self.compactions.iter()
    }

    /// Tokens in the window when our estimate of the history is `estimated`.
    pub fn used(&self, estimated: u64) -> u64 {
        match self.report {
            Some(report) => {
                report.tokens.saturating_add(estimated.saturating_sub(report.estimated))
            }
            None => estimated.saturating_add(self.overhead()),
        }
    }

    pub(super) fn reported(&mut self, seq: u64, usage: rollout::Usage) {
        self.window = usage.context_window.filter(|window| *window > 0).or(self.window);
        self.filled = self.filled.max(usage.total_tokens.unwrap_or(0));
        self.agent_compacted_at = usage.compacted_at.or(self.agent_compacted_at);
        let Some(tokens) = usage.total_tokens else { return };
        let Some(at_model) = self.at_model else {
            // It counts an answer to come, unless the history was replaced: then it repeats an older count.
            self.is_early |= self.overhead.is_none() && self.compactions.is_empty();
            return;
        };
        self.is_early &= !self.ends_own;
        self.awaits_answer = self.is_early;
        let estimated = if self.is_early { self.estimated } else { at_model };
        self.overhead.get_or_insert(tokens.saturating_sub(estimated));
        self.report = Some(Report { seq, tokens, estimated });
    }

    pub(super) fn begin_turn(&mut self) {
        self.turns += 1;
    }

    /// Records an item; the history is now estimated at `estimated`.
    pub(super) fn item(&mut self, seq: u64, estimated: u64, is_from_model: bool) {
        self.estimated = estimated;
        self.ends_own = is_from_model;
        self.awaits_answer &= is_from_model;
        if is_from_model {
            self.at_model = Some(estimated);
        }
        if let Some(report) = self.report.as_mut().filter(|_| self.awaits_answer) {
            report.estimated = estimated;
        }
        self.items += 1;
        if self.items.is_multiple_of(self.stride.max(1)) {
            self.mark(seq, estimated);
        }
    }

    pub(super) fn rolled_back(&mut self, seq: u64, estimated: u64, turns: u64) {
        self.turns = self.turns.saturating_sub(turns);
        self.renew();
        self.mark(seq, estimated);
    }

    /// Records that the history was replaced; `before` is the window's previous size.
    pub(super) fn compacted(&mut self, seq: u64, before: u64, estimated: u64) {
        self.renew();
        let point = CompactionPoint { seq, before, after: self.used(estimated) };
        push_bounded(&mut self.compactions, point, limits::COMPACTION_POINTS);
        self.mark(seq, estimated);
    }

    fn renew(&mut self) {
        self.report = None;
        self.at_model = None;
        self.awaits_answer = false;
    }

    fn mark(&mut self, seq: u64, estimated: u64) {
        if self.points.len() >= POINTS_MAX {
            let mut place = 0;
            self.points.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.stride = self.stride.max(1) * 2;
        }
        self.points.push(Point { seq, turn: self.turns, tokens: self.used(estimated) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(total: u64) -> rollout::Usage {
        rollout::Usage {
            total_tokens: Some(total),
            context_window: Some(258_400),
            ..rollout::Usage::default()
        }
    }

    #[test]
    fn what_follows_the_models_answer_is_added_to_the_providers_count() {
        let mut meter = Meter::default();
        meter.item(1, 100, false);
        meter.reported(2, counted(9_999));
        assert_eq!(meter.used(100), 100, "no answer yet: a report of another history");
        meter.item(3, 150, true);
        meter.reported(4, counted(8_150));
        assert_eq!((meter.used(150), meter.overhead()), (8_150, 8_000));
        meter.item(5, 400, false);
        assert_eq!(meter.used(400), 8_400);
    }

    #[test]
    fn an_answer_whose_count_came_before_it_is_counted_once() {
        let mut meter = Meter::default();
        meter.item(1, 1_000, false);
        meter.reported(2, counted(9_000));
        meter.item(3, 1_200, true);
        meter.item(4, 4_000, false);
        meter.reported(5, counted(14_500));
        meter.item(6, 4_300, true);
        meter.item(7, 6_700, true);
        assert_eq!(meter.used(6_700), 14_500, "reasoning and answer are in the count");
        meter.item(8, 7_000, false);
        meter.item(9, 7_100, true);
        assert_eq!(meter.used(7_100), 14_900, "what follows is not");
        meter.reported(10, counted(15_000));
        meter.item(11, 7_200, true);
        assert_eq!(meter.used(7_200), 15_100, "a newer version continues the thread");
    }

    #[test]
    fn right_after_a_compaction_instructions_and_tools_still_count() {
        let mut meter = Meter::default();
        meter.item(1, 1_000, true);
        meter.reported(2, counted(9_000));
        meter.compacted(3, 9_000, 300);
        assert_eq!(meter.used(300), 8_300);
        meter.reported(4, counted(9_000));
        assert_eq!(meter.used(300), 8_300, "a repeated report is of the old history");
        meter.item(5, 500, false);
        assert_eq!(meter.used(500), 8_500, "the next request counts before the first answer");
        let shown: Vec<_> = meter.compactions().map(|point| (point.before, point.after)).collect();
        assert_eq!(shown, [(9_000, 8_300)]);
    }

    #[test]
    fn the_window_and_its_largest_content_are_those_last_reported() {
        let mut meter = Meter::default();
        assert_eq!(
            (meter.window(), meter.filled(), meter.agent_compacted_at()),
            (None, None, None)
        );
        let usage = |window, total, compacted_at| rollout::Usage {
            context_window: window,
            total_tokens: total,
            compacted_at,
            ..rollout::Usage::default()
        };
        meter.item(1, 100, true);
        for (what, usage, expected) in [
            ("a first count", usage(Some(900), Some(400), None), (Some(900), Some(400), None)),
            ("a smaller one", usage(None, Some(300), None), (Some(900), Some(400), None)),
            ("no window", usage(Some(0), None, None), (Some(900), Some(400), None)),
            (
                "another window",
                usage(Some(700), None, Some(650)),
                (Some(700), Some(400), Some(650)),
            ),
            ("more", usage(Some(1), Some(500), None), (Some(1), Some(500), Some(650))),
        ] {
            meter.reported(2, usage);
            let found = (meter.window(), meter.filled(), meter.agent_compacted_at());
            assert_eq!(found, expected, "{what}");
        }
        assert_eq!(meter.report(), Some(Report { seq: 2, tokens: 500, estimated: 100 }));
    }

    #[test]
    fn a_count_after_a_replaced_history_is_no_early_one() {
        let mut compacted = Meter::default();
        compacted.item(1, 1_000, false);
        compacted.compacted(2, 1_000, 300);
        compacted.reported(3, counted(9_000));
        assert!(!compacted.is_early(), "it repeats the count before the compaction");
        let mut rolled_back = Meter::default();
        rolled_back.item(1, 1_000, true);
        rolled_back.reported(2, counted(9_000));
        rolled_back.rolled_back(3, 500, 1);
        rolled_back.reported(4, counted(9_000));
        assert!(!rolled_back.is_early(), "it repeats the count before the rollback");
        let mut early = Meter::default();
        early.item(1, 1_000, false);
        early.reported(2, counted(9_000));
        assert!(early.is_early(), "an old version counts before the answer");
    }

    #[test]
    fn a_rollback_drops_the_count_and_the_turns() {
        let mut meter = Meter::default();
        for seq in [1, 3, 5] {
            meter.begin_turn();
            meter.item(seq, seq * 1_000, true);
        }
        meter.reported(6, counted(15_000));
        assert_eq!((meter.turns(), meter.used(5_000)), (3, 15_000));
        meter.rolled_back(7, 1_000, 2);
        assert_eq!((meter.turns(), meter.report()), (1, None));
        assert_eq!(meter.used(1_000), 11_000, "the estimate, and what it is short of");
        let last = meter.points().last().copied();
        assert_eq!(last, Some(Point { seq: 7, turn: 1, tokens: 11_000 }));
    }

    #[test]
    fn the_newest_compactions_are_kept() {
        let mut meter = Meter::default();
        let kept = limits::COMPACTION_POINTS as u64;
        (0..kept + 9).for_each(|seq| meter.compacted(seq, seq, 0));
        let seqs: Vec<u64> = meter.compactions().map(|point| point.seq).collect();
        assert_eq!(seqs, (9..kept + 9).collect::<Vec<_>>());
    }

    #[test]
    fn the_course_is_bounded_even_and_reaches_from_the_start_to_the_present() {
        let mut meter = Meter::default();
        for seq in 0..100_000 {
            meter.item(seq, seq * 2, false);
        }
        let points = meter.points();
        assert!(points.len() <= POINTS_MAX && points.len() > POINTS_MAX / 3, "{}", points.len());
        assert!(points.is_sorted_by_key(|point| point.seq));
        assert!(points.last().unwrap().seq > 98_000);
        assert_eq!(points[0].seq, 0);
        let widest = points.windows(2).map(|pair| pair[1].seq - pair[0].seq).max().unwrap();
        assert!(widest <= 3 * 100_000 / points.len() as u64, "{widest}");
    }
}
