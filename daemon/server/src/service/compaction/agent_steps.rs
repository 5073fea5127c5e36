//! Steps of a compaction made by an agent: a hook announces it, and the gateway or plugin answers it.
//!
//! Both compact the same history within a second. Two records would mean two entries in every list and in the
//! bill, so the answer replaces the announced record under the same id, which the person may have seen.
//!
//! # Theory of operation
//! *Stored.* A step looks up the newest record of its thread. An announced record of the same history gives the
//! step its id, and the step's record replaces it.
//!
//! *Running.* A hook stops waiting after its time limit, so on a busy machine the answer starts while the
//! announcement is still computed. `running` has the newest running step of each thread. The answer takes over the id
//! and does not wait; the announcement then finds that it is no longer the newest and records nothing. Checking
//! that and storing the record exclude the start of any other step.
//!
//! A crash loses `running` together with the steps in it.

use std::collections::HashMap;
use std::sync::{self, Arc, PoisonError};

use longhaul_core::compaction::growth;
use longhaul_store::{CompactionRow, CompactionTable, ThreadTable};
use serde::Deserialize;
use tokio::sync::{Mutex, MutexGuard};

use super::request::{AgentStep, Request, Subject};
use crate::service::error::ServiceError;
use crate::service::item_index::ItemIndex;

/// The step in a stored compaction.
#[derive(Deserialize)]
struct StoredStep {
    #[serde(default)]
    agent_step: Option<AgentStep>,
}

/// Gives the steps of one compaction by an agent one record.
pub struct AgentSteps {
    threads: ThreadTable,
    compactions: CompactionTable,
    index: ItemIndex,
    running: Arc<Running>,
}

#[derive(Default)]
struct Running {
    newest: sync::Mutex<HashMap<String, Newest>>,
    /// Serial of the last step. Locked while a step starts and while it is recorded.
    serials: Mutex<u64>,
}

#[derive(Clone)]
struct Newest {
    serial: u64,
    step: AgentStep,
    compaction_id: String,
}

impl Running {
    fn newest(&self) -> sync::MutexGuard<'_, HashMap<String, Newest>> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A step from its start until it is recorded or failed.
pub(super) struct RunningStep {
    pub(super) compaction_id: String,
    /// Its record replaces that of an announcement, which is stored or about to be.
    pub(super) replaces: bool,
    step: AgentStep,
    thread_id: String,
    serial: u64,
    running: Arc<Running>,
}

impl AgentSteps {
    pub fn new(threads: ThreadTable, compactions: CompactionTable, index: ItemIndex) -> Self {
        Self { threads, compactions, index, running: Arc::default() }
    }

    /// Starts the step that a request is, under the id of the record that it replaces, or under a new one.
    ///
    /// # Errors
    /// The compaction was already answered, and this step would only announce it: [`ServiceError::NotWorthwhile`].
    pub(super) async fn start(
        &self,
        request: &Request,
        new_id: impl FnOnce() -> String,
    ) -> Result<Option<RunningStep>, ServiceError> {
        let (Some(step), Subject::Thread { thread_id, as_of: None }) =
            (request.agent_step, &request.subject)
        else {
            return Ok(None);
        };
        let mut serial = self.running.serials.lock().await;
        let newest = self.running.newest().get(thread_id).cloned();
        let (compaction_id, replaces) = match (newest.map(|it| (it.step, it)), step) {
            (Some((AgentStep::Announced, it)), _) => (it.compaction_id, true),
            // The hook came late.
            (Some((AgentStep::Answered, _)), AgentStep::Announced) => {
                return Err(already_answered(0));
            }
            (Some((AgentStep::Answered, _)), AgentStep::Answered) => (new_id(), false),
            (None, _) => match self.stored(thread_id, step).await? {
                Some(id) => (id, true),
                None => (new_id(), false),
            },
        };
        *serial += 1;
        let newest = Newest { serial: *serial, step, compaction_id: compaction_id.clone() };
        self.running.newest().insert(thread_id.clone(), newest);
        Ok(Some(RunningStep {
            compaction_id,
            replaces,
            step,
            thread_id: thread_id.clone(),
            serial: *serial,
            running: Arc::clone(&self.running),
        }))
    }

