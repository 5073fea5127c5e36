//! Trims an input that exceeds the model's window.

use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::super::classify::{Class, ClassifiedItem};
use crate::{text, tokens};

/// Maximum number of trim steps before the strategy fails.
pub const TRIM_STEPS_MAX: u32 = 5;

/// Drops the oldest items in growing steps: one request per dropped item would cost hundreds of requests.
/// Single items are bounded too; otherwise one huge output, often the newest item, would leave no room for
/// anything else.
#[derive(Debug, Clone, Copy)]
pub struct InputTrim {
    /// Tokens of the whole input.
    whole: u64,
    steps: u32,
    /// Maximum tokens of one item's text.
    each: u64,
}

impl InputTrim {
    /// Fits `body` into `most` tokens before the first paid request.
    #[must_use]
    pub fn to_fit(body: &mut Vec<ClassifiedItem<'_>>, most: u64) -> Self {
        let mut shed = Self { whole: 0, steps: 0, each: most / 4 };
        let tokens = shed.weigh(body);
        shed.drop_oldest(body, tokens.saturating_sub(most));
        shed.whole = shed.weigh(body);
        shed
    }

    /// Applies the next step: drops a tenth of the whole, then two tenths, four, eight; and halves the limit of
    /// a single item. False if nothing is left to drop or all steps are used.
    pub fn step(&mut self, body: &mut Vec<ClassifiedItem<'_>>) -> bool {
        if self.steps >= TRIM_STEPS_MAX {
            return false;
        }
        let share = self.whole.saturating_mul(1 << self.steps) / 10;
        self.steps += 1;
        self.each /= 2;
        let is_cut = body.iter().any(|told| self.cuts(told));
        self.drop_oldest(body, share.max(1)) || is_cut
    }

    /// Tokens of `body` as sent.
    #[must_use]
    pub fn weigh(&self, body: &[ClassifiedItem<'_>]) -> u64 {
        body.iter().map(|told| self.cost(told)).sum()
    }

    fn cost(&self, told: &ClassifiedItem<'_>) -> u64 {
        if self.cuts(told) { self.each } else { told.tokens }
    }

    fn cuts(&self, told: &ClassifiedItem<'_>) -> bool {
        told.tokens > self.each && has_words(told.class)
    }

    /// The item as sent: unchanged, or with the middle of its text cut.
    pub(super) fn bounded(&self, told: &ClassifiedItem<'_>, item: Box<RawValue>) -> Box<RawValue> {
        if !self.cuts(told) {
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

    /// Drops the oldest items until `tokens` are gone, each call with its output and vice versa. Earlier
    /// summaries and the newest item with its counterpart stay: without them nothing is left to summarize.
    fn drop_oldest(&self, body: &mut Vec<ClassifiedItem<'_>>, tokens: u64) -> bool {
        let mut gone = vec![false; body.len()];
        let mut dropped = 0;
        let newest = body.last().and_then(|told| told.call_id.clone());
        for index in 0..body.len().saturating_sub(1) {
            if dropped >= tokens {
                break;
            }
            let is_of_newest = newest.is_some() && body[index].call_id == newest;
            if gone[index] || is_of_newest || body[index].class == Class::Summary {
                continue;
            }
            gone[index] = true;
            dropped += self.cost(&body[index]);
            let Some(id) = body[index].call_id.clone() else { continue };
            for (other, told) in body.iter().enumerate().skip(index + 1) {
                if !gone[other] && told.call_id.as_deref() == Some(id.as_str()) {
                    gone[other] = true;
                    dropped += self.cost(told);
                }
            }
        }
        let mut index = 0;
        body.retain(|_| {
            index += 1;
            !gone[index - 1]
        });
        dropped > 0
    }
}

/// Whether an item is text that may be cut; call arguments are not.
fn has_words(class: Class) -> bool {
    matches!(class, Class::Request | Class::Assistant | Class::Output)
}
