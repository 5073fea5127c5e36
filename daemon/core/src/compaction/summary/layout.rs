//! Builds the replacement history from a summary.
//!
//! The order follows Codex: kept requests, then the summary; in the middle of a turn, fresh context before the
//! last real request. Unanswered requests come last.

use serde_json::Value;
use serde_json::value::RawValue;

use super::super::Phase;
use super::super::assemble::{keep_request_within, message};
use super::super::classify::{Class, ClassifiedItem, brings_model_switch, model_switch_alone};
use super::Split;
use crate::tokens;

/// Tokens of requests that are kept verbatim, newest first.
pub const USER_TOKENS_MAX: u64 = 20_000;

#[derive(Debug, Clone, Copy)]
pub struct Layout<'a> {
    pub split: &'a Split<'a>,
    /// Prefix, summary and related text, as one message.
    pub summary: &'a str,
    pub initial_context: &'a [Value],
    pub phase: Phase,
    /// Tokens of kept requests, at most [`USER_TOKENS_MAX`].
    pub user_tokens: u64,
}

/// A replacement and what happened to the requests in it.
#[derive(Debug, Clone, Default)]
pub struct SummaryReplacement {
    pub items: Vec<Value>,
    /// Indexes in the history of requests kept whole.
    pub kept: Vec<usize>,
    /// Indexes of requests kept cut or redacted.
    pub shortened: Vec<usize>,
    pub redacted: u64,
}

pub fn replacement(layout: Layout<'_>) -> SummaryReplacement {
    let Layout { split, summary, initial_context, phase, user_tokens } = layout;
    let answered: Vec<&ClassifiedItem<'_>> =
        split.body.iter().filter(|classified| classified.class == Class::Request).collect();
    let unanswered: Vec<&ClassifiedItem<'_>> = split.unanswered.iter().collect();
    let mut out = SummaryReplacement::default();
    // Unanswered requests must stay whole, so they get their room first.
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
        // The harness adds its own context, but sends these instructions only once.
        out.items.extend(context.take(usize::from(split.model_switch.is_some())));
    }
    out.items.extend(late);
    out.kept.sort_unstable();
    out.shortened.sort_unstable();
    out
}

/// The newest of `requests` within `room` tokens, in order, the oldest of them cut in the middle; and the
/// remaining room.
fn keep_newest(
    requests: &[&ClassifiedItem<'_>],
    mut room: u64,
    out: &mut SummaryReplacement,
) -> (Vec<Value>, u64) {
    let mut items = Vec::new();
    for classified in requests.iter().rev() {
        if room == 0 {
            break;
        }
        let Ok(item) = serde_json::from_str::<Value>(classified.raw.get()) else { continue };
        let cost = cost(classified);
        let kept = keep_request_within(item, room);
        room = room.saturating_sub(cost);
        out.redacted += u64::from(kept.redacted);
        let whole = !kept.cut && kept.redacted == 0;
        if whole { &mut out.kept } else { &mut out.shortened }.push(classified.at);
        items.push(kept.item);
        if kept.cut {
            room = 0;
        }
    }
    items.reverse();
    (items, room)
}

/// Tokens of a request: its text, and its images at their own cost.
fn cost(classified: &ClassifiedItem<'_>) -> u64 {
    tokens::of_text(&classified.text).max(classified.tokens.saturating_sub(ENVELOPE_TOKENS))
}

/// Approximate tokens of the JSON around a message's text.
const ENVELOPE_TOKENS: u64 = 30;
