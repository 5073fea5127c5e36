//! What fits into a window, decided without a daemon.

use std::collections::HashSet;

use serde_json::Value;

/// Tokens of an item: its JSON at four bytes each, an upper bound of what providers count.
fn size(item: &Value) -> u64 {
    (item.to_string().len() as u64).div_ceil(4)
}

/// The item; a tool output over `tokens` loses its middle.
pub(super) fn shortened(mut item: Value, tokens: u64) -> Value {
    let whole = size(&item);
    let Some(output) = item["output"].as_str().filter(|_| whole > tokens) else { return item };
    let letters: Vec<char> = output.chars().collect();
    let part = letters.len() as u64 * tokens / whole / 2;
    let half = usize::try_from(part).unwrap_or(usize::MAX).min(letters.len() / 2);
    let (head, tail) = (&letters[..half], &letters[letters.len() - half..]);
    let (head, tail) = (head.iter().collect::<String>(), tail.iter().collect::<String>());
    let left_out = letters.len() - 2 * half;
    item["output"] = format!("{head}\n… {left_out} characters left out …\n{tail}").into();
    item
}

/// As much of a history as fits if it cannot be compacted: the first request, and the newest items, in whole pairs.
pub(super) fn fitting(items: &[Value], tokens: u64) -> Vec<Value> {
    let mut total: u64 = items.iter().map(size).sum();
    if total <= tokens {
        return items.to_vec();
    }
    let first = items.iter().position(|item| item["role"] == "user");
    let mut from = 0;
    while total > tokens && from + 1 < items.len() {
        if Some(from) != first {
            total -= size(&items[from]);
        }
        from += 1;
    }
    let newest = &items[from..];
    let is_call = |item: &&Value| item.get("arguments").or_else(|| item.get("input")).is_some();
    let calls: HashSet<&str> =
        newest.iter().filter(is_call).filter_map(|item| item["call_id"].as_str()).collect();
    let is_whole = |item: &&Value| {
        item.get("output").is_none()
            || item["call_id"].as_str().is_some_and(|id| calls.contains(id))
    };
    let first = first.filter(|first| *first < from).map(|first| &items[first]);
    first.into_iter().chain(newest.iter().filter(is_whole)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_request_and_the_newest_pairs_stay() {
        let words =
            |role: &str, text: &str| json!({ "type": "message", "role": role, "content": text });
        let call = json!({ "type": "function_call", "call_id": "c", "arguments": "{}" });
        let output = json!({ "type": "function_call_output", "call_id": "c", "output": "x" });
        let long = words("assistant", &"It is done. ".repeat(40));
        let items = [words("user", "one"), long, call, output, words("user", "two")];
        let sizes: Vec<u64> = items.iter().map(size).collect();
        assert_eq!(fitting(&items, sizes.iter().sum()), items);
        let kept = fitting(&items, sizes.iter().sum::<u64>() - sizes[1]);
        assert_eq!(kept, [&items[..1], &items[2..]].concat());
        let half = fitting(&items, sizes[0] + sizes[3] + sizes[4]);
        assert_eq!(half, [items[0].clone(), items[4].clone()], "no output without its call");
        assert_eq!(fitting(&items, 0), [items[0].clone(), items[4].clone()]);
    }

    #[test]
    fn a_long_output_loses_its_middle_between_characters() {
        let output =
            json!({ "type": "function_call_output", "output": "\u{1f600}é".repeat(2_000) });
        let cut = shortened(output.clone(), 500);
        assert!(size(&cut) < 560, "{}", size(&cut));
        assert!(cut["output"].as_str().unwrap().starts_with('\u{1f600}'));
        assert_eq!(shortened(output.clone(), size(&output)), output);
    }
}
