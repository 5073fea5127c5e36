//! The agent's plan: its items and their state.

use serde::{Deserialize, Serialize};

use super::clean;
use crate::limits;
use crate::rollout::tool::{TodoItem, TodoStatus};

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Plan {
    pub items: Vec<PlanItem>,
    pub seq: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanItem {
    /// Stable id: its number, from 1, or the model's id.
    pub id: String,
    pub text: String,
    pub state: PlanState,
}

/// The progress of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanState {
    Open,
    InProgress,
    Done,
}

impl From<TodoStatus> for PlanState {
    fn from(status: TodoStatus) -> Self {
        match status {
            TodoStatus::Pending => Self::Open,
            TodoStatus::InProgress => Self::InProgress,
            TodoStatus::Done => Self::Done,
        }
    }
}

impl Plan {
    /// Replaces the plan with the arguments of the agent's planning tool.
    pub fn replace(&mut self, seq: u64, items: &[TodoItem]) {
        let numbered = items.iter().take(limits::PLAN_ITEMS).enumerate();
        self.items = numbered
            .map(|(index, item)| PlanItem {
                id: (index + 1).to_string(),
                text: clean(&item.text, limits::PLAN_ITEM_CHARS),
                state: item.status.into(),
            })
            .collect();
        self.seq = seq;
    }

    /// Adds an item under the id that the agent's planning tool gave it.
    pub fn add(&mut self, seq: u64, id: &str, text: &str) {
        self.items.retain(|known| known.id != id);
        if self.items.len() < limits::PLAN_ITEMS {
            let (id, text) = (id.to_owned(), clean(text, limits::PLAN_ITEM_CHARS));
            self.items.push(PlanItem { id, text, state: PlanState::Open });
        }
        self.seq = seq;
    }

    /// Changes the item with that id, or removes it if it is dropped.
    pub fn change(&mut self, seq: u64, id: &str, status: Option<TodoStatus>, is_dropped: bool) {
        if is_dropped {
            self.items.retain(|item| item.id != id);
        }
        if let (Some(item), Some(status)) = (self.items.iter_mut().find(|it| it.id == id), status) {
            item.state = status.into();
        }
        self.seq = seq;
    }

    /// Items that are not done.
    pub fn open(&self) -> impl Iterator<Item = &PlanItem> {
        self.items.iter().filter(|item| item.state != PlanState::Done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_added_and_changed_by_their_id() {
        let mut plan = Plan::default();
        for (seq, id) in (1..).zip(["1", "2", "3"]) {
            plan.add(seq, id, &format!("step {id}"));
        }
        plan.change(4, "2", Some(TodoStatus::Done), false);
        plan.change(5, "3", None, true);
        plan.change(6, "9", Some(TodoStatus::Done), false);
        let items: Vec<_> = plan.items.iter().map(|item| (&*item.id, item.state)).collect();
        assert_eq!(items, [("1", PlanState::Open), ("2", PlanState::Done)]);
    }

    #[test]
    fn a_plan_is_bounded() {
        let mut plan = Plan::default();
        for seq in 0..100 {
            plan.add(seq, &seq.to_string(), "step");
        }
        assert_eq!(plan.items.len(), limits::PLAN_ITEMS);
    }
}
