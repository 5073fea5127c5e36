//! Whether a replacement may be installed.

use serde_json::Value;

/// Minimum reduction by a replacement, in percent of the history before.
pub const GAIN_PERCENT_MIN: u64 = 10;

/// Maximum percent of the window a replacement may fill: a fuller one would soon be compacted again.
pub const CEILING_PERCENT: u64 = 50;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    pub before: u64,
    pub after: u64,
    /// The whole window of the next model.
    pub window: u64,
}

/// Maximum tokens of a replacement in a window of `window`.
pub fn ceiling(window: u64) -> u64 {
    window / 100 * CEILING_PERCENT
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Flaw {
    Empty,
    RequestMissing,
    /// A call without its output, or vice versa.
    PairBroken,
    /// The reduction is below [`GAIN_PERCENT_MIN`].
    #[strum(serialize = "not_worthwhile")]
    TooLarge,
    /// It would fill the window beyond [`CEILING_PERCENT`].
    OverCeiling,
}

/// Checks a replacement against the original history and returns the first flaw; `request` is the active
/// request as it is kept. [`Flaw::TooLarge`] is harmless: the history was already small.
pub fn check(items: &[Value], request: Option<&Value>, sizes: Sizes) -> Result<(), Flaw> {
    let Sizes { before, after, window } = sizes;
    if items.is_empty() {
        return Err(Flaw::Empty);
    }
    if request.is_some_and(|request| !items.iter().any(|item| says(item) == says(request))) {
        return Err(Flaw::RequestMissing);
    }
    if !pairs_match(items) {
        return Err(Flaw::PairBroken);
    }
    if after.saturating_mul(100) > before.saturating_mul(100 - GAIN_PERCENT_MIN) {
        return Err(Flaw::TooLarge);
    }
    if after > ceiling(window) {
        return Err(Flaw::OverCeiling);
    }
    Ok(())
}

/// The content of a user message.
fn says(item: &Value) -> Option<&Value> {
    item.get("content").filter(|_| item["role"] == "user")
}

fn pairs_match(items: &[Value]) -> bool {
    let ids = |suffix: &str| {
        let mut ids: Vec<&str> = items
            .iter()
            .filter(|item| item["type"].as_str().is_some_and(|kind| kind.ends_with(suffix)))
            .filter_map(|item| item["call_id"].as_str())
            .collect();
        ids.sort_unstable();
        ids
    };
    ids("_call") == ids("_call_output")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compaction::assemble::message;
    use serde_json::json;

    #[test]
    fn flaws_are_named() {
        let request = message("user", "fix it");
        let wanted = request.clone();
        let call = json!({"type": "function_call", "call_id": "c"});
        let output = json!({"type": "function_call_output", "call_id": "c"});
        let assistant = message("assistant", "done");
        for (items, sizes, expected) in [
            (vec![], (100, 10), Err(Flaw::Empty)),
            (vec![assistant], (100, 10), Err(Flaw::RequestMissing)),
            (vec![message("user", "build it")], (100, 10), Err(Flaw::RequestMissing)),
            (vec![message("developer", "fix it")], (100, 10), Err(Flaw::RequestMissing)),
            (vec![call.clone(), request.clone()], (100, 10), Err(Flaw::PairBroken)),
            (vec![call, output, request.clone()], (100, 10), Ok(())),
            (vec![request.clone()], (100, 91), Err(Flaw::TooLarge)),
            (vec![request.clone()], (100, 90), Ok(())),
            (vec![request.clone()], (300, 100), Ok(())),
            (vec![request], (300, 101), Err(Flaw::OverCeiling)),
        ] {
            let (before, after) = sizes;
            let sizes = Sizes { before, after, window: 200 };
            assert_eq!(check(&items, Some(&wanted), sizes), expected, "{items:?}");
        }
    }
}
