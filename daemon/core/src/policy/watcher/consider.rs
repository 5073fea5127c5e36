//! Decides on a situation, then starts a sequence or notifies.

use super::{
    Author, Baseline, Decision, Effect, Mode, Phase, Point, PolicyAction, Run, Situation, Tier,
    Trigger, decide, growth_needed,
};

impl Run<'_, '_> {
    /// Adds the thread's past to a situation. After an unreported compaction, earlier notifications are
    /// repeated.
    pub(super) fn complete(&mut self, situation: Situation) -> Situation {
        let situation = self.state.complete(situation);
        let at_ms = |baseline: Option<Baseline>| baseline.map(|baseline| baseline.at_ms);
        if at_ms(situation.baseline) != at_ms(self.state.baseline) {
            self.state.noticed = None;
        }
        self.state.baseline = situation.baseline;
        situation
    }

    /// Reports the decision without acting: another client runs the thread's sequence.
    pub(super) fn turn_seen(&mut self, situation: Situation) {
        let is_seen_through = self.state.phase != Phase::Idle && self.overdue().is_none();
        if is_seen_through || self.env.policy.mode == Mode::Off {
            return;
        }
        let situation = self.complete(situation);
        let decision = decide(self.env.policy, &situation);
        if decision.action != PolicyAction::Wait {
            self.notify(&situation, &decision);
        }
        self.note_decided(situation, decision);
    }

    pub(super) fn consider(&mut self, situation: Situation) {
        let situation = self.complete(situation);
        let decision = decide(self.env.policy, &situation);
        let policy = self.env.policy;
        let is_emergency = decision.tier == Some(Tier::Emergency);
        let author = match is_emergency {
            true => Author::Watcher,
            false if self.compact_only => Author::Watcher,
            // In the middle of a turn only the agent knows its state.
            false if situation.point == Point::MidTurn => Author::Agent,
            false => policy.packet_author,
        };
        match (decision.action, policy.mode) {
            (PolicyAction::Wait, _) | (_, Mode::Off) => {}
            // Not every client that compacts in the middle of a turn can show a text: the turn's end tells.
            (_, Mode::Tag | Mode::Suggest)
                if self.compact_only && situation.point == Point::MidTurn => {}
            (_, Mode::Tag | Mode::Suggest) => self.notify(&situation, &decision),
            (PolicyAction::Judge, Mode::Auto) => {
                self.state.asked += 1;
                let request_id = format!("judgment-{}", self.state.asked);
                let trigger = self.trigger(&situation, &decision, author);
                let since_ms = self.env.now_ms;
                let ask = Effect::AskJudgment {
                    request_id: request_id.clone(),
                    trigger: trigger.clone(),
                };
                self.effects.push(ask);
                self.state.phase = Phase::AwaitingJudgment { request_id, trigger, since_ms };
            }
            (PolicyAction::Compact, Mode::Auto) => {
                let trigger = self.trigger(&situation, &decision, author);
                self.begin(trigger);
            }
        }
        self.note_decided(situation, decision);
    }

    /// Stores the decision, and whether to log it.
    pub(super) fn note_decided(&mut self, situation: Situation, decision: Decision) {
        let pressed = decision.tier.map(|tier| (situation.turn, tier));
        let is_pressed_more = match (self.state.pressed, pressed) {
            (Some((turn, tier)), Some((now, next))) => now != turn || next > tier,
            (None, next) => next.is_some(),
            (Some(_), None) => false,
        };
        self.should_log = situation.point == Point::TurnEnd
            || decision.action != PolicyAction::Wait
            || is_pressed_more;
        if situation.point == Point::MidTurn && is_pressed_more {
            self.state.pressed = pressed;
        }
        self.decided = Some((situation, decision));
    }

    /// Notifies once per tier, and again after growth.
    fn notify(&mut self, situation: &Situation, decision: &Decision) {
        let Some(tier) = decision.tier else { return };
        let needed = growth_needed(situation, tier == Tier::Emergency);
        let is_known = self.state.noticed.is_some_and(|(noticed_tier, used)| {
            noticed_tier >= tier && situation.used.saturating_sub(used.min(situation.used)) < needed
        });
        if is_known {
            return;
        }
        self.state.noticed = Some((tier, situation.used));
        let advice = match (self.env.policy.mode, tier) {
            (Mode::Tag, _) => "would compact here",
            (_, Tier::Emergency) => "compact now",
            _ => "a good moment to compact",
        };
        let signs: Vec<_> =
            decision.satisfied.iter().map(|sign| sign.into_str().replace('_', " ")).collect();
        let why = match signs.is_empty() {
            true => tier.into_str().to_owned(),
            false => format!("{}: {}", tier.into_str(), signs.join(", ")),
        };
        let percent = decision.percent_remaining.unwrap_or_default();
        let text = format!("{percent} % of the window left ({why}): {advice}");
        self.effects.push(Effect::Notify { text });
    }

    pub(super) fn trigger(
        &self,
        situation: &Situation,
        decision: &Decision,
        packet_author: Author,
    ) -> Trigger {
        Trigger {
            // Without a tier, and so without a window, nothing starts.
            tier: decision.tier.unwrap_or(Tier::Early),
            percent_remaining: decision.percent_remaining.unwrap_or_default(),
            boundaries: decision.boundaries.clone(),
            used: situation.used,
            point: situation.point,
            turn: situation.turn,
            packet_author,
            message: situation.message.clone(),
            repository: situation.repository.as_ref().map(|seen| seen.words()),
            compact_only: self.compact_only,
        }
    }
}
