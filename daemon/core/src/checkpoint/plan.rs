//! The agent's plan: steps and their state.

use serde::{Deserialize, Serialize};

use crate::rollout::tool::{PlanStep, StepStatus};
use crate::{limits, text};

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Plan {
    pub steps: Vec<Step>,
    pub seq: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Stable id of the step: its number, from 1, or the model's id.
    pub id: String,
    pub text: String,
    pub state: StepState,
}

/// The progress of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    Open,
    InProgress,
    Done,
}

impl From<StepStatus> for StepState {
    fn from(status: StepStatus) -> Self {
        match status {
            StepStatus::Pending => Self::Open,
            StepStatus::InProgress => Self::InProgress,
            StepStatus::Done => Self::Done,
        }
    }
}

impl Plan {
    /// Replaces the plan with the arguments of the agent's planning tool.
    pub fn replace(&mut self, seq: u64, steps: &[PlanStep]) {
        let numbered = steps.iter().take(limits::PLAN_STEPS).enumerate();
        self.steps = numbered
            .map(|(index, step)| Step {
                id: (index + 1).to_string(),
                text: clean(&step.text),
                state: step.status.into(),
            })
            .collect();
        self.seq = seq;
    }

    /// Adds a step under the id that the agent's planning tool gave it.
    pub fn add(&mut self, seq: u64, id: &str, step: &str) {
        self.steps.retain(|known| known.id != id);
        if self.steps.len() < limits::PLAN_STEPS {
            let (id, text) = (id.to_owned(), clean(step));
            self.steps.push(Step { id, text, state: StepState::Open });
        }
        self.seq = seq;
    }

    /// Changes the step with that id, or removes it if it is dropped.
    pub fn change(&mut self, seq: u64, id: &str, status: Option<StepStatus>, is_dropped: bool) {
        if is_dropped {
            self.steps.retain(|step| step.id != id);
        }
        if let (Some(step), Some(status)) = (self.steps.iter_mut().find(|s| s.id == id), status) {
            step.state = status.into();
        }
        self.seq = seq;
    }

    /// Steps that are not done.
    pub fn open(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(|step| step.state != StepState::Done)
    }
}

fn clean(step: &str) -> String {
    let redacted = crate::redact::redact(step);
    text::cut_chars(&text::one_line(&redacted.text), limits::STEP_CHARS).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_added_and_changed_by_their_id() {
        let mut plan = Plan::default();
        for (seq, id) in (1..).zip(["1", "2", "3"]) {
            plan.add(seq, id, &format!("step {id}"));
        }
        plan.change(4, "2", Some(StepStatus::Done), false);
        plan.change(5, "3", None, true);
        plan.change(6, "9", Some(StepStatus::Done), false);
        let steps: Vec<_> = plan.steps.iter().map(|step| (&*step.id, step.state)).collect();
        assert_eq!(steps, [("1", StepState::Open), ("2", StepState::Done)]);
    }

    #[test]
    fn a_plan_is_bounded() {
        let mut plan = Plan::default();
        for seq in 0..100 {
            plan.add(seq, &seq.to_string(), "step");
        }
        assert_eq!(plan.steps.len(), limits::PLAN_STEPS);
    }
}
