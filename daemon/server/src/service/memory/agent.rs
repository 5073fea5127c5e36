//! The consolidation agent: a model that looks after the published files, in a sandbox.
//!
//! # Theory of operation
//! *When.* After each consolidation, where the configuration says so and something changed since the agent last
//! succeeded. What the rules made is in force before the agent begins: nothing waits for a model.
//!
//! *Steps.* What is known is consolidated, in the agent's former wording (the draft) → the files are laid out in a
//! folder of their own (`staging`) → a child process is locked into it → the model asks for file tools, step
//! by step, which the child runs (`turns`), bounded in requests, tokens, time and in what the model sees →
//! the folder is read back without following anything → the core holds it against what is known; what it
//! refuses is told to the model while there are steps left → if what is in force is still what the agent
//! began with, and nobody edited it meanwhile, the files are published as a generation of their own.
//!
//! The lock of publications is not held while the model works: forgetting and notes do not wait. What is
//! forgotten ends the run at once; a note that comes in between makes its work of no use.
//!
//! *A crash* leaves the folder, which the next run and the next start remove, and the answers, which are kept:
//! the run that repeats it is given them for nothing.

mod error;
mod staging;
mod turns;

use std::sync::Arc;
use std::time::Duration;

use longhaul_core::memory::agent::{Baseline, CheckInputs, carried, check, input_of, kept, task};
use longhaul_core::memory::consolidate::Consolidation;
use longhaul_core::memory::{Engine, Files};
use longhaul_core::redact::redact;
use longhaul_core::text;
use longhaul_store::{AgentRow, Store};
use tokio::sync::Mutex;

use super::folder::Folder;
use super::publications::Publications;
use super::publish::{Base, Publisher, Purge};
use crate::clock::Clock;
use crate::config::Live;
use crate::config::tables::MemorySettings;
use crate::jobs::{Jobs, Owner};
use crate::model::{Models, Task};
use crate::service::error::ServiceError;
use error::AgentError;
use staging::Staging;
use turns::Turns;

/// Bytes of what is told of a failure.
const DETAIL_BYTES: usize = 600;

/// What a run is about.
struct AgentTask {
    base: Base,
    /// What the rules make of all that is known.
    known: Consolidation,
    baseline: Option<Baseline>,
    input: String,
}

/// Looks after the published files with a model.
pub struct Agent {
    publisher: Arc<Publisher>,
    folder: Folder,
    store: Store,
    models: Arc<Models>,
    jobs: Jobs,
    config: Live,
    clock: Clock,
    /// Held while a run has its folder.
    staged: Mutex<()>,
}

impl Agent {
    #[must_use]
    pub fn new(
        (publisher, publications): (Arc<Publisher>, &Publications),
        (store, models, jobs): (Store, Arc<Models>, Jobs),
        config: Live,
        clock: Clock,
    ) -> Self {
        let (folder, staged) = (publications.folder().clone(), Mutex::new(()));
        Self { publisher, folder, store, models, jobs, config, clock, staged }
    }

    /// Removes what a run before a crash left, unless one is under way.
    pub(super) async fn remove_leftovers(&self) {
        if let Ok(_idle) = self.staged.try_lock() {
            Staging::new(self.folder.path()).remove().await;
        }
    }