    /// The id of the stored record that a step replaces.
    async fn stored(
        &self,
        thread_id: &str,
        step: AgentStep,
    ) -> Result<Option<String>, ServiceError> {
        let (newest, _) = self.compactions.list(Some(thread_id), 1, None).await?;
        let Some(row) = newest.into_iter().next().filter(|row| row.undone_at_ms.is_none()) else {
            return Ok(None);
        };
        let Some(earlier) = self.step_of(&row).await? else { return Ok(None) };
        if self.has_worked_since(thread_id, &row).await? {
            return Ok(None);
        }
        match (earlier, step) {
            (AgentStep::Announced, _) => Ok(Some(row.compaction_id)),
            // The hook came late: the recorded answer is in the agent's history already.
            (AgentStep::Answered, AgentStep::Announced) => Err(already_answered(row.tokens_before)),
            // The agent asked again; each of its histories can be undone.
            (AgentStep::Answered, AgentStep::Answered) => Ok(None),
        }
    }

    async fn step_of(&self, row: &CompactionRow) -> Result<Option<AgentStep>, ServiceError> {
        let found = self.compactions.get(&row.compaction_id).await?;
        let Some((_, result)) = found else { return Ok(None) };
        let stored: StoredStep =
            serde_json::from_slice(&result).map_err(ServiceError::undecodable("compaction"))?;
        Ok(stored.agent_step)
    }

    /// Whether items were added to the thread's history since.
    async fn has_worked_since(
        &self,
        thread_id: &str,
        row: &CompactionRow,
    ) -> Result<bool, ServiceError> {
        let Some(thread) = self.threads.get(thread_id).await? else { return Ok(true) };
        let rows = self.index.rows(&thread.file, row.seq + 1, u64::MAX).await?;
        Ok(!rows.is_empty())
    }

    /// Excludes the start of other steps while this one is stored.
    ///
    /// # Errors
    /// The answer took over this announcement: [`ServiceError::NotWorthwhile`].
    pub(super) async fn recording<'a>(
        &'a self,
        step: &RunningStep,
    ) -> Result<MutexGuard<'a, u64>, ServiceError> {
        let serials = self.running.serials.lock().await;
        let is_stored = || self.compactions.get(&step.compaction_id);
        match step.is_taken_over() && (step.is_running_anew() || is_stored().await?.is_some()) {
            false => Ok(serials),
            true => Err(already_answered(0)),
        }
    }
}

fn already_answered(tokens_before: u64) -> ServiceError {
    ServiceError::NotWorthwhile { grown: 0, needed: growth::needed(tokens_before) }
}

impl RunningStep {
    /// Whether a newer step got the id of this announcement. That step may have failed since.
    pub(super) fn is_taken_over(&self) -> bool {
        self.step == AgentStep::Announced && self.newest_serial() != Some(self.serial)
    }

    fn is_running_anew(&self) -> bool {
        self.newest_serial().is_some_and(|serial| serial != self.serial)
    }

    fn newest_serial(&self) -> Option<u64> {
        self.running.newest().get(&self.thread_id).map(|newest| newest.serial)
    }
}

impl Drop for RunningStep {
    fn drop(&mut self) {
        if self.newest_serial() == Some(self.serial) {
            self.running.newest().remove(&self.thread_id);
        }
    }
}

#[cfg(test)]
mod tests {
    use longhaul_core::compaction::ladder::Strategy;

    use longhaul_store::Store;

    use super::super::progress::ProgressEvents;
    use super::*;
    use crate::clock::Clock;
    use crate::events::EventHub;
    use crate::service::tests::fixture;

