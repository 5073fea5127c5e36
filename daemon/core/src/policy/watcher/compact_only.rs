//! The sequence of a client that can only compact: between turns, or in the middle of one.
//!
//! Its compaction needs no packet turn before it and no handoff after it: the view has their
//! content. Steps that need the agent (scratch file, packet) or the user's message (waiting for it) are
//! omitted; judgment, budgets and growth apply as for any other client.

use super::{Phase, Run, Situation};

impl Run<'_, '_> {
    /// Decides, unless a sequence is running. That of another client is not touched; for its own, the end
    /// was not reported.
    pub(super) fn consider_compact_only(&mut self, situation: Situation) {
        match &self.state.phase {
            Phase::Idle => self.consider(situation),
            Phase::Compacting { trigger, since_ms, .. } if trigger.compact_only => {
                // It reports nothing else during a compaction: this is another client than the one asked, or that
                // one was killed.
                let made = situation.baseline.filter(|made| made.at_ms >= *since_ms);
                match made {
                    Some(made) => self.compacted(made.used, false),
                    None => self.give_up("the end of the compaction was not reported"),
                }
            }
            Phase::AwaitingJudgment { .. }
            | Phase::AwaitingScratch { .. }
            | Phase::AwaitingPacket { .. }
            | Phase::Compacting { .. } => {}
        }
    }

    pub(super) fn compact_only_ended(&mut self, made: Result<u64, String>) {
        let is_own =
            matches!(&self.state.phase, Phase::Compacting { trigger, .. } if trigger.compact_only);
        match made {
            Ok(tokens_after) if is_own => self.compacted(tokens_after, false),
            Err(reason) if is_own => self.failed(&reason, None),
            Ok(_) | Err(_) => {}
        }
    }
}
