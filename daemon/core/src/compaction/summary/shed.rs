//! Making the input smaller when it does not fit the model's window.

use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::super::told::{Class, Told};
use crate::{text, tokens};

/// Times an input is made smaller before the rung is left.
pub const SHED_STEPS_MAX: u32 = 5;

/// Drops the oldest items, in growing steps: one request per dropped item would cost hundreds. What a single
/// item may say is bounded too, or one huge output, which is often the newest item, would leave no room for
/// anything else and could never be sent.
#[derive(Debug, Clone, Copy)]
pub struct Shed {
    /// Tokens of the whole input.
    whole: u64,
    steps: u32,
    /// Tokens of one item's words, at most.
    each: u64,
}

impl Shed {
    /// Makes `body` fit into `most` tokens, before the first request is paid.
    #[must_use]
    pub fn to_fit(body: &mut Vec<Told<'_>>, most: u64) -> Self {
        let mut shed = Self { whole: 0, steps: 0, each: most / 4 };
        let tokens = shed.weigh(body);
        shed.drop_oldest(body, tokens.saturating_sub(most));
        shed.whole = shed.weigh(body);
        shed
    }

    /// Drops the next step: a tenth of the whole, then two tenths, four, eight; and halves what one item may
    /// say. False when there is nothing more to drop or the steps are spent.
    pub fn step(&mut self, body: &mut Vec<Told<'_>>) -> bool {
        if self.steps >= SHED_STEPS_MAX {
            return false;
        }
        let share = self.whole.saturating_mul(1 << self.steps) / 10;
        self.steps += 1;
        self.each /= 2;
        let is_cut = body.iter().any(|told| self.cuts(told));
        self.drop_oldest(body, share.max(1)) || is_cut
    }

    /// Tokens of `body` as it would be sent.
    #[must_use]
    pub fn weigh(&self, body: &[Told<'_>]) -> u64 {
        body.iter().map(|told| self.cost(told)).sum()
    }

    fn cost(&self, told: &Told<'_>) -> u64 {
        if self.cuts(told) { self.each } else { told.tokens }
    }

    fn cuts(&self, told: &Told<'_>) -> bool {
        told.tokens > self.each && has_words(told.class)
    }

    /// The item as it is sent: byte for byte, or its words cut in their middle.
    pub(super) fn bounded(&self, told: &Told<'_>, item: Box<RawValue>) -> Box<RawValue> {
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

    /// Drops the oldest items until `tokens` are gone, each call with its output and the other way round.
    /// Earlier summaries stay, and the newest item with its counterpart: without them nothing is left to say.
    fn drop_oldest(&self, body: &mut Vec<Told<'_>>, tokens: u64) -> bool {
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

/// Whether an item is words that may be cut; a call's arguments are no text.
fn has_words(class: Class) -> bool {
    matches!(class, Class::Request | Class::Assistant | Class::Output)
}
