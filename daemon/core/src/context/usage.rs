//! What fills a window, and remarks on how full it is.

use std::borrow::Cow;
use std::cmp::Reverse;

use super::window::{Window, percent_of};
use crate::item::breakdown::Breakdown;
use crate::text::grouped;
use crate::thread::Source;

/// What the first request had beyond the items.
const INSTRUCTIONS: &str = "instructions_and_tools";
/// What a count has beyond the items and the instructions: chiefly how far the estimates are off.
const NOT_ATTRIBUTED: &str = "not_attributed";

/// The parts of a window that holds `used` tokens, largest first; they add up to `used`. If the estimates are higher than the count,
/// they are scaled down to it.
pub fn parts(items: &Breakdown, overhead: u64, used: u64) -> Vec<(&'static str, u64)> {
    let overhead = overhead.min(used);
    let (room, estimated) = (used - overhead, items.total());
    let scaled = |tokens: u64| {
        let scaled = u128::from(tokens) * u128::from(room) / u128::from(estimated.max(1));
        u64::try_from(scaled).unwrap_or(room).min(tokens)
    };
    let mut parts: Vec<(&'static str, u64)> =
        items.entries().map(|(kind, tokens)| (kind.into_str(), scaled(tokens))).collect();
    let listed = parts.iter().fold(0_u64, |sum, part| sum.saturating_add(part.1));
    let rest = room.saturating_sub(listed);
    let largest = parts.iter_mut().max_by_key(|part| part.1).filter(|_| estimated > room);
    match largest {
        // Scaling rounds down.
        Some(largest) => largest.1 += rest,
        None => parts.push((NOT_ATTRIBUTED, rest)),
    }
    parts.push((INSTRUCTIONS, overhead));
    parts.retain(|part| part.1 > 0);
    parts.sort_by_key(|part| Reverse(part.1));
    parts
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Sizes {
    pub used: u64,
    pub incoming: u64,
    /// The largest single item, in the history or about to be added.
    pub largest: u64,
    /// Parts that no compaction removes: instructions, tools, initial context.
    pub fixed: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    pub kind: &'static str,
    pub message: String,
    pub hint: Cow<'static, str>,
}

/// The setting that states the window of an agent's models. Our own clients are no agent with a table.
pub fn setting(source: Source) -> String {
    match source {
        Source::Longhaul => "context.window_tokens".to_owned(),
        agent => format!("sources.{}.context_window", agent.name()),
    }
}

/// Compares sizes with a window, of a thread of `source`; the most serious remark first.
pub fn remarks(sizes: &Sizes, window: &Window, source: Option<Source>) -> Vec<Remark> {
    let mut remarks = Vec::new();
    let mut remark = |kind, message, hint: &'static str| {
        remarks.push(Remark { kind, message, hint: hint.into() });
    };
    if !window.is_known() {
        let message = "the model's window is unknown, so its use cannot be assessed";
        let hint = match source {
            Some(source) => format!("set {}, or context_window of the request", setting(source)),
            None => "give context_window of the request".to_owned(),
        };
        let message = message.to_owned();
        return vec![Remark { kind: "window_unknown", message, hint: hint.into() }];
    }
    let after = sizes.used.saturating_add(sizes.incoming);
    if after > window.effective {
        let message = format!(
            "{} tokens do not fit into the usable {}",
            grouped(after),
            grouped(window.effective)
        );
        remark("over_window", message, "compact before the next request");
    } else if let Some(trigger) = window.trigger.filter(|trigger| after >= *trigger) {
        let message = format!(
            "{} tokens are at the compaction limit of {}",
            grouped(after),
            grouped(trigger)
        );
        remark("over_trigger", message, "compact now, while a summary still fits");
    }
    let headroom = window.trigger.unwrap_or(window.effective).saturating_sub(sizes.fixed);
    if sizes.largest > headroom {
        let message = format!(
            "one item has {} tokens; even an empty window has room for only {}",
            grouped(sizes.largest),
            grouped(headroom)
        );
        remark("item_over_headroom", message, "truncate it: no compaction can make room for it");
    } else if sizes.incoming > 0 && sizes.largest > headroom.saturating_sub(sizes.used) {
        let message = format!(
            "one item has {} tokens, the room up to the compaction limit is {}",
            grouped(sizes.largest),
            grouped(headroom.saturating_sub(sizes.used))
        );
        remark("item_over_headroom", message, "compact before it is added, or truncate it");
    }
    if let Some(limit) = window.limit_refused {
        let message = format!(
            "the limit of {} is above the usable {} tokens ({} % of the window)",
            grouped(limit),
            grouped(window.effective),
            percent_of(window.effective, window.tokens)
        );
        remark("limit_unreachable", message, "lower it; until then 90 % of the window is used");
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::super::window::{WindowSources, decide};
    use super::*;
    use crate::item::breakdown::ContextKind;

    #[test]
    fn the_parts_of_a_window_add_up_to_its_count() {
        let mut items = Breakdown::of(ContextKind::User, 100);
        items.add(&Breakdown::of(ContextKind::ToolOutputs, 500));
        let (user, outputs) = (("user", 100), ("tool_outputs", 500));
        let instructions = (INSTRUCTIONS, 900);
        for (overhead, used, expected) in [
            (900, 1_500, vec![instructions, outputs, user]),
            (900, 1_510, vec![instructions, outputs, user, (NOT_ATTRIBUTED, 10)]),
            (0, 700, vec![outputs, user, (NOT_ATTRIBUTED, 100)]),
            (900, 1_000, vec![instructions, ("tool_outputs", 84), ("user", 16)]),
            (900, 800, vec![(INSTRUCTIONS, 800)]),
            (0, 0, vec![]),
        ] {
            let found = parts(&items, overhead, used);
            assert_eq!(found, expected, "{used}");
            assert_eq!(found.iter().map(|part| part.1).sum::<u64>(), used);
        }
    }

    fn kinds(sizes: Sizes, limit: Option<u64>) -> Vec<&'static str> {
        let known =
            WindowSources { asked: Some(100), limit_asked: limit, ..WindowSources::default() };
        remarks(&sizes, &decide(&known), None).into_iter().map(|remark| remark.kind).collect()
    }

    #[test]
    fn an_unknown_window_names_the_setting_of_its_agent() {
        let unknown = decide(&WindowSources::default());
        let hint = |source| remarks(&Sizes::default(), &unknown, source).remove(0).hint;
        assert!(hint(Some(Source::Claude)).starts_with("set sources.claude.context_window, or"));
        assert!(hint(Some(Source::Longhaul)).starts_with("set context.window_tokens, or"));
        assert!(!hint(None).contains("set "));
    }

    #[test]
    fn remarks_appear_at_a_windows_limits() {
        let used = |used| Sizes { used, ..Sizes::default() };
        assert_eq!(kinds(used(89), None), [""; 0]);
        assert_eq!(kinds(used(90), None), ["over_trigger"]);
        assert_eq!(kinds(used(91), Some(200)), ["over_trigger", "limit_unreachable"]);
        assert_eq!(kinds(used(95), None), ["over_trigger"], "it just fits");
        assert_eq!(kinds(used(96), None), ["over_window"]);
        assert_eq!(kinds(used(94), Some(0)), [""; 0], "switched off");
    }

    #[test]
    fn incoming_text_counts_before_the_request() {
        let sizes = Sizes { used: 80, incoming: 30, largest: 30, fixed: 5 };
        assert_eq!(kinds(sizes, None), ["over_window", "item_over_headroom"]);
        let room = |incoming| Sizes { used: 20, incoming, largest: incoming, fixed: 15 };
        assert_eq!(kinds(room(55), None), [""; 0], "it just fits");
        assert_eq!(kinds(room(56), None), ["item_over_headroom"]);
    }

    #[test]
    fn an_item_larger_than_an_empty_window_is_reported() {
        let sizes = Sizes { used: 20, largest: 80, fixed: 15, ..Sizes::default() };
        assert_eq!(kinds(sizes, None), ["item_over_headroom"]);
        assert_eq!(kinds(Sizes { largest: 75, ..sizes }, None), [""; 0], "it just fits");
        assert_eq!(kinds(Sizes { largest: 76, ..sizes }, None), ["item_over_headroom"]);
    }
}
