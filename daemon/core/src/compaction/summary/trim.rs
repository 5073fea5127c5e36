//! Selects the part of a history to send to a model whose window it exceeds.

use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::super::classify::{Class, ClassifiedItem};
use crate::{text, tokens};

/// The part of a history that fits a number of tokens: the newest items, each call with its output, and every
/// earlier summary. A single item gets at most a quarter of the room; otherwise one huge output, often the
/// newest item, would leave none for the rest.
#[derive(Debug, Clone, Default)]
pub struct FittedInput<'a> {
    pub body: Vec<ClassifiedItem<'a>>,
    /// Maximum tokens of one item's text.
    each: u64,
    /// Indexes of omitted items, in order.
    pub left_out: Vec<usize>,
    pub left_out_tokens: u64,
    /// Indexes of items whose middle is cut.
    pub cut: Vec<usize>,
}

impl<'a> FittedInput<'a> {
    /// Fits `body` into `most` tokens; keeps the newest item even if it alone takes more.
    pub fn of(body: &[ClassifiedItem<'a>], most: u64) -> Self {
        let whole: u64 = body.iter().map(|classified| classified.tokens).sum();
        let each = if whole > most { most / 4 } else { u64::MAX };
        let mut fitted = Self { each, ..Self::default() };
        let over =
            body.iter().map(|classified| fitted.cost(classified)).sum::<u64>().saturating_sub(most);
        let gone = fitted.oldest(body, over);
        for (classified, gone) in body.iter().zip(gone) {
            if gone {
                fitted.left_out.push(classified.at);
                fitted.left_out_tokens += classified.tokens;
                continue;
            }
            if fitted.cuts(classified) {
                fitted.cut.push(classified.at);
            }
            fitted.body.push(classified.clone());
        }
        fitted
    }

    pub fn tokens(&self) -> u64 {
        self.body.iter().map(|classified| self.cost(classified)).sum()
    }

    /// Whether the model sees every item in full.
    pub fn is_whole(&self) -> bool {
        self.left_out.is_empty() && self.cut.is_empty()
    }

    fn cost(&self, classified: &ClassifiedItem<'_>) -> u64 {
        if self.cuts(classified) { self.each } else { classified.tokens }
    }

    fn cuts(&self, classified: &ClassifiedItem<'_>) -> bool {
        classified.tokens > self.each && has_words(classified.class)
    }

    /// Marks the oldest items until `over` tokens are removed, each call with its output. Keeps earlier
    /// summaries and the newest item with its counterpart: without them there is nothing to summarize.
    fn oldest(&self, body: &[ClassifiedItem<'_>], over: u64) -> Vec<bool> {
        let mut gone = vec![false; body.len()];
        let mut dropped = 0;
        let newest = body.last().and_then(|classified| classified.call_id.clone());
        for index in 0..body.len().saturating_sub(1) {
            if dropped >= over {
                break;
            }
            let is_of_newest = newest.is_some() && body[index].call_id == newest;
            if gone[index] || is_of_newest || body[index].class == Class::Summary {
                continue;
            }
            gone[index] = true;
            dropped += self.cost(&body[index]);
            if let Some(output) = output_of(body, index).filter(|output| !gone[*output]) {
                gone[output] = true;
                dropped += self.cost(&body[output]);
            }
        }
        gone
    }

    /// The item as sent: unchanged, or with the middle of its text cut.
    pub(super) fn bounded(
        &self,
        classified: &ClassifiedItem<'_>,
        item: Box<RawValue>,
    ) -> Box<RawValue> {
        if !self.cuts(classified) {
            return item;
        }
        let Ok(mut value) = serde_json::from_str::<Value>(item.get()) else { return item };
        let mut room = tokens::bytes_of(self.each);
        let mut cut = |words: &mut String| {
            *words = text::cut_middle(words, room).into_owned();
            room = room.saturating_sub(words.len());
        };
        for key in ["output", "content"] {
            match value.get_mut(key) {
                Some(Value::String(words)) => cut(words),
                Some(Value::Array(parts)) => {
                    let parts = parts.iter_mut().filter_map(|part| part.get_mut("text"));
                    for part in parts {
                        if let Value::String(words) = part {
                            cut(words);
                        }
                    }
                }
                _ => {}
            }
        }
        to_raw_value(&value).unwrap_or(item)
    }
}

/// The output of the call at `index`: the next one with its id, since a later call may reuse the id.
fn output_of(body: &[ClassifiedItem<'_>], index: usize) -> Option<usize> {
    let call = body.get(index).filter(|classified| classified.class == Class::Call)?;
    call.call_id.as_ref()?;
    let mut later = body.iter().enumerate().skip(index + 1);
    let (at, classified) = later.find(|(_, classified)| classified.call_id == call.call_id)?;
    (classified.class == Class::Output).then_some(at)
}

/// Whether an item is text that may be cut; call arguments are not.
fn has_words(class: Class) -> bool {
    matches!(class, Class::Request | Class::Assistant | Class::Output)
}
