//! The summary strategy: the input for a model, and the history built from its summary.
//!
//! Harness context (environment, instructions, permissions) is never summarized: it is rebuilt. Unanswered
//! requests are not summarized either; they follow the summary unchanged. All functions work on values; the
//! shell sends the request.

mod check;
mod layout;
mod search;
mod terms;
mod trim;

use serde_json::Value;
use serde_json::value::RawValue;

use super::classify::{Class, ClassifiedItem};
use crate::redact::redact_value;

pub use check::{Refusal, is_doubtful, refuse};
pub use layout::{Layout, SummaryReplacement, USER_TOKENS_MAX, replacement};
pub use search::InputSearch;
pub use trim::FittedInput;

/// Maximum number of words to ask a model for when its summary shares `max_tokens` with the checkpoint. A word
/// of a summary, including paths and identifiers, has about 8 bytes, and models stay 15 % below such a bound:
/// they use two thirds of the room.
pub fn words(max_tokens: u64) -> u64 {
    max_tokens * 2 / 5
}

/// A history split for the summary strategy.
#[derive(Debug, Clone, Default)]
pub struct Split<'a> {
    /// Items to summarize, in order.
    pub body: Vec<ClassifiedItem<'a>>,
    /// Unanswered requests at the end, in order.
    pub unanswered: Vec<ClassifiedItem<'a>>,
    /// The newest message with instructions of a newly selected model.
    pub model_switch: Option<&'a RawValue>,
    /// Snapshots of files, in order.
    pub ghosts: Vec<&'a RawValue>,
}

impl<'a> Split<'a> {
    pub fn of(classified: Vec<ClassifiedItem<'a>>) -> Self {
        let answered = classified
            .iter()
            .rposition(|classified| {
                classified.class.is_of_model() || classified.class == Class::Output
            })
            .unwrap_or_default();
        let mut split = Self::default();
        for (index, classified) in classified.into_iter().enumerate() {
            match classified.class {
                Class::Context => {}
                Class::ModelSwitch => split.model_switch = Some(classified.raw),
                Class::Ghost => split.ghosts.push(classified.raw),
                Class::Request if index >= answered => split.unanswered.push(classified),
                _ => split.body.push(classified),
            }
        }
        split
    }

    pub fn is_empty(&self) -> bool {
        !self.body.iter().any(|classified| classified.class != Class::Request)
    }
}

/// The items of `body` that another model can read.
pub fn readable<'a>(body: &[ClassifiedItem<'a>]) -> Vec<ClassifiedItem<'a>> {
    let is_read = |classified: &&ClassifiedItem<'_>| {
        !matches!(classified.class, Class::Reasoning | Class::Opaque | Class::Unknown)
    };
    body.iter().filter(is_read).cloned().collect()
}

/// The items to send, redacted, then `prompt` as the last user message; and the number of redactions. Items
/// without secrets pass unchanged.
pub fn input(fitted: &FittedInput<'_>, prompt: &str) -> (Vec<Box<RawValue>>, u64) {
    let mut redacted = 0;
    let mut items: Vec<Box<RawValue>> = Vec::with_capacity(fitted.body.len() + 1);
    for classified in &fitted.body {
        let (item, hits) = clean(classified.raw);
        redacted += hits;
        items.push(fitted.bounded(classified, item));
    }
    let prompt = super::assemble::message("user", prompt);
    items.extend(serde_json::value::to_raw_value(&prompt).ok());
    (items, redacted)
}

/// The redacted item and the number of redactions; without any, the same bytes.
pub fn clean(item: &RawValue) -> (Box<RawValue>, u64) {
    let mut value = serde_json::from_str::<Value>(item.get()).unwrap_or_default();
    let hits = u64::from(redact_value(&mut value));
    let clean = if hits > 0 { serde_json::value::to_raw_value(&value).ok() } else { None };
    (clean.unwrap_or_else(|| item.to_owned()), hits)
}

#[cfg(test)]
mod languages;
#[cfg(test)]
mod tests;
