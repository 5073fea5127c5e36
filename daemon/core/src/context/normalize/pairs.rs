//! Matches calls with their outputs.

use std::collections::{BTreeMap, BTreeSet};

use super::kind::{Family, Head, PairRole};

/// The pairs of a history, and the items without a counterpart.
///
/// An id belongs to one call until that call is answered; then it may be reused. Models that restart their
/// numbering each turn do so.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    /// Call and output, both ways.
    pub(super) matched: BTreeMap<usize, usize>,
    pub(super) open_calls: Vec<usize>,
    /// A call and an output that precedes it.
    pub(super) early: Vec<(usize, usize)>,
    /// Calls with the id of a pending call.
    pub(super) repeated_calls: Vec<usize>,
    /// Further outputs of answered calls.
    pub(super) repeated_outputs: Vec<usize>,
    pub(super) orphan_outputs: Vec<usize>,
}

/// The items that share a family and an id.
#[derive(Default)]
struct Ids {
    open: Option<usize>,
    was_answered: bool,
    unmatched_outputs: Vec<usize>,
}

impl Pairs {
    /// Pairs all items except those in `gone`.
    pub(super) fn of(heads: &[Head<'_>], gone: &BTreeSet<usize>) -> Self {
        let mut pairs = Self::default();
        let mut ids: BTreeMap<(Family, &str), Ids> = BTreeMap::new();
        let present = heads.iter().enumerate().filter(|(index, _)| !gone.contains(index));
        for (index, head) in present {
            let (family, is_call) = match head.part {
                PairRole::Call(family) => (family, true),
                PairRole::Output(family) => (family, false),
                PairRole::None => continue,
            };
            let Some(id) = head.pair_id.as_deref() else {
                match (head.stands_alone(), is_call) {
                    (true, _) => {}
                    (false, true) => pairs.open_calls.push(index),
                    (false, false) => pairs.orphan_outputs.push(index),
                }
                continue;
            };
            let ids = ids.entry((family, id)).or_default();
            match (is_call, ids.open) {
                (true, None) => ids.open = Some(index),
                (true, Some(_)) => pairs.repeated_calls.push(index),
                (false, Some(call)) => {
                    pairs.matched.insert(call, index);
                    pairs.matched.insert(index, call);
                    (ids.open, ids.was_answered) = (None, true);
                }
                (false, None) if head.stands_alone() => {}
                (false, None) => ids.unmatched_outputs.push(index),
            }
        }
        pairs.sort_out(ids.into_values());
        pairs
    }

    fn sort_out(&mut self, ids: impl Iterator<Item = Ids>) {
        for Ids { open, was_answered, unmatched_outputs } in ids {
            // A call that is still open can only match an output that precedes it.
            let early = open.and_then(|call| {
                let output = unmatched_outputs.iter().rev().find(|output| **output < call);
                output.map(|output| (call, *output))
            });
            if let Some((call, output)) = early {
                self.early.push((call, output));
                self.matched.insert(call, output);
                self.matched.insert(output, call);
            } else {
                self.open_calls.extend(open);
            }
            let rest = unmatched_outputs
                .into_iter()
                .filter(|output| early.is_none_or(|(_, taken)| taken != *output));
            match was_answered || early.is_some() {
                true => self.repeated_outputs.extend(rest),
                false => self.orphan_outputs.extend(rest),
            }
        }
    }
}
