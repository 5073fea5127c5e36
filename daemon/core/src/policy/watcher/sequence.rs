//! The sequence from a positive decision to the handoff, and its exits.

use super::{
    Author, Baseline, Boundary, Effect, HOUR_MS, Kind, MADE_MAX, OnFailure, PACKET_BYTES, Phase,
    Point, Run, Tier, Trigger,
};
use crate::bounded::push_bounded;
use crate::rollout::contextual;
use crate::template;
use crate::{redact, text};

impl Run<'_, '_> {
    /// Starts with the first step: the user's message, a scratch file, a packet, or the compaction.
    pub(super) fn begin(&mut self, mut trigger: Trigger) {
        // This client continues it, even if another began it.
        trigger.compact_only |= self.compact_only;
        if trigger.compact_only {
            return self.compact(trigger, None);
        }
        let is_emergency = trigger.tier == Tier::Emergency;
        let is_watcher = trigger.packet_author == Author::Watcher;
        let effective = self.env.policy.effective(trigger.tier);
        let may_wait =
            trigger.point == Point::TurnEnd && effective.contains(&Boundary::TurnComplete);
        if may_wait && is_watcher && !is_emergency && self.state.held.is_none() {
            self.state.deferred = Some(trigger);
            let text = "compacting before your next message".to_owned();
            self.effects.push(Effect::Notify { text });
            return;
        }
        let since_ms = self.env.now_ms;
        match (is_watcher, self.is_with_scratch(&trigger)) {
            (false, _) => {
                self.effects.push(self.packet_request(&trigger));
                self.state.phase = Phase::AwaitingPacket { trigger, since_ms };
            }
            (true, true) => {
                self.effects.push(self.scratch_request());
                self.state.phase = Phase::AwaitingScratch { trigger, since_ms };
            }
            (true, false) => self.compact(trigger, None),
        }
    }

    /// Only work with results justifies a file.
    fn is_with_scratch(&self, trigger: &Trigger) -> bool {
        let has_work = trigger.boundaries.iter().any(|boundary| {
            !matches!(
                boundary,
                Boundary::TopicShift | Boundary::ConcludingThought | Boundary::TurnComplete
            )
        });
        self.env.policy.scratch && has_work && trigger.tier != Tier::Emergency
    }

    fn scratch_request(&self) -> Effect {
        Effect::RequestScratch {
            prompt: contextual::injected("scratch", &self.prompt(Kind::Scratch)),
        }
    }

    fn packet_request(&self, trigger: &Trigger) -> Effect {
        let mut prompt = String::new();
        if self.is_with_scratch(trigger) {
            prompt = self.prompt(Kind::Scratch) + "\n\n---\n\n";
        }
        prompt.push_str(&self.prompt(Kind::Packet));
        Effect::RequestPacket { prompt: contextual::injected("packet", &prompt) }
    }

    /// Repeats the pending effect, unless it has been carried out since.
    pub(super) fn resume(&mut self, compacted: Option<Baseline>) {
        if let Some(made) = self.made_since(compacted) {
            return self.compacted(made.used, false);
        }
        let effect = match &self.state.phase {
            Phase::Idle => return self.release(None),
            Phase::AwaitingJudgment { request_id, trigger, .. } => {
                Effect::AskJudgment { request_id: request_id.clone(), trigger: trigger.clone() }
            }
            Phase::AwaitingScratch { .. } => self.scratch_request(),
            Phase::AwaitingPacket { trigger, .. } => self.packet_request(trigger),
            Phase::Compacting { trigger, packet, tokens_after: Some(after), .. } => {
                // It succeeded, but the client that should report the end of its turn is gone.
                let (trigger, packet, after) = (trigger.clone(), packet.clone(), *after);
                return self.finish(&trigger, &packet, after);
            }
            Phase::Compacting { trigger, packet, .. } => {
                Effect::Compact { trigger: trigger.clone(), packet: packet.clone() }
            }
        };
        self.effects.push(effect);
    }

