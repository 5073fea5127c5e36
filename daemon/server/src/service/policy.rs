//! `policy/*`: decisions on threads, and the watcher's steps.
//!
//! # Theory of operation
//! *Owns* the watcher of each thread, a row in the store, and the log of decisions. What is decided, and
//! what a step leads to, the core decides on values; here they are gathered and kept.
//!
//! *A step*: gather (the fold, its window, the texts) → in one write transaction read the watcher, take
//! the step, store watcher and decisions → answer the effects. Two steps of one thread come one after the
//! other, those of two threads never meet. *A crash* before the commit: nothing happened, the client tells
//! the event again. After it, before the answer: the state waits; the client says `resume` and is asked for
//! the same once more, or time leads it back.
//!
//! *A judgment* is asked outside of any transaction, and its answer is one more step. A client that goes
//! away in between leaves a watcher that waits until somebody says `resume` or its time is over.

mod brief;
mod judge;
mod live;
mod look;
mod report;
mod step;

use std::sync::Arc;

use longhaul_core::context::window::Window;
use longhaul_core::digest::Digest128;
use longhaul_core::fold::Fold;
use longhaul_core::policy::forecast::{Course, Forecast, forecast};
use longhaul_core::policy::repository::RepositoryView;
use longhaul_core::policy::watcher::{Effect, Event, Watcher};
use longhaul_core::policy::{Decision, Point, Policy, Situation, decide, replay, scratch};
use longhaul_core::signal::Happened;
use longhaul_core::template::TemplateGroup;
use longhaul_store::DecisionRow;
use serde::{Deserialize, Serialize};

use step::Stepping;

use super::context::Question;
use super::{ServiceError, Services};

pub use judge::Asked;
pub use live::Live;
pub use look::Readings;
pub use report::Reported;
pub use step::{Heard, Told};

/// Whose situation.
#[derive(Debug, Clone, Default)]
pub struct Subject {
    /// The thread.
    pub thread_id: String,
    /// As it was after this line.
    pub as_of: Option<u64>,
    /// Name of the model.
    pub model: Option<String>,
    /// Tokens of its whole window.
    pub context_window: Option<u64>,
}

/// What a policy says, and its place in the log.
#[derive(Debug, Clone)]
pub struct Said {
    /// Name of the policy.
    pub policy: String,
    /// Its number in the log.
    pub decision_id: Option<i64>,
    /// The decision.
    pub decision: Decision,
}

/// The answer to an evaluation.
#[derive(Debug, Clone)]
pub struct Evaluated {
    /// What it was made of.
    pub situation: Situation,
    /// Of the policy in force.
    pub said: Said,
    /// Of the others.
    pub shadows: Vec<Said>,
    /// What comes.
    pub forecast: Forecast,
    /// Where the watcher is.
    pub watcher: Watcher,
}

/// A thread as it is gathered for a decision.
struct Gathered {
    fold: Arc<Fold>,
    window: Window,
}

/// The answer to a step.
#[derive(Debug, Clone)]
pub struct StepOutcome {
    /// Where the watcher is.
    pub watcher: Watcher,
    /// What is to be done.
    pub effects: Vec<Asked>,
    /// The decision.
    pub said: Option<Said>,
}

/// What a decision was made of, as it is stored.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    situation: Situation,
    decision: Decision,
}

/// A decision of the log.
#[derive(Debug, Clone)]
pub struct Logged {
    /// As it was logged.
    pub row: DecisionRow,
    /// What was decided.
    pub decision: Decision,
    /// The repository then.
    pub repository: Option<Box<RepositoryView>>,
}

/// A logged decision, made once more.
#[derive(Debug, Clone)]
pub struct Explained {
    /// As it was logged.
    pub row: DecisionRow,
    /// As it was decided then.
    pub logged: Decision,
    /// As it is decided now.
    pub decision: Decision,
    /// What it is made of.
    pub situation: Situation,
    /// The policy as it was.
    pub policy: Policy,
}

