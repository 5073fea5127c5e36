//! The sequence of a client that compacts between turns and can do nothing else.
//!
//! A compaction between turns needs no packet turn before it and no handoff after it: the view holds what they
//! would say. What needs the agent (scratch file, packet) and what needs the user's message (the wait for it) is
//! left out; judgment, budgets and growth hold as for any other client.

use super::{Phase, Run, Situation};

impl Run<'_, '_> {
    /// Decides, unless a sequence runs: another client's is left alone, an own one has lost its end.
    pub(super) fn turn_ended_compact_only(&mut self, situation: Situation) {
        match &self.state.phase {
            Phase::Idle => self.consider(situation),
            Phase::Compacting { trigger, since_ms, .. } if trigger.compact_only => {
                // No turn ends while it compacts: the client is not the one that was asked, or was killed.
                let made = situation.baseline.filter(|made| made.at_ms >= *since_ms);
                match made {
                    Some(made) => self.compacted(made.used, false),
                    None => self.give_up("nobody reported the end of the compaction"),
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
