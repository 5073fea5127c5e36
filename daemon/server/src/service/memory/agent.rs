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

mod staging;
mod turns;

use longhaul_core::memory::agent::{Baseline, CheckInputs, carried, check, input_of, kept, task};
use longhaul_core::memory::consolidate::Consolidation;
use longhaul_core::memory::{Engine, Files};
use longhaul_core::redact::redact;
use longhaul_core::text;
use longhaul_store::AgentRow;

use super::publish::{Base, Purge};
use crate::config::memory::MemorySettings;
use crate::jobs::Owner;
use crate::sandbox::SandboxError;
use crate::service::{ServiceError, Services};
use turns::Turns;

pub(super) use staging::Staging;

/// Bytes of what is told of a failure.
const DETAIL_BYTES: usize = 600;

/// Why nothing of a run was published.
#[derive(Debug, thiserror::Error)]
pub(super) enum AgentError {
    /// The child cannot be locked in.
    #[error("{0}")]
    Sandbox(#[from] SandboxError),
    /// The provider, or a budget.
    #[error("{0}")]
    Fault(longhaul_core::model::Fault),
    /// A bound of the run.
    #[error("{1}")]
    Spent(&'static str, String),
    /// The model does not answer in steps.
    #[error("{0}")]
    Unreadable(String),
    /// The files cannot be believed.
    #[error("{0}")]
    Refused(String),
    /// What it worked on is not in force any more.
    #[error("memory changed while the model worked on it")]
    Overtaken,
    /// The folder or the store.
    #[error("{0}")]
    Service(#[from] ServiceError),
}

impl AgentError {
    /// Stable name.
    fn name(&self) -> &'static str {
        match self {
            Self::Sandbox(SandboxError::Unavailable(_)) => "sandbox_unavailable",
            Self::Sandbox(SandboxError::Failed(_)) => "child_failed",
            Self::Fault(fault) => fault.kind.name(),
            Self::Spent(name, _) => name,
            Self::Unreadable(_) => "step_unreadable",
            Self::Refused(_) => "result_refused",
            Self::Overtaken => "overtaken",
            Self::Service(_) => "failed",
        }
    }
}

/// What a run is about.
struct Due {
    /// What is in force.
    base: Base,
    /// What the rules make of all that is known.
    known: Consolidation,
    baseline: Option<Baseline>,
    input: String,
}

impl Services {
    /// What the agent last saw and published, where a model looks after the files.
    pub(super) async fn agent_baseline(&self) -> Result<Option<Baseline>, ServiceError> {
        if *self.deps.config.now().memory.engine != Engine::Model {
            return Ok(None);
        }
        let row = self.store.agent_get().await?;
        let baseline = row.and_then(|row| row.baseline);
        // One of another version is none: the agent is given everything.
        Ok(baseline.and_then(|json| serde_json::from_str(&json).ok()))
    }

    /// Lets the agent look after what is in force, if that is its task and something changed. How it went is in the
    /// store; what the rules made stays in force where it failed.
    ///
    /// # Errors
    /// Those of the store; the run does not own its job any more.
    pub(super) async fn look_after_memory(&self, owner: &Owner) -> Result<(), ServiceError> {
        let settings = self.deps.config.now().memory.clone();
        let choice = self.models.settings().default.clone();
        let (Engine::Model, Some(choice)) = (*settings.engine, choice) else { return Ok(()) };
        let mut purged = self.memory.purged.subscribe();
        let Some(due) = self.agent_due().await? else { return Ok(()) };
        let Due { base, known, baseline, input } = due;
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
        Staging::new(self.memory.folder.path()).remove().await;
        let mut row = AgentRow {
            mode: mode.name().to_owned(),
            turns: turns.taken(),
            tokens: turns.spent_tokens(),
            ..AgentRow::default()
        };
        // What is forgotten between the files and the row would come back with the row.
        let _making = self.memory.making.lock().await;
        let published = match made {
            Ok(files) => {
                self.publish_agents(owner, (base, known), files.clone()).await.map(|is_new| {
                    let baseline = Baseline { input, files, seen };
                    row.baseline = serde_json::to_string(&baseline).ok();
                    if is_new { "published" } else { "unchanged" }
                })
            }
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
        row.at_ms = self.deps.clock.now_ms();
        let AgentRow { outcome, turns, tokens, mode, .. } = &row;
        tracing::info!(outcome, turns, tokens, mode, "the agent of memory ended");
        Ok(self.store.agent_put(&row, &self.jobs.fence(owner)).await?)
    }

    /// What the agent is to look after; `None` when nothing changed since it last succeeded.
    async fn agent_due(&self) -> Result<Option<Due>, ServiceError> {
        let (base, known) = {
            let _making = self.memory.making.lock().await;
            let base = self.memory_base(self.deps.clock.steady_ms()).await?;
            let known = self.made_by_rules(&base.edits).await?;
            (base, known)
        };
        let input = input_of(&known.files, &known.handbook);
        let last = self.store.agent_get().await?;
        let baseline = self.agent_baseline().await?;
        let is_done =
            last.is_some_and(|run| matches!(run.outcome.as_str(), "published" | "unchanged"));
        let is_same = baseline.as_ref().is_some_and(|baseline| baseline.input == input);
        let is_due =
            base.number > 0 && !known.handbook.projects.is_empty() && !(is_done && is_same);
        Ok(is_due.then_some(Due { base, known, baseline, input }))
    }

    /// Lets the model work in its folder, within its time.
    async fn staged(
        &self,
        turns: &mut Turns<'_>,
        settings: &MemorySettings,
        on: CheckInputs<'_>,
    ) -> Result<Files, AgentError> {
        let _staged = self.memory.staged.lock().await;
        let staging = Staging::new(self.memory.folder.path());
        let checked = |found: &Files| check(found, on).map_err(|refusal| refusal.to_string());
        let run = turns.run(&staging, &checked);
        tokio::time::timeout(*settings.agent_timeout, run).await.unwrap_or_else(|_| {
            let words = format!("not done in {} s", settings.agent_timeout.as_secs());
            Err(AgentError::Spent("timeout", words))
        })
    }

    /// Publishes the agent's files, if it began with what is in force; the caller holds the lock of publications.
    /// False when they are what is in force.
    async fn publish_agents(
        &self,
        owner: &Owner,
        (began, known): (Base, Consolidation),
        files: Files,
    ) -> Result<bool, AgentError> {
        let base = self.memory_base(self.deps.clock.steady_ms()).await?;
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
        match self.put_in_force((base, input), made, Purge::No, Some(owner)).await {
            Ok((_, is_new)) => Ok(is_new),
            Err(ServiceError::Busy) => Err(AgentError::Overtaken),
            Err(error) => Err(error.into()),
        }
    }
}
