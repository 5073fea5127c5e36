//! Inputs of a decision that the transcript lacks: the repository, and a model's reading of the agent's last
//! words. Both are stored with the decision, so that it can be repeated.
//!
//! *Neither delays a decision*: a repository that does not answer in time is left out; if a model does not answer,
//! the phrase lists apply. Words are read once: concurrent requests for the same words wait for the same answer.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use longhaul_core::digest::Digest128;
use longhaul_core::model::Schema;
use longhaul_core::policy::repository::RepositoryView;
use longhaul_core::policy::semantic::{self, Reader};
use longhaul_core::policy::{Situation, Tier};
use longhaul_core::signal::{Boundary, Occurrence};
use longhaul_store::{ThreadFilter, ThreadTable};
use tokio::sync::OnceCell;

use super::adviser::{Adviser, Brief};
use super::thread_state::ThreadState;
use crate::config::Live;
use crate::model::Purpose;
use crate::repository::Repositories;

/// Instructions of a model that reads the agent's words.
const INSTRUCTIONS: &str = include_str!("../../../../../templates/policy/semantic.md");

const ANSWER_TOKENS: u64 = 200;

const READINGS_MAX: usize = 256;

/// How long a client's call waits for the repository.
pub(super) const CLIENT_WAIT: Duration = Duration::from_millis(400);

/// How long an agent's hook waits for the repository: the whole hook has 150 ms.
pub(super) const HOOK_WAIT: Duration = Duration::from_millis(30);

/// Models' readings, by digest of thread and words; `None` if no model could be asked.
#[derive(Debug, Default)]
struct Readings(Mutex<VecDeque<(Digest128, Reading)>>);

type Reading = Arc<OnceCell<Option<BTreeSet<Boundary>>>>;

impl Readings {
    fn of(&self, key: Digest128) -> Reading {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, reading)) = kept.iter().find(|(known, _)| *known == key) {
            return Arc::clone(reading);
        }
        if kept.len() >= READINGS_MAX {
            kept.pop_front();
        }
        let reading = Reading::default();
        kept.push_back((key, Arc::clone(&reading)));
        reading
    }
}

pub struct Surroundings {
    repositories: Repositories,
    readings: Readings,
    threads: ThreadTable,
    adviser: Arc<Adviser>,
    config: Live,
}

impl Surroundings {
    pub fn new(
        repositories: Repositories,
        threads: ThreadTable,
        adviser: Arc<Adviser>,
        config: Live,
    ) -> Self {
        Self { repositories, readings: Readings::default(), threads, adviser, config }
    }

    /// Adds the repository and a model's reading of the words to a situation. With `may_ask`, a model may be asked
    /// about new words.
    pub(super) async fn add_to(
        &self,
        situation: &mut Situation,
        state: &ThreadState,
        wait: Duration,
        may_ask: bool,
    ) {
        situation.repository = self.see(situation, state, wait).await.map(Box::new);
        situation.read_by_model = self.read_words(situation, may_ask).await;
    }

    async fn see(
        &self,
        situation: &Situation,
        state: &ThreadState,
        wait: Duration,
    ) -> Option<RepositoryView> {
        let fold = &state.fold;
        let folder = fold.checkpoint().cwd.as_deref()?;
        let settings = self.config.now().repository.settings();
        let repository = self.repositories.inspect(folder, settings, wait).await?;
        let began = fold.signals().happened().rev().find(|event| {
            matches!(
                event.what,
                Occurrence::TurnStarted | Occurrence::Compacted | Occurrence::RolledBack
            )
        });
        let since_ms = began.map_or(0, |event| event.at_ms);
        let filter =
            ThreadFilter { folders: Some(vec![folder.to_owned()]), ..ThreadFilter::default() };
        let others = self.threads.list(&filter, 2, None).await;
        let is_shared = match others {
            Ok((threads, _)) => threads.iter().any(|thread| {
                let head = thread.file.head.as_ref();
                thread.thread_id != situation.thread_id
                    && head.is_some_and(|head| head.updated_at_ms >= since_ms)
            }),
            // Indistinguishable agents count as two.
            Err(_) => true,
        };
        Some(RepositoryView::since(repository, since_ms, is_shared))
    }

    async fn read_words(&self, situation: &Situation, may_ask: bool) -> Option<BTreeSet<Boundary>> {
        let words = situation.message.as_ref()?;
        let config = self.config.now();
        let mut policies = config.policies.all();
        let wants = policies.any(|policy| {
            let tier = situation.percent_remaining.and_then(|percent| policy.tier(percent));
            policy.semantic == Reader::Model && tier.is_some_and(|tier| tier != Tier::Emergency)
        });
        if !wants {
            return None;
        }
        let key = Digest128::of(format!("{}\n{words}", situation.thread_id).as_bytes());
        let reading = self.readings.of(key);
        match may_ask {
            true => reading.get_or_init(|| self.ask_for_reading(words)).await.clone(),
            false => reading.get().cloned().flatten(),
        }
    }

    async fn ask_for_reading(&self, words: &str) -> Option<BTreeSet<Boundary>> {
        let brief = Brief {
            purpose: Purpose::Signs,
            instructions: INSTRUCTIONS,
            words,
            schema: Schema { name: "signs".to_owned(), schema: semantic::schema() },
            tokens_max: ANSWER_TOKENS,
        };
        semantic::parse(&self.adviser.ask(brief).await?)
    }
}