impl Services {
    /// Decides on a thread under every policy.
    ///
    /// # Errors
    /// There is no such thread, it holds nothing, or reading failed.
    pub async fn policy_evaluate(
        &self,
        subject: Subject,
        point: Point,
        record: bool,
    ) -> Result<Evaluated, ServiceError> {
        let gathered = self.policy_gather(&subject).await?;
        let thread_id = subject.thread_id.as_str();
        let now_ms = self.deps.clock.now_ms();
        let watcher = watcher_of(self.store.watcher_get(thread_id).await?.as_deref());
        let Gathered { fold, window } = &gathered;
        let situation = replay::situation(fold, window, thread_id, (now_ms, point));
        let mut situation = watcher.complete(situation);
        if subject.as_of.is_none() && self.is_live(&gathered) {
            // Who only looks spends nothing.
            let wait = match record {
                true => self.deps.config.now().repository.settings().timeout,
                false => look::CLIENT_WAIT,
            };
            self.policy_look(&mut situation, &gathered, wait, record).await;
        }
        let config = self.deps.config.now();
        let policies = &config.policies;
        let mut said: Vec<Said> = policies
            .all()
            .map(|policy| Said {
                policy: policy.name.clone(),
                decision_id: None,
                decision: decide(policy, &situation),
            })
            .collect();
        if record && subject.as_of.is_none() {
            self.policy_record(&situation, &mut said).await?;
        }
        let policy = &policies.in_force;
        let meter = fold.meter();
        let course = Course {
            points: meter.points(),
            compacted_at: meter.compactions().last().map(|point| point.seq),
            turn: meter.turns(),
            used: situation.used,
        };
        let log: Vec<Happened> = fold.signals().happened().copied().collect();
        let forecast = forecast(policy, window, course, &log);
        let shadows = said.split_off(1);
        let Some(said) = said.pop() else {
            return Err(ServiceError::CheckpointNotFound(subject.thread_id));
        };
        Ok(Evaluated { situation, said, shadows, forecast, watcher })
    }

    /// Tells a thread's watcher what happened.
    ///
    /// # Errors
    /// There is no such thread, it holds nothing, reading or storing failed.
    pub async fn policy_step(
        &self,
        subject: Subject,
        agent: Option<&str>,
        told: Told,
    ) -> Result<StepOutcome, ServiceError> {
        let gathered = self.policy_gather(&subject).await?;
        let texts = self.texts.current(TemplateGroup::Policy);
        let scratch_file = scratch::path(agent, &subject.thread_id);
        let step = Stepping { services: self, gathered: &gathered, texts: &texts, scratch_file };
        let mut event = step.event(&subject.thread_id, told);
        let (wait, may_ask) = match &event {
            Event::TurnSeen(_) => (look::HOOK_WAIT, false),
            event => (look::CLIENT_WAIT, matches!(event, Event::TurnEnded(_))),
        };
        if let Event::TurnEnded(situation)
        | Event::TurnSeen(situation)
        | Event::MidTurn(situation) = &mut event
        {
            self.policy_look(situation, &gathered, wait, may_ask).await;
        }
        let mut stepped = step.take(&subject.thread_id, event).await?;
        let asked = stepped.effects.iter().find_map(|asked| match &asked.effect {
            Effect::AskJudgment { request_id, .. } => Some((request_id.clone(), asked.clone())),
            _ => None,
        });
        let Some((request_id, asked)) = asked.filter(|_| self.judges()) else { return Ok(stepped) };
        let judgment = self.judge(&asked).await;
        let answered = Event::Judged { request_id, judgment };
        let next = step.take(&subject.thread_id, answered).await?;
        stepped.effects.retain(|asked| !matches!(asked.effect, Effect::AskJudgment { .. }));
        stepped.effects.extend(next.effects);
        stepped.watcher = next.watcher;
        Ok(stepped)
    }

    /// A logged decision with all it was made of, made once more.
    ///
    /// # Errors
    /// No such decision is kept, or it cannot be read.
    pub async fn policy_explain(&self, decision_id: i64) -> Result<Explained, ServiceError> {
        let not_found = || ServiceError::HandleNotFound(format!("decision {decision_id}"));
        let found = self.store.decision_get(decision_id).await?;
        let (row, settings) = found.ok_or_else(not_found)?;
        let undecodable = |source| ServiceError::Undecodable { what: "decision", source };
        let policy: Policy = serde_json::from_str(&settings).map_err(undecodable)?;
        let record: Record = serde_json::from_str(&row.body).map_err(undecodable)?;
        let decision = decide(&policy, &record.situation);
        let Record { situation, decision: logged } = record;
        Ok(Explained { row, logged, decision, situation, policy })
    }

