//! Replays a transcript under other policies: when each would have compacted, and at what cost.
//!
//! Because the agent did not compact there, its window is larger than it would have been: the tokens that a
//! compaction would have removed are subtracted until a real one follows. The cost is measured by what the
//! agent did next: a known file used again soon after would have had to be read again, unless the view
//! contained it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::decide::{Baseline, Decision, PolicyAction, Situation, decide};
use super::settings::Policy;
use super::{Point, Tier};
use crate::context::window::Window;
use crate::fold::{Fold, Touch};
use crate::limits::HOUR_MS;
use crate::signal::{Occurrence, SignalEvent};

/// Calls after a compaction during which the use of a known file counts as regret.
pub const REGRET_CALLS: u64 = 40;

/// What the plugin of an agent leaves of a history, as shares of the window between bounds in tokens: the briefing, and the
/// newest messages.
///
/// # Source
/// `longhaul_client::briefing`, where the agents' clients decide it; a test of the daemon compares them.
const BRIEFING: Share = Share { of: 25, tokens: (4_000, 16_000) };
const TAIL: Share = Share { of: 12, tokens: (4_000, 24_000) };

struct Share {
    of: u64,
    tokens: (u64, u64),
}

impl Share {
    fn tokens(&self, window: u64) -> u64 {
        (window / self.of).clamp(self.tokens.0, self.tokens.1)
    }
}

/// Tokens of the history that stay after an agent with a window of this size compacted with our plugin.
pub fn left_by_agents(window: u64) -> u64 {
    BRIEFING.tokens(window) + TAIL.tokens(window)
}

/// Maximum points kept per policy; the rest are only counted.
pub const POINTS_MAX: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WouldCompact {
    pub seq: u64,
    pub turn: u64,
    pub point: Point,
    pub tier: Tier,
    pub percent_remaining: u64,
    pub boundaries: Vec<String>,
    pub judged: bool,
    /// Known files used again within [`REGRET_CALLS`] calls.
    pub used_again: Vec<String>,
}

#[derive(Debug, Clone, Default)]
pub struct Track {
    policy: Policy,
    baseline: Option<Baseline>,
    /// Tokens that the simulated compactions would have removed.
    spared: u64,
    compactions: u64,
    made_ms: Vec<i64>,
    watched: Option<FollowUp>,
    pub points: Vec<WouldCompact>,
    /// Total, including points over [`POINTS_MAX`].
    pub count: u64,
    pub decisions: u64,
}

/// Tracks the regret of the newest point.
#[derive(Debug, Clone)]
struct FollowUp {
    known: BTreeSet<String>,
    until_call: u64,
}

/// The agent's own newest compaction in its transcript; growth is measured from it.
pub fn compacted(fold: &Fold) -> Option<Baseline> {
    let after = fold.meter().compactions().last()?.after;
    let is_one = |event: &&SignalEvent| event.what == Occurrence::Compacted;
    let at_ms = fold.signals().happened().rev().find(is_one).map_or(0, |event| event.at_ms);
    Some(Baseline { used: after, at_ms })
}

/// The agent's own compactions in the hour before `now_ms`.
fn compacted_in_hour(fold: &Fold, now_ms: i64) -> u64 {
    let is_one = |event: &&SignalEvent| {
        event.what == Occurrence::Compacted && event.at_ms > now_ms.saturating_sub(HOUR_MS)
    };
    fold.signals().happened().filter(is_one).count() as u64
}

/// The situation of a thread from its fold, without the watcher's state; `used` tokens are in its window.
pub fn situation(
    fold: &Fold,
    (window, used): (&Window, u64),
    thread_id: &str,
    at: (i64, Point),
) -> Situation {
    let signals = fold.signals();
    Situation {
        thread_id: thread_id.to_owned(),
        source: Some(fold.head().source),
        seq: fold.next_seq().saturating_sub(1),
        turn: signals.turn(),
        at_ms: at.0,
        point: at.1,
        used,
        window: if window.is_known() { window.tokens } else { 0 },
        percent_remaining: Situation::percent(window, used),
        boundaries: signals.present().clone(),
        message: signals.message().map(str::to_owned),
        baseline: compacted(fold),
        compactions_in_hour: compacted_in_hour(fold, at.0),
        repository: None,
        read_by_model: None,
    }
}

impl Track {
    pub fn new(policy: Policy) -> Self {
        Self { policy, ..Self::default() }
    }

    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Records a folded line; `touched` are the files it used.
    pub fn line(&mut self, fold: &Fold, touched: &[Touch]) {
        if fold.head().compactions > self.compactions {
            self.compactions = fold.head().compactions;
            self.spared = 0;
            self.baseline = Some(Baseline { used: fold.used(), at_ms: 0 });
            self.watched = None;
        }
        let Some(watched) = &mut self.watched else { return };
        if fold.checkpoint().calls > watched.until_call {
            self.watched = None;
            return;
        }
        let cwd = fold.checkpoint().cwd.as_deref();
        for touch in touched {
            let key = crate::paths::absolute(&touch.path, touch.cwd.as_deref().or(cwd));
            let short = crate::paths::absolute(&touch.path, cwd);
            let is_known = watched.known.remove(&key) || watched.known.remove(&short);
            if let Some(last) = self.points.last_mut().filter(|_| is_known) {
                last.used_again.push(key);
            }
        }
    }

