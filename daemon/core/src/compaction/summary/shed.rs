//! Making the input smaller when it does not fit the model's window.

use super::super::told::{Class, Told};

/// Times an input is made smaller before the rung is left.
pub const SHED_STEPS_MAX: u32 = 5;

/// Drops the oldest items, in growing steps: one request per dropped item would cost hundreds.
#[derive(Debug, Clone, Copy)]
pub struct Shed {
    /// Tokens of the whole input.
    whole: u64,
    steps: u32,
}

impl Shed {
    /// For an input of `whole` tokens.
    #[must_use]
    pub fn new(whole: u64) -> Self {
        Self { whole, steps: 0 }
    }

    /// Drops as much that `most` tokens are left, before the first request is paid.
    pub fn to_fit(body: &mut Vec<Told<'_>>, most: u64) {
        let tokens: u64 = body.iter().map(|told| told.tokens).sum();
        drop_oldest(body, tokens.saturating_sub(most));
    }

    /// Drops the next step: a tenth of the whole, then two tenths, four, eight. False when there is
    /// nothing more to drop or the steps are spent.
    pub fn step(&mut self, body: &mut Vec<Told<'_>>) -> bool {
        if self.steps >= SHED_STEPS_MAX {
            return false;
        }
        let share = self.whole.saturating_mul(1 << self.steps) / 10;
        self.steps += 1;
        drop_oldest(body, share.max(1))
    }
}

/// Drops the oldest items until `tokens` are gone, each call with its output and the other way round.
/// Earlier summaries stay, and the newest item: without them nothing is left to say.
fn drop_oldest(body: &mut Vec<Told<'_>>, tokens: u64) -> bool {
    let mut gone = vec![false; body.len()];
    let mut dropped = 0;
    for index in 0..body.len().saturating_sub(1) {
        if dropped >= tokens {
            break;
        }
        if gone[index] || body[index].class == Class::Summary {
            continue;
        }
        gone[index] = true;
        dropped += body[index].tokens;
        let Some(id) = body[index].call_id.clone() else { continue };
        for (other, told) in body.iter().enumerate().skip(index + 1) {
            if !gone[other] && told.call_id.as_deref() == Some(id.as_str()) {
                gone[other] = true;
                dropped += told.tokens;
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