    /// Logged decisions, newest first, and what happened in the thread, oldest first.
    ///
    /// # Errors
    /// There is no such thread, or reading failed.
    pub async fn policy_log(
        &self,
        thread_id: Option<&str>,
        policy: Option<&str>,
        page: (Option<i64>, u32),
    ) -> Result<(Vec<Logged>, Vec<Happened>), ServiceError> {
        let mut events = Vec::new();
        if let Some(thread_id) = thread_id {
            let fold = self.snapshot(thread_id, None).await?.fold;
            events.extend(fold.signals().happened().copied());
        }
        let rows = self.store.decisions(thread_id, policy, page).await?;
        let decode = |row: DecisionRow| {
            let record: Record = serde_json::from_str(&row.body)
                .map_err(|source| ServiceError::Undecodable { what: "decision", source })?;
            let Record { situation, decision } = record;
            Ok(Logged { row, decision, repository: situation.repository })
        };
        Ok((rows.into_iter().map(decode).collect::<Result<_, ServiceError>>()?, events))
    }

    async fn policy_gather(&self, subject: &Subject) -> Result<Gathered, ServiceError> {
        let usage = self
            .usage(Question {
                thread_id: Some(subject.thread_id.clone()),
                as_of: subject.as_of,
                items: None,
                model: subject.model.clone(),
                context_window: subject.context_window,
                auto_compact_limit: None,
            })
            .await?;
        let not_found = || ServiceError::CheckpointNotFound(subject.thread_id.clone());
        Ok(Gathered { fold: usage.fold.ok_or_else(not_found)?, window: usage.window })
    }

    /// Logs the decisions, where any policy is at a tier.
    async fn policy_record(
        &self,
        situation: &Situation,
        said: &mut [Said],
    ) -> Result<(), ServiceError> {
        if said.iter().all(|said| said.decision.tier.is_none()) {
            return Ok(());
        }
        let config = self.deps.config.now();
        let policies = &config.policies;
        let rows: Vec<_> = policies
            .all()
            .zip(said.iter())
            .map(|(policy, said)| {
                row_of(policy, situation, &said.decision, &policies.in_force.name)
            })
            .collect();
        let change = move |found: Option<String>| (found, rows, ());
        let at = (situation.thread_id.as_str(), situation.at_ms);
        let ((), ids) = self.store.watcher_step(at, change).await?;
        for (said, id) in said.iter_mut().zip(ids) {
            said.decision_id = Some(id);
        }
        Ok(())
    }
}

/// A watcher as stored. One that another version wrote begins anew: nothing is lost but a place in a
/// sequence.
pub(super) fn watcher_of(stored: Option<&str>) -> Watcher {
    let Some(stored) = stored else { return Watcher::default() };
    serde_json::from_str(stored).unwrap_or_else(|error| {
        tracing::warn!(%error, "a stored watcher cannot be read; it begins anew");
        Watcher::default()
    })
}

/// A decision as it is stored, with the JSON of its policy.
fn row_of(
    policy: &Policy,
    situation: &Situation,
    decision: &Decision,
    in_force: &str,
) -> (DecisionRow, String) {
    // Names, numbers and lists: serialising them to memory cannot fail.
    let settings = serde_json::to_string(policy).unwrap_or_default();
    let record = Record { situation: situation.clone(), decision: decision.clone() };
    let row = DecisionRow {
        decision_id: 0,
        thread_id: situation.thread_id.clone(),
        policy: policy.name.clone(),
        settings: Digest128::of(settings.as_bytes()).to_string(),
        shadow: policy.name != in_force,
        at_ms: situation.at_ms,
        seq: situation.seq,
        turn: situation.turn,
        action: decision.action.name().to_owned(),
        tier: decision.tier.map(|tier| tier.name().to_owned()),
        body: serde_json::to_string(&record).unwrap_or_default(),
    };
    (row, settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Defect 7.11: a state that could not be read made everything after it fail.
    #[test]
    fn defect_7_11_a_watcher_that_cannot_be_read_begins_anew() {
        for stored in ["", "{ torn", "[]", r#"{"phase":{"phase":"of a later version"}}"#] {
            assert_eq!(watcher_of(Some(stored)), Watcher::default(), "{stored}");
        }
        let known = serde_json::to_string(&Watcher { asked: 3, ..Watcher::default() }).unwrap();
        assert_eq!(watcher_of(Some(&known)).asked, 3);
    }
}