    /// Lets the agent look after what is in force, if that is its task and something changed. How it went is in the
    /// store; what the rules made stays in force where it failed.
    ///
    /// # Errors
    /// Those of the store; the run does not own its job any more.
    pub(super) async fn run(&self, owner: &Owner) -> Result<(), ServiceError> {
        let settings = self.config.now().memory.clone();
        let choice = self.models.settings().of(Task::Consolidate);
        let (Engine::Model, Some(choice)) = (*settings.engine, choice) else { return Ok(()) };
        let mut purged = self.publisher.purges();
        let Some(due) = self.due().await? else { return Ok(()) };
        let AgentTask { base, known, baseline, input } = due;
        let on = CheckInputs {
            draft: &known.files,
            book: &known.handbook,
            summary_tokens: *settings.summary_tokens,
        };
        let draft = baseline.as_ref().map_or_else(|| known.files.clone(), |b| carried(b, on));
        let task = task(&draft, baseline.as_ref(), *settings.summary_tokens);
        let (mode, seen) = (task.mode, task.seen.clone());
        let mut turns = Turns::new(&self.models, &choice, &settings, task);
        let on = CheckInputs { draft: &draft, ..on };
        let made = tokio::select! {
            // What it works on holds what is to be forgotten: it is shown to nobody any more.
            _ = purged.changed() => Err(AgentError::Overtaken),
            made = self.staged(&mut turns, &settings, on) => made,
        };
        Staging::new(self.folder.path()).remove().await;
        let mut row = AgentRow {
            mode: mode.into_str().to_owned(),
            turns: turns.taken(),
            tokens: turns.spent_tokens(),
            ..AgentRow::default()
        };
        // What is forgotten between the files and the row would come back with the row.
        let _making = self.publisher.lock().await;
        let published = match made {
            Ok(files) => self.publish(owner, (base, known), files.clone()).await.map(|is_new| {
                let baseline = Baseline { input, files, seen };
                row.baseline = serde_json::to_string(&baseline).ok();
                if is_new { "published" } else { "unchanged" }
            }),
            Err(error) => Err(error),
        };
        match published {
            Ok(outcome) => row.outcome = outcome.to_owned(),
            Err(error) => {
                row.outcome = error.name().to_owned();
                let told = redact(&error.to_string()).text.into_owned();
                row.detail = text::one_line_cut(&told, DETAIL_BYTES);
            }
        }
        row.at_ms = self.clock.now_ms();
        let AgentRow { outcome, turns, tokens, mode, .. } = &row;
        tracing::info!(outcome, turns, tokens, mode, "the agent of memory ended");
        Ok(self.store.agent_put(&row, &self.jobs.fence(owner)).await?)
    }

    /// What the agent is to look after; `None` when nothing changed since it last succeeded.
    async fn due(&self) -> Result<Option<AgentTask>, ServiceError> {
        let (base, known) = {
            let _making = self.publisher.lock().await;
            let base = self.publisher.base(self.clock.steady_ms()).await?;
            let known = self.publisher.consolidated_by_rules(&base.edits).await?;
            (base, known)
        };
        let input = input_of(&known.files, &known.handbook);
        let last = self.store.agent_get().await?;
        let baseline = self.publisher.agent_baseline().await?;
        let is_done =
            last.is_some_and(|run| matches!(run.outcome.as_str(), "published" | "unchanged"));
        let is_same = baseline.as_ref().is_some_and(|baseline| baseline.input == input);
        let is_due =
            base.number > 0 && !known.handbook.projects.is_empty() && !(is_done && is_same);
        Ok(is_due.then_some(AgentTask { base, known, baseline, input }))
    }

    /// Lets the model work in its folder, within its time.
    async fn staged(
        &self,
        turns: &mut Turns<'_>,
        settings: &MemorySettings,
        on: CheckInputs<'_>,
    ) -> Result<Files, AgentError> {
        let _staged = self.staged.lock().await;
        let staging = Staging::new(self.folder.path());
        let checked = |found: &Files| check(found, on).map_err(|refusal| refusal.to_string());
        let run = turns.run(&staging, &checked);
        tokio::time::timeout(Duration::from_secs(*settings.agent_timeout_s), run)
            .await
            .unwrap_or_else(|_| {
                let words = format!("not done in {} s", *settings.agent_timeout_s);
                Err(AgentError::Spent("timeout", words))
            })
    }

    /// Publishes the agent's files, if it began with what is in force; the caller holds the lock of publications.
    /// False when they are what is in force.
    async fn publish(
        &self,
        owner: &Owner,
        (began, known): (Base, Consolidation),
        files: Files,
    ) -> Result<bool, AgentError> {
        let base = self.publisher.base(self.clock.steady_ms()).await?;
        let is_same = base.number == began.number && base.edits == began.edits;
        if !is_same || base.found != began.found {
            return Err(AgentError::Overtaken);
        }
        let files = base.edits.apply(files);
        if files == base.files {
            return Ok(false);
        }
        let handbook = kept(known.handbook, &files);
        let input = base.input.clone();
        let made = Consolidation { files, handbook, selected: known.selected };
        match self.publisher.put_in_force((base, input), made, Purge::No, Some(owner)).await {
            Ok((_, is_new)) => Ok(is_new),
            Err(ServiceError::Busy) => Err(AgentError::Overtaken),
            Err(error) => Err(error.into()),
        }
    }
}
