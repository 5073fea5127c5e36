//! Settings to send to a model before its next turn: those changed since the reference, or all of them if there
//! is none.
//!
//! Five dimensions are always compared. Project instructions and memory, which agents refresh only with a full
//! context, are compared on request. Avoids these known defects of agents:
//!
//! - a collaboration mode with empty instructions left the old ones active: we announce its end;
//! - several working folders never equaled a reference of one, so they were repeated every turn: we compare
//!   all of them, in any order;
//! - a personality that was switched off stayed active: we announce its end.

mod documents;
mod render;

use serde_json::{Value, json};

use super::reference::{Environment, Settings};

pub use documents::ShownDocuments;

/// A dimension of the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Dimension {
    Model,
    Permissions,
    Memory,
    CollaborationMode,
    Personality,
    AgentsMd,
    Environment,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OptIn {
    pub agents_md: bool,
    pub memory: bool,
}

/// Items to insert before the next turn.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Injection {
    /// A developer message, then a user message; either may be missing.
    pub items: Vec<Value>,
    /// Dimensions the items cover, in order.
    pub dimensions: Vec<Dimension>,
    /// Whether all dimensions are included because there is no reference.
    pub is_full: bool,
}

/// Sections of the two messages, under construction.
#[derive(Default)]
struct InjectionDraft {
    developer: Vec<String>,
    user: Vec<String>,
    dimensions: Vec<Dimension>,
}

impl InjectionDraft {
    fn add(&mut self, dimension: Dimension, section: Option<String>) {
        let Some(section) = section.filter(|section| !section.is_empty()) else { return };
        self.dimensions.push(dimension);
        match dimension {
            Dimension::Environment | Dimension::AgentsMd => self.user.push(section),
            _ => self.developer.push(section),
        }
    }

    fn finish(self, is_full: bool) -> Injection {
        let message = |role: &str, sections: &[String]| {
            let parts = sections.iter().map(|text| json!({ "type": "input_text", "text": text }));
            let content: Vec<Value> = parts.collect();
            json!({ "type": "message", "role": role, "content": content })
        };
        let messages = [("developer", &self.developer), ("user", &self.user)];
        let items = messages.into_iter().filter(|(_, sections)| !sections.is_empty());
        let items = items.map(|(role, sections)| message(role, sections)).collect();
        Injection { items, dimensions: self.dimensions, is_full }
    }
}

/// Returns what changed from `reference` to `current`, or everything if there is no reference.
pub fn diff(reference: Option<&Settings>, current: &Settings, opt_in: OptIn) -> Injection {
    let Some(old) = reference else { return full(current) };
    let mut draft = InjectionDraft::default();
    let is_same_model = model_name(old) == model_name(current);
    if !is_same_model {
        draft.add(Dimension::Model, current.model.as_ref().and_then(render::model));
    }
    if has_other_permissions(old, current) {
        draft.add(Dimension::Permissions, current.permissions.as_ref().map(render::permissions));
    }
    if opt_in.memory && old.memory != current.memory {
        let text = current.memory.as_deref().unwrap_or_default();
        draft.add(Dimension::Memory, Some(render::memory(text)));
    }
    if old.collaboration_mode != current.collaboration_mode {
        let mode = current.collaboration_mode.as_ref();
        draft.add(Dimension::CollaborationMode, Some(render::collaboration(mode)));
    }
    // A new model's instructions already include its personality.
    if is_same_model && old.personality != current.personality {
        let personality = current.personality.as_ref();
        draft.add(Dimension::Personality, Some(render::personality(personality)));
    }
    if opt_in.agents_md && old.agents_md != current.agents_md {
        let text = current.agents_md.as_deref().unwrap_or_default();
        draft.add(Dimension::AgentsMd, Some(render::agents_md(text, first_folder(current))));
    }
    if let Some(environment) = &current.environment
        && let Some(change) = environment_change(old.environment.as_ref(), environment)
    {
        draft.add(Dimension::Environment, Some(change));
    }
    draft.finish(false)
}

/// Returns all sections, as after a compaction. Model instructions belong to the model's base prompt.
pub fn full(current: &Settings) -> Injection {
    let mut draft = InjectionDraft::default();
    draft.add(Dimension::Permissions, current.permissions.as_ref().map(render::permissions));
    let memory = current.memory.as_deref().filter(|text| !text.is_empty());
    draft.add(Dimension::Memory, memory.map(render::memory));
    let mode = current.collaboration_mode.as_ref().filter(|mode| !mode.instructions.is_empty());
    draft.add(Dimension::CollaborationMode, mode.map(|mode| render::collaboration(Some(mode))));
    let personality = current.personality.as_ref().filter(|p| !p.instructions.is_empty());
    draft.add(Dimension::Personality, personality.map(|p| render::personality(Some(p))));
    let agents_md = current.agents_md.as_deref().filter(|text| !text.is_empty());
    let agents_md = agents_md.map(|text| render::agents_md(text, first_folder(current)));
    draft.add(Dimension::AgentsMd, agents_md);
    let environment = current.environment.as_ref();
    draft.add(Dimension::Environment, environment.map(|place| render::environment(place, true)));
    draft.finish(true)
}

fn model_name(settings: &Settings) -> &str {
    settings.model.as_ref().map_or("", |model| &model.name)
}

fn first_folder(settings: &Settings) -> &str {
    let place = settings.environment.as_ref().and_then(|environment| environment.places.first());
    place.map_or(".", |place| &place.cwd)
}

/// A change of the text alone (it follows the folder) does not count as a change of permissions.
fn has_other_permissions(old: &Settings, new: &Settings) -> bool {
    let key = |settings: &Settings| {
        let permissions = settings.permissions.clone().unwrap_or_default();
        (permissions.profile, permissions.approval_policy)
    };
    key(old) != key(new)
}

/// Compares folders, date, time zone and network; a change of the shell alone is ignored.
fn environment_change(old: Option<&Environment>, new: &Environment) -> Option<String> {
    let Some(old) = old else { return Some(render::environment(new, true)) };
    let has_moved = old.folders() != new.folders();
    let is_other = has_moved
        || old.current_date != new.current_date
        || old.timezone != new.timezone
        || old.network != new.network;
    is_other.then(|| render::environment(new, has_moved))
}

#[cfg(test)]
mod tests;