    fn made_since(&self, compacted: Option<Baseline>) -> Option<Baseline> {
        let since_ms = self.state.phase.since_ms()?;
        compacted.filter(|made| made.at_ms >= since_ms)
    }

    /// Requests the compaction, with the agent's packet, a kept one, or our own.
    pub(super) fn compact(&mut self, trigger: Trigger, written: Option<String>) {
        let written = written.filter(|packet| !packet.trim().is_empty());
        let packet = match written.or_else(|| self.state.kept_packet.take()) {
            Some(packet) => {
                let window = text::cut_middle(&packet, PACKET_BYTES);
                redact::redact(&window).text.into_owned()
            }
            None => self.own_packet(&trigger),
        };
        self.state.deferred = None;
        self.state.kept_packet = None;
        self.effects.push(Effect::Compact { trigger: trigger.clone(), packet: packet.clone() });
        let since_ms = self.env.now_ms;
        let (tokens_after, saw_turn_end) = (None, false);
        self.state.phase =
            Phase::Compacting { trigger, packet, since_ms, tokens_after, saw_turn_end };
    }

    /// The history was compacted, by us or by someone else; the latter voids everything pending.
    pub(super) fn compacted(&mut self, after: u64, turn_end_follows: bool) {
        match std::mem::take(&mut self.state.phase) {
            Phase::Compacting { trigger, packet, saw_turn_end, .. }
                if saw_turn_end || !turn_end_follows =>
            {
                self.finish(&trigger, &packet, after);
            }
            Phase::Compacting { trigger, packet, since_ms, saw_turn_end, .. } => {
                let tokens_after = Some(after);
                self.state.phase =
                    Phase::Compacting { trigger, packet, since_ms, tokens_after, saw_turn_end };
            }
            Phase::Idle
            | Phase::AwaitingJudgment { .. }
            | Phase::AwaitingScratch { .. }
            | Phase::AwaitingPacket { .. } => {
                self.note_made(after);
                self.release(None);
            }
        }
    }

    pub(super) fn failed(&mut self, reason: &str, compacted: Option<Baseline>) {
        let what = match &self.state.phase {
            Phase::Compacting { .. } => "the compaction failed",
            Phase::AwaitingScratch { .. } | Phase::AwaitingPacket { .. } => {
                "the agent could not be asked for its notes"
            }
            Phase::Idle | Phase::AwaitingJudgment { .. } => return,
        };
        if let Some(made) = self.made_since(compacted) {
            // The report is outdated: the transcript has the compaction.
            return self.compacted(made.used, false);
        }
        let reason = redact::redact(text::prefix(reason, 400)).text.into_owned();
        self.give_up(&format!("{what}: {reason}"));
    }

    /// Ends the sequence after a compaction: the handoff, then the held-back message.
    pub(super) fn finish(&mut self, trigger: &Trigger, packet: &str, after: u64) {
        self.state.phase = Phase::Idle;
        self.note_made(after.min(trigger.used));
        if trigger.compact_only {
            return self.release(None);
        }
        let values = [
            ("packet", packet),
            ("scratch_file", self.env.scratch_file),
            ("thread_id", self.env.thread_id),
        ];
        let handoff = template::fill(self.env.texts.get(Kind::Handoff), &values);
        let handoff = contextual::injected("handoff", &handoff);
        match self.state.held {
            Some(true) => self.release(Some(handoff + "\n\n")),
            Some(false) | None => {
                self.effects.push(Effect::InjectHandoff { text: handoff });
                self.release(None);
            }
        }
    }

