//! Remarks on how full a window is.

use super::window::{Window, percent_of};

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
    pub hint: &'static str,
}

/// Compares sizes with a window; the most serious remark first.
pub fn remarks(sizes: &Sizes, window: &Window) -> Vec<Remark> {
    let mut remarks = Vec::new();
    let mut remark = |kind, message, hint| remarks.push(Remark { kind, message, hint });
    if !window.is_known() {
        let message = "the model's window is unknown, so its use cannot be assessed";
        let hint = "set sources.NAME.context_window, or context_window of the request";
        remark("window_unknown", message.to_owned(), hint);
        return remarks;
    }
    let after = sizes.used.saturating_add(sizes.incoming);
    if after > window.effective {
        let message = format!("{after} tokens do not fit into the usable {}", window.effective);
        remark("over_window", message, "compact before the next request");
    } else if let Some(trigger) = window.trigger.filter(|trigger| after >= *trigger) {
        let message = format!("{after} tokens are at the compaction limit of {trigger}");
        remark("over_trigger", message, "compact now, while a summary still fits");
    }
    let headroom = window.trigger.unwrap_or(window.effective).saturating_sub(sizes.fixed);
    if sizes.largest > headroom {
        let message = format!(
            "one item has {} tokens; even an empty window has room for only {headroom}",
            sizes.largest
        );
        remark("item_over_headroom", message, "truncate it: no compaction can make room for it");
    } else if sizes.incoming > 0 && sizes.largest > headroom.saturating_sub(sizes.used) {
        let message = format!(
            "one item has {} tokens, the room up to the compaction limit is {}",
            sizes.largest,
            headroom.saturating_sub(sizes.used)
        );
        remark("item_over_headroom", message, "compact before it is added, or truncate it");
    }
    if let Some(limit) = window.limit_refused {
        let message = format!(
            "the limit of {limit} is above the usable {} tokens ({} % of the window)",
            window.effective,
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

    fn kinds(sizes: Sizes, limit: Option<u64>) -> Vec<&'static str> {
        let known =
            WindowSources { asked: Some(100), limit_asked: limit, ..WindowSources::default() };
        remarks(&sizes, &decide(&known)).into_iter().map(|remark| remark.kind).collect()
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
