//! Summary → replacement history.
//!
//! # Source
//! Orders pinned in `facts/codex-compaction.md` §2.3: kept requests, then the summary; in the middle of a
//! turn fresh context before the last real request. What nobody answered comes last.

use serde_json::Value;
use serde_json::value::RawValue;

use super::super::Phase;
use super::super::assemble::{keep_request_within, message};
use super::super::told::{Class, Told, brings_model_switch, model_switch_alone};
use super::Split;
use crate::tokens;

/// Tokens of requests that are kept word for word, the newest first.
///
/// # Source
/// Requirement documents 000 and 001.
pub const USER_TOKENS_MAX: u64 = 20_000;

/// All a replacement is made of.
#[derive(Debug, Clone, Copy)]
pub struct Layout<'a> {
    /// The history as it was split.
    pub split: &'a Split<'a>,
    /// Prefix and summary, and what else belongs to them: one text.
    pub summary: &'a str,
    /// Context, built fresh.
    pub initial_context: &'a [Value],
    /// Where in a turn.
    pub phase: Phase,
    /// Tokens of requests that are kept, [`USER_TOKENS_MAX`] or less.
    pub user_tokens: u64,
}

/// A replacement, and what became of the requests in it.
#[derive(Debug, Clone)]
pub struct Replaced {
    /// The items.
    pub items: Vec<Value>,
    /// Places in the history of the requests kept whole.
    pub kept: Vec<usize>,
    /// Of those kept cut or with a secret taken out.
    pub shortened: Vec<usize>,
    /// Secrets taken out.
    pub redacted: u64,
}

/// Puts the replacement together.
#[must_use]
pub fn replacement(layout: Layout<'_>) -> Replaced {
    let Layout { split, summary, initial_context, phase, user_tokens } = layout;
    let answered: Vec<&Told<'_>> =
        split.body.iter().filter(|told| told.class == Class::Request).collect();
    let unanswered: Vec<&Told<'_>> = split.unanswered.iter().collect();
    let mut out =
        Replaced { items: Vec::new(), kept: Vec::new(), shortened: Vec::new(), redacted: 0 };
    // What nobody answered is owed whole: it takes its room first.
    let (late, room) = keep_newest(&unanswered, user_tokens, &mut out);
    let (early, _) = keep_newest(&answered, room, &mut out);
    out.items.extend(early);
    let switch = split.model_switch.filter(|_| !brings_model_switch(phase, initial_context));
    let switch = switch.and_then(model_switch_alone);
    let context = switch.into_iter().chain(initial_context.iter().cloned());
    let mid_turn = phase == Phase::MidTurn;
    if mid_turn && late.is_empty() {
        let before_last = out.items.len().saturating_sub(1);
        out.items.splice(before_last..before_last, context.clone());
    }
    out.items.push(message("user", summary));
    let ghost = |raw: &&RawValue| serde_json::from_str::<Value>(raw.get()).ok();
    out.items.extend(split.ghosts.iter().filter_map(ghost));
    if mid_turn && !late.is_empty() {
        out.items.extend(context);
    } else if !mid_turn {
        // The harness adds its context itself, but not these instructions a second time.
        out.items.extend(context.take(usize::from(split.model_switch.is_some())));
    }
    out.items.extend(late);
    out.kept.sort_unstable();
    out.shortened.sort_unstable();
    out
}

/// The newest of `requests` within `room` tokens, in order, the oldest of them cut in its middle; and
/// the room that is left.
fn keep_newest(requests: &[&Told<'_>], mut room: u64, out: &mut Replaced) -> (Vec<Value>, u64) {
    let mut items = Vec::new();
    for told in requests.iter().rev() {
        if room == 0 {
            break;
        }
        let Ok(item) = serde_json::from_str::<Value>(told.raw.get()) else { continue };
        let cost = cost(told);
        let kept = keep_request_within(item, room);
        room = room.saturating_sub(cost);
        out.redacted += u64::from(kept.redacted);
        let whole = !kept.cut && kept.redacted == 0;
        if whole { &mut out.kept } else { &mut out.shortened }.push(told.at);
        items.push(kept.item);
        if kept.cut {
            room = 0;
        }
    }
    items.reverse();
    (items, room)
}

/// Tokens a request takes: its words, and its images at their own price.
fn cost(told: &Told<'_>) -> u64 {
    tokens::of_text(&told.text).max(told.tokens.saturating_sub(ENVELOPE_TOKENS))
}

/// Tokens of the JSON around a message's words, about.
const ENVELOPE_TOKENS: u64 = 30;
