//! The summary rung: what a model is given to summarise, and the history its words become.
//!
//! What the harness writes (environment, instructions, permissions) is never summarised: it is rebuilt
//! fresh. Requests nobody has answered yet are not summarised either, they stand behind the summary as
//! they are. Everything here works on values; asking is the shell's.

mod check;
mod layout;
mod shed;

use serde_json::Value;
use serde_json::value::RawValue;

use super::told::{Class, Told};
use crate::redact::redact_value;

pub use check::{Refusal, refuse};
pub use layout::{Layout, Replaced, USER_TOKENS_MAX, replacement};
pub use shed::{SHED_STEPS_MAX, Shed};

/// Splits a history for the summary rung.
#[derive(Debug, Clone)]
pub struct Split<'a> {
    /// What is to be summarised, in order.
    pub body: Vec<Told<'a>>,
    /// Requests at the end that nobody has answered, in order.
    pub unanswered: Vec<Told<'a>>,
    /// The newest message with instructions of a model that was switched to.
    pub model_switch: Option<&'a RawValue>,
    /// Snapshots of files, in order.
    pub ghosts: Vec<&'a RawValue>,
}

impl<'a> Split<'a> {
    /// Splits a history.
    #[must_use]
    pub fn of(told: Vec<Told<'a>>) -> Self {
        let answered = told
            .iter()
            .rposition(|told| told.class.is_of_model() || told.class == Class::Output)
            .map_or(0, |at| at + 1);
        let mut split = Self {
            body: Vec::new(),
            unanswered: Vec::new(),
            model_switch: None,
            ghosts: Vec::new(),
        };
        for (index, told) in told.into_iter().enumerate() {
            match told.class {
                Class::Context => {}
                Class::ModelSwitch => split.model_switch = Some(told.raw),
                Class::Ghost => split.ghosts.push(told.raw),
                Class::Request if index >= answered => split.unanswered.push(told),
                _ => split.body.push(told),
            }
        }
        split
    }

    /// Whether there is anything a summary could say.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.body.iter().any(|told| told.class != Class::Request)
    }
}

/// Whether another model can read an item; one that it cannot is no weight to shed either.
#[must_use]
pub fn is_sent(told: &Told<'_>) -> bool {
    !matches!(told.class, Class::Reasoning | Class::Opaque | Class::Unknown)
}

/// The items to send: those of `body` that another model can read, secrets replaced and no longer than `shed`
/// lets them be, then `prompt` as the person's last message. Any other item passes byte for byte.
#[must_use]
pub fn input(body: &[Told<'_>], prompt: &str, shed: &Shed) -> (Vec<Box<RawValue>>, u64) {
    let mut redacted = 0;
    let mut items: Vec<Box<RawValue>> = Vec::with_capacity(body.len() + 1);
    for told in body {
        if !is_sent(told) {
            continue;
        }
        let (item, hits) = clean(told.raw);
        redacted += hits;
        items.push(shed.bounded(told, item));
    }
    let prompt = super::assemble::message("user", prompt);
    items.extend(serde_json::value::to_raw_value(&prompt).ok());
    (items, redacted)
}

/// An item with its secrets replaced, and how many there were; without any it is the same bytes.
#[must_use]
pub fn clean(item: &RawValue) -> (Box<RawValue>, u64) {
    let mut value = serde_json::from_str::<Value>(item.get()).unwrap_or_default();
    let hits = u64::from(redact_value(&mut value));
    let clean = if hits > 0 { serde_json::value::to_raw_value(&value).ok() } else { None };
    (clean.unwrap_or_else(|| item.to_owned()), hits)
}

#[cfg(test)]
mod tests;