    /// Whether to decide here: at a turn's end, or in an emergency within a turn.
    pub fn asks(&self, situation: &Situation, window: &Window) -> bool {
        situation.point == Point::TurnEnd || {
            let used = situation.used.saturating_sub(self.spared);
            let percent = Situation::percent(window, used);
            percent.and_then(|percent| self.policy.tier(percent)) == Some(Tier::Emergency)
        }
    }

    pub fn decide(&mut self, mut situation: Situation, window: &Window, fold: &Fold) -> Decision {
        self.decisions += 1;
        situation.used = situation.used.saturating_sub(self.spared);
        situation.percent_remaining = Situation::percent(window, situation.used);
        if let Some(baseline) = &mut self.baseline {
            baseline.used = baseline.used.min(situation.used);
        }
        situation.baseline = self.baseline;
        self.made_ms.retain(|made| *made > situation.at_ms - HOUR_MS);
        situation.compactions_in_hour = self.made_ms.len() as u64;
        let decision = decide(&self.policy, &situation);
        if decision.action != PolicyAction::Wait {
            self.note(&situation, &decision, window, fold);
        }
        decision
    }

    fn note(&mut self, situation: &Situation, decision: &Decision, window: &Window, fold: &Fold) {
        let after = fold.meter().overhead() + left_by_agents(window.tokens);
        let after = after.min(situation.used);
        self.spared += situation.used - after;
        self.baseline = Some(Baseline { used: after, at_ms: situation.at_ms });
        self.made_ms.push(situation.at_ms);
        self.count += 1;
        self.watched = None;
        let Some(tier) = decision.tier.filter(|_| self.points.len() < POINTS_MAX) else { return };
        let state = fold.checkpoint();
        let known = state.files.iter().map(|(key, _)| key.to_owned()).collect();
        self.watched = Some(FollowUp { known, until_call: state.calls + REGRET_CALLS });
        self.points.push(WouldCompact {
            seq: situation.seq,
            turn: situation.turn,
            point: situation.point,
            tier,
            percent_remaining: decision.percent_remaining.unwrap_or_default(),
            boundaries: decision.satisfied.iter().map(|b| b.into_str().to_owned()).collect(),
            judged: decision.action == PolicyAction::Judge,
            used_again: Vec::new(),
        });
    }
}

#[derive(Debug, Clone)]
pub struct Replay {
    pub tracks: Vec<Track>,
    before: Option<(u64, bool, Situation)>,
}

impl Replay {
    pub fn new(policies: impl IntoIterator<Item = Policy>) -> Self {
        Self { tracks: policies.into_iter().map(Track::new).collect(), before: None }
    }

    /// Records a folded line; `window` is the model's, `made` receives each decision with its policy.
    ///
    /// A turn ends where its agent reports it, else where the next one begins.
    pub fn line(
        &mut self,
        fold: &mut Fold,
        window: &Window,
        made: &mut dyn FnMut(&Policy, &Situation, &Decision),
    ) {
        let touched = fold.touched();
        let at_ms = fold.head().updated_at_ms;
        let signals = fold.signals();
        let (turn, is_complete) = (signals.turn(), signals.is_turn_complete());
        let now = situation(fold, (window, fold.used()), "", (at_ms, Point::MidTurn));
        let before = self.before.replace((turn, is_complete, now.clone()));
        let ended = match before {
            Some((was, false, _)) if was == turn && is_complete => Some(now.clone()),
            Some((was, false, then)) if was > 0 && turn > was => Some(then),
            _ => None,
        };
        let candidate = match ended {
            Some(ended) => Some(Situation { point: Point::TurnEnd, ..ended }),
            None => (turn > 0 && fold.signals().works()).then_some(now),
        };
        for track in &mut self.tracks {
            track.line(fold, &touched);
            if let Some(candidate) =
                candidate.as_ref().filter(|candidate| track.asks(candidate, window))
            {
                let decision = track.decide(candidate.clone(), window, fold);
                made(&track.policy, candidate, &decision);
            }
        }
    }

    /// Ends the transcript and with it an open turn.
    pub fn end(
        &mut self,
        fold: &Fold,
        window: &Window,
        made: &mut dyn FnMut(&Policy, &Situation, &Decision),
    ) {
        if let Some((turn, false, last)) = self.before.take().filter(|(turn, ..)| *turn > 0) {
            let last = Situation { point: Point::TurnEnd, turn, ..last };
            for track in &mut self.tracks {
                let decision = track.decide(last.clone(), window, fold);
                made(&track.policy, &last, &decision);
            }
        }
    }
}

#[cfg(test)]
mod tests;
