//! The services of `policy/*`.

use std::sync::Arc;

use super::Wiring;
use crate::repository::Repositories;
use crate::service::context::Contexts;
use crate::service::policy::{
    Adviser, DecisionLog, LivePolicies, Replays, Situations, Surroundings, WatcherStore, Watchers,
};

pub struct PolicyServices {
    pub watchers: Arc<Watchers>,
    pub log: Arc<DecisionLog>,
    pub replays: Arc<Replays>,
    pub live: LivePolicies,
    pub repositories: Repositories,
}

impl Wiring {
    pub(in crate::service) fn policy(&self, contexts: &Arc<Contexts>) -> PolicyServices {
        let Self { config, clock, events, store, snapshots, .. } = self;
        let adviser = Arc::new(Adviser { models: self.models.clone(), config: config.clone() });
        let repositories = Repositories::new(clock.clone(), config.now().program());
        let surroundings = Surroundings::new(
            repositories.clone(),
            store.threads.clone(),
            adviser.clone(),
            config.clone(),
        );
        let watchers = Arc::new(Watchers {
            situations: Situations {
                contexts: contexts.clone(),
                surroundings,
                clock: clock.clone(),
            },
            store: WatcherStore {
                policies: store.policies.clone(),
                events: events.clone(),
                clock: clock.clone(),
            },
            adviser,
            texts: self.texts.clone(),
            config: config.clone(),
        });
        let (threads, hub) = (store.threads.clone(), events.clone());
        PolicyServices {
            live: LivePolicies::new(watchers.clone(), threads, clock.clone(), hub),
            watchers,
            log: Arc::new(DecisionLog {
                policies: store.policies.clone(),
                snapshots: snapshots.clone(),
            }),
            replays: Arc::new(Replays {
                windows: self.windows(),
                snapshots: snapshots.clone(),
                archive: self.archive.archive().clone(),
                config: config.clone(),
            }),
            repositories,
        }
    }
}