    /// Aborts the sequence with a warning; the packet is kept for the next attempt.
    pub(super) fn give_up(&mut self, why: &str) {
        let deferred = self.state.deferred.take();
        let trigger = match std::mem::take(&mut self.state.phase) {
            Phase::Idle => deferred,
            // It succeeded; only the end of its turn is missing.
            Phase::Compacting { trigger, packet, tokens_after: Some(after), .. } => {
                return self.finish(&trigger, &packet, after);
            }
            Phase::Compacting { trigger, packet, .. } => {
                // A packet that no agent wrote is generated again.
                self.state.kept_packet = Some(packet).filter(|_| !trigger.compact_only);
                self.given_up = Some((trigger.clone(), why.to_owned()));
                Some(trigger)
            }
            Phase::AwaitingJudgment { trigger, .. }
            | Phase::AwaitingScratch { trigger, .. }
            | Phase::AwaitingPacket { trigger, .. } => {
                self.given_up = Some((trigger.clone(), why.to_owned()));
                Some(trigger)
            }
        };
        if let Some(trigger) = trigger {
            self.effects.push(Effect::Warn { text: why.to_owned() });
            self.rest(trigger.used);
        }
        self.release(None);
    }

    /// Milliseconds waited, if over the limit.
    pub(super) fn overdue(&self) -> Option<u64> {
        let policy = self.env.policy;
        let most = match self.state.phase {
            Phase::AwaitingJudgment { .. } => policy.judgment_timeout_ms,
            _ => policy.wait_ms,
        };
        // A clock that was set back must not make the wait endless.
        let waited = self.env.now_ms.abs_diff(self.state.phase.since_ms()?);
        (waited >= most.unsigned_abs()).then_some(waited)
    }

    /// Ends a wait that timed out; returns whether that started another state.
    pub(super) fn expire(&mut self) -> bool {
        let Some(waited) = self.overdue() else { return false };
        match std::mem::take(&mut self.state.phase) {
            Phase::AwaitingJudgment { trigger, .. }
                if self.env.policy.on_judgment_failure == OnFailure::Compact =>
            {
                let text = "the judge did not answer in time; compacting anyway".to_owned();
                self.effects.push(Effect::Warn { text });
                self.begin(trigger);
                true
            }
            waiting => {
                let why = format!("gave up after {} s in {}", waited / 1_000, waiting.into_str());
                self.state.phase = waiting;
                self.give_up(&why);
                false
            }
        }
    }

    pub(super) fn rest(&mut self, used: u64) {
        self.state.baseline = Some(Baseline { used, at_ms: self.env.now_ms });
    }

    pub(super) fn release(&mut self, prefix: Option<String>) {
        if self.state.held.take().is_some() {
            self.effects.push(Effect::ReleaseMessage { prefix });
        }
    }

    fn note_made(&mut self, after: u64) {
        self.rest(after);
        self.state.deferred = None;
        self.state.noticed = None;
        self.state.pressed = None;
        let made = &mut self.state.made_ms;
        made.retain(|at| *at > self.env.now_ms - HOUR_MS);
        push_bounded(made, self.env.now_ms, MADE_MAX);
    }

    fn prompt(&self, kind: Kind) -> String {
        let values = [("scratch_file", self.env.scratch_file), ("thread_id", self.env.thread_id)];
        let text = self.env.texts.get(kind);
        let filled = template::fill(text, &values);
        match kind == Kind::Scratch && !template::has(text, "scratch_file") {
            // A custom template may omit it; notes without a file are lost.
            true => format!("{}\n\nFile: `{}`", filled.trim_end(), self.env.scratch_file),
            false => filled,
        }
    }

    fn own_packet(&self, trigger: &Trigger) -> String {
        let names: Vec<_> = trigger.boundaries.iter().map(|boundary| boundary.into_str()).collect();
        let percent = trigger.percent_remaining.to_string();
        let values = [
            ("percent_remaining", percent.as_str()),
            ("tier", trigger.tier.into_str()),
            ("boundaries", &names.join(", ")),
            ("last_agent_message", trigger.message.as_deref().unwrap_or_default()),
            ("repository", trigger.repository.as_deref().unwrap_or("(not inspected)")),
        ];
        template::fill(self.env.texts.get(Kind::WatcherPacket), &values)
    }
}