    const THREAD: &str = "t";

    async fn steps() -> (AgentSteps, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(&folder.path().join("t.db"), 0).await.unwrap();
        let index = ItemIndex { pages: store.pages, threads: store.threads.clone() };
        (AgentSteps::new(store.threads, store.compactions, index), folder)
    }

    fn request(step: AgentStep) -> Request {
        let subject = Subject::Thread { thread_id: THREAD.to_owned(), as_of: None };
        Request { agent_step: Some(step), ..fixture::request(subject, Strategy::Checkpoint) }
    }

    impl AgentSteps {
        async fn begin(&self, step: AgentStep, id: &str) -> Result<RunningStep, ServiceError> {
            let started = self.start(&request(step), || id.to_owned()).await?;
            Ok(started.expect("it is a step"))
        }

        async fn may_record(&self, step: &RunningStep) -> bool {
            match self.recording(step).await {
                Ok(_) => true,
                Err(ServiceError::NotWorthwhile { .. }) => false,
                Err(error) => panic!("{error}"),
            }
        }
    }

    #[tokio::test]
    async fn an_answer_takes_over_an_announcement_that_is_still_computed() {
        let (steps, _folder) = steps().await;
        let announced = steps.begin(AgentStep::Announced, "one").await.unwrap();
        assert!(steps.may_record(&announced).await);
        let answered = steps.begin(AgentStep::Answered, "two").await.unwrap();
        assert_eq!((answered.compaction_id.as_str(), answered.replaces), ("one", true));
        assert!(announced.is_taken_over() && !answered.is_taken_over());
        assert!(!steps.may_record(&announced).await, "it would be a second record");
        assert!(steps.may_record(&answered).await);
    }

    #[tokio::test]
    async fn an_announcement_that_was_taken_over_publishes_no_end() {
        let (steps, _folder) = steps().await;
        let events = EventHub::new(Clock::manual(1));
        let begin = async |step| {
            let running = steps.begin(step, "one").await.unwrap();
            let progress = ProgressEvents::new(events.clone(), "one".to_owned(), Some(running));
            progress.started(&request(step), Some(THREAD), 1);
            progress
        };
        let announced = begin(AgentStep::Announced).await;
        let answered = begin(AgentStep::Answered).await;
        let started = events.latest_seq();
        announced.failed("not worthwhile", false);
        drop(announced);
        assert_eq!(events.latest_seq(), started);
        drop(answered);
        assert_eq!(events.latest_seq(), started + 1, "one that nobody took over is cancelled");
    }

    #[tokio::test]
    async fn a_hook_that_comes_while_the_answer_is_computed_is_refused() {
        let (steps, _folder) = steps().await;
        let answered = steps.begin(AgentStep::Answered, "one").await.unwrap();
        let late = steps.begin(AgentStep::Announced, "two").await.err();
        assert!(matches!(late, Some(ServiceError::NotWorthwhile { .. })));
        drop(answered);
        let next = steps.begin(AgentStep::Announced, "three").await.unwrap();
        assert_eq!(next.compaction_id, "three");
    }

    #[tokio::test]
    async fn an_announcement_is_recorded_if_the_answer_that_took_it_over_failed() {
        let (steps, _folder) = steps().await;
        let announced = steps.begin(AgentStep::Announced, "one").await.unwrap();
        drop(steps.begin(AgentStep::Answered, "two").await.unwrap());
        assert!(steps.may_record(&announced).await);
    }

    #[tokio::test]
    async fn each_of_two_answers_has_its_own_record() {
        let (steps, _folder) = steps().await;
        let first = steps.begin(AgentStep::Answered, "one").await.unwrap();
        let second = steps.begin(AgentStep::Answered, "two").await.unwrap();
        assert_eq!(second.compaction_id, "two");
        assert!(steps.may_record(&first).await && steps.may_record(&second).await);
    }
}
