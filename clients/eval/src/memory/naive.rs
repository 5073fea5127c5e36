//! The baseline memory: names weighted by the number of sessions that used them, newer ones more.

use std::collections::HashMap;

use crate::entity::Entity;

#[derive(Debug, Default)]
pub(super) struct Naive {
    sessions: u32,
    /// Weight, and the session it is of.
    names: HashMap<Entity, f64>,
}

/// Weight of a session relative to the next one.
const FADE: f64 = 0.9;

impl Naive {
    /// Learns the names of a finished session.
    pub(super) fn learn<'e>(&mut self, entities: impl Iterator<Item = &'e Entity>) {
        for weight in self.names.values_mut() {
            *weight *= FADE;
        }
        for entity in entities {
            *self.names.entry(entity.clone()).or_default() += 1.0;
        }
        self.sessions += 1;
    }

    /// The heaviest names, one per line.
    pub(super) fn view(&self, bytes: usize) -> String {
        let mut order: Vec<(&Entity, f64)> = self.names.iter().map(|(e, w)| (e, *w)).collect();
        order.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        let mut out = String::new();
        for (entity, _) in order {
            if out.len() + entity.text.len() < bytes {
                out.push_str(&entity.text);
                out.push('\n');
            }
        }
        out
    }
}
