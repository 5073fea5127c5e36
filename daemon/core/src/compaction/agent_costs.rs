//! Compares our compactions with those that an agent made by itself.

use crate::fold::CompactionBill;

/// Cost of the compactions that an agent made by itself: medians of the recorded values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentCosts {
    /// Compactions with any recorded value.
    pub compactions: u64,
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub duration_ms: Option<u64>,
}

impl AgentCosts {
    /// `None` if no compaction of the agent has a recorded value.
    pub fn of<'a>(bills: impl IntoIterator<Item = &'a CompactionBill>) -> Option<Self> {
        let recorded = |bill: &&CompactionBill| {
            !bill.is_ours && (bill.tokens.is_some() || bill.duration_ms.is_some())
        };
        let bills: Vec<&CompactionBill> = bills.into_iter().filter(recorded).collect();
        (!bills.is_empty()).then(|| Self {
            compactions: bills.len() as u64,
            input_tokens: median(bills.iter().filter_map(|bill| Some(bill.tokens?.input))),
            output_tokens: median(bills.iter().filter_map(|bill| bill.tokens?.output)),
            duration_ms: median(bills.iter().filter_map(|bill| bill.duration_ms)),
        })
    }
}

/// The lower of the two middle values.
fn median(values: impl Iterator<Item = u64>) -> Option<u64> {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    values.get(values.len().checked_sub(1)? / 2).copied()
}

/// The line at which each compaction of ours took effect. `seqs`: the last line that each covers, oldest first.
/// A compaction that was only shown, or that a later one replaced before the agent used it, never took effect.
pub fn in_force<'a>(
    bills: impl IntoIterator<Item = &'a CompactionBill>,
    seqs: &[u64],
) -> Vec<Option<&'a CompactionBill>> {
    let bills: Vec<&CompactionBill> = bills.into_iter().collect();
    let next = |seq: u64| bills.iter().find(|bill| bill.seq > seq).copied();
    let later = seqs.iter().skip(1).map(Some).chain([None]);
    let found = seqs.iter().zip(later).map(|(&seq, later)| {
        let bill = next(seq).filter(|bill| bill.is_ours)?;
        later.is_none_or(|later| *later >= bill.seq).then_some(bill)
    });
    found.collect()
}

/// How an agent used a compaction of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentUse {
    /// Not at all: the compaction was only shown.
    NotAtAll,
    /// It compacted by itself after ours; our record has the history before.
    ByItself,
    /// Its history begins with our view.
    View,
}

impl AgentUse {
    /// Of our compaction up to `seq`, made at that time; `own` are the agent's. One that it made before ours is no use of
    /// ours, wherever ours ends: a person may compact the past.
    pub fn of(
        (seq, made_at_ms): (u64, i64),
        in_force: Option<&CompactionBill>,
        own: &[CompactionBill],
    ) -> Self {
        let is_later =
            |own: &CompactionBill| own.seq > seq && (own.at_ms == 0 || own.at_ms >= made_at_ms);
        match in_force {
            Some(_) => Self::View,
            None if own.iter().any(is_later) => Self::ByItself,
            None => Self::NotAtAll,
        }
    }

    /// Among compactions of a thread that are not undone, the one with the highest rank is the one that an undo means if
    /// none is named: the newest that the agent used, else the newest.
    pub fn undo_rank(self, made_at_ms: i64) -> (bool, i64) {
        (self != Self::NotAtAll, made_at_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::{RequestTokens, WorkAfterCompaction};

    fn bill(
        seq: u64,
        is_ours: bool,
        input: Option<u64>,
        duration_ms: Option<u64>,
    ) -> CompactionBill {
        let tokens = input.map(|input| RequestTokens { input, output: Some(input / 100) });
        let after = WorkAfterCompaction::default();
        CompactionBill { seq, at_ms: 0, is_ours, tokens_before: 0, tokens, duration_ms, after }
    }

    #[test]
    fn the_agents_costs_are_of_recorded_values_only() {
        let ours = bill(1, true, None, Some(9));
        let silent = bill(2, false, None, None);
        assert_eq!(AgentCosts::of([&ours, &silent]), None);
        let own = [
            bill(3, false, Some(90_000), Some(5_000)),
            bill(4, false, None, Some(7_000)),
            bill(5, false, Some(110_000), Some(30_000)),
        ];
        let costs = AgentCosts::of(own.iter().chain([&ours, &silent])).unwrap();
        let AgentCosts { compactions, input_tokens, output_tokens, duration_ms } = costs;
        assert_eq!((compactions, duration_ms), (3, Some(7_000)));
        assert_eq!((input_tokens, output_tokens), (Some(90_000), Some(900)));
    }

    #[test]
    fn a_compaction_takes_effect_where_the_history_begins_with_its_view() {
        let bills =
            [bill(10, false, None, None), bill(20, true, None, None), bill(30, true, None, None)];
        for (seqs, expected) in [
            (&[9][..], &[None][..]),
            (&[19], &[Some(20)]),
            (&[20], &[Some(30)]),
            (&[12, 19], &[None, Some(20)]),
            (&[19, 19], &[None, Some(20)]),
            (&[12, 25, 40], &[Some(20), Some(30), None]),
        ] {
            let found = in_force(&bills, seqs);
            let found: Vec<_> = found.iter().map(|bill| bill.map(|bill| bill.seq)).collect();
            assert_eq!(found, expected, "{seqs:?}");
        }
    }

    #[test]
    fn an_agents_compaction_from_before_ours_is_no_use_of_ours() {
        let own = |seq, at_ms| [CompactionBill { at_ms, ..bill(seq, false, None, None) }];
        let shown = |own: &[CompactionBill]| AgentUse::of((200, 500), None, own);
        assert_eq!(shown(&[]), AgentUse::NotAtAll);
        assert_eq!(shown(&own(300, 400)), AgentUse::NotAtAll);
        assert_eq!(shown(&own(100, 600)), AgentUse::NotAtAll);
        assert_eq!(shown(&own(300, 600)), AgentUse::ByItself);
        assert_eq!(shown(&own(300, 0)), AgentUse::ByItself);
        let view = bill(201, true, None, None);
        assert_eq!(AgentUse::of((200, 500), Some(&view), &own(300, 400)), AgentUse::View);
    }

    #[test]
    fn an_undo_means_the_newest_used_compaction_else_the_newest() {
        let rank = AgentUse::undo_rank;
        assert!(rank(AgentUse::View, 5) > rank(AgentUse::NotAtAll, 9));
        assert!(rank(AgentUse::ByItself, 6) > rank(AgentUse::View, 5));
        assert!(rank(AgentUse::NotAtAll, 9) > rank(AgentUse::NotAtAll, 8));
    }
}
