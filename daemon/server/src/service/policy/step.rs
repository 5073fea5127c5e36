//! One step of a watcher: what a client tells becomes an event, and the stored state the next one.

use std::collections::BTreeSet;

use longhaul_core::policy::watcher::{self, Env, Event};
use longhaul_core::policy::{Point, Situation, replay};
use longhaul_core::signal::Boundary;
use longhaul_core::template::Texts;

use super::{Gathered, Said, ServiceError, Services, StepOutcome, judge, row_of, watcher_of};

/// What a client knows that the transcript does not tell.
#[derive(Debug, Clone, Default)]
pub struct Heard {
    /// The agent's last words.
    pub words: Option<String>,
    /// Signs.
    pub signs: BTreeSet<Boundary>,
}

/// What happened, as a client tells it.
#[derive(Debug, Clone)]
pub enum Told {
    /// A turn ended.
    TurnEnded(Heard),
    /// The same, by one who can only tell the person.
    TurnSeen(Heard),
    /// A model call ended and the turn goes on.
    MidTurn(Heard),
    /// The history was compacted; tokens left, and whether its turn's end is still to come.
    Compacted(Option<u64>, bool),
    /// A client begins anew.
    Resume,
    /// Anything else.
    Other(Event),
}

/// One step's surroundings.
pub(super) struct Stepping<'a> {
    pub(super) services: &'a Services,
    pub(super) gathered: &'a Gathered,
    pub(super) texts: &'a Texts,
    pub(super) scratch_file: String,
}

impl Stepping<'_> {
    pub(super) fn event(&self, thread_id: &str, told: Told) -> Event {
        let now_ms = self.services.deps.clock.now_ms();
        let Gathered { fold, window } = self.gathered;
        let situation = |point| replay::situation(fold, window, thread_id, (now_ms, point));
        match told {
            Told::TurnEnded(heard) => Event::TurnEnded(heard.added(situation(Point::TurnEnd))),
            Told::TurnSeen(heard) => Event::TurnSeen(heard.added(situation(Point::TurnEnd))),
            Told::MidTurn(heard) => Event::MidTurn(heard.added(situation(Point::MidTurn))),
            Told::Compacted(tokens_after, turn_end_follows) => Event::Compacted {
                tokens_after: tokens_after.unwrap_or_else(|| fold.used()),
                turn_end_follows,
            },
            Told::Resume => Event::Resume { compacted: replay::compacted(fold) },
            Told::Other(event) => event,
        }
    }

    /// Takes the step on the stored watcher, and stores what comes of it.
    pub(super) async fn take(
        &self,
        thread_id: &str,
        event: Event,
    ) -> Result<StepOutcome, ServiceError> {
        let services = self.services;
        let now_ms = services.deps.clock.now_ms();
        let config = services.deps.config.now();
        let policy = &config.policies.in_force;
        let scratch_file = self.scratch_file.as_str();
        let env = Env { policy, texts: self.texts, thread_id, scratch_file, now_ms };
        let change = |found: Option<String>| {
            let stepped = watcher::step(&env, watcher_of(found.as_deref()), event);
            let rows: Vec<_> = stepped
                .decided
                .iter()
                .filter(|(_, decision)| decision.tier.is_some() && stepped.is_news)
                .map(|(situation, decision)| row_of(policy, situation, decision, &policy.name))
                .collect();
            (serde_json::to_string(&stepped.state).ok(), rows, stepped)
        };
        let (stepped, ids) = services.store.watcher_step((thread_id, now_ms), change).await?;
        let fold = &self.gathered.fold;
        let effects = stepped.effects.into_iter();
        let effects = effects.map(|effect| judge::asked(effect, fold, thread_id, self)).collect();
        let said = stepped.decided.map(|(_, decision)| Said {
            policy: policy.name.clone(),
            decision_id: ids.first().copied(),
            decision,
        });
        Ok(StepOutcome { watcher: stepped.state, effects, said })
    }
}

impl Heard {
    fn added(self, mut situation: Situation) -> Situation {
        if let Some(words) = self.words {
            let words = longhaul_core::text::cut_middle(&words, watcher::PACKET_BYTES);
            situation.message = Some(longhaul_core::redact::redact(&words).text.into_owned());
        }
        situation.boundaries.extend(self.signs);
        situation
    }
}
