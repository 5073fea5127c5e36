//! Repeated compaction of a history that only its client stores.
//!
//! The next history begins with the view of the last one. Folding only its text would lose a little each time,
//! so the view names its compaction, and the fold continues from the state saved with it.
use serde_json::Value;

use super::classify::{Class, class_of_item};
use crate::checkpoint::view::HEADER;
use crate::rollout::contextual;

/// Precedes the compaction id in the header of a view.
const NAMES: &str = "thread=";

/// The id in the header of the newest view among `items`, if it begins with `prefix`.
pub fn earlier<'a>(items: &'a [Value], prefix: &str) -> Option<&'a str> {
    items.iter().rev().find_map(|item| {
        let words = texts(item).find(|words| contextual::is_summary(words))?;
        let (_, below) = words.rsplit_once(&format!("{HEADER}\n{NAMES}"))?;
        let id = below.split(char::is_whitespace).next()?;
        id.starts_with(prefix).then_some(id)
    })
}

/// Marks the `items` that come from the compaction whose output was `made`: each of those at most once, and
/// everything that looks like a summary, since a client may have cut it.
pub fn carried(items: &[Value], made: &[Value]) -> Vec<bool> {
    let mut left: Vec<&Value> = made.iter().collect();
    let is_carried = |item: &Value| match left.iter().position(|made| says_the_same(made, item)) {
        Some(at) => {
            left.swap_remove(at);
            true
        }
        None => texts(item).any(contextual::is_summary),
    };
    items.iter().map(is_carried).collect()
}

/// The newest request of the person among the items at `among`.
pub fn newest_request(items: &[Value], among: &[usize]) -> Option<usize> {
    let is_request =
        |at: &usize| items.get(*at).is_some_and(|item| class_of_item(item) == Class::Request);
    among.iter().copied().filter(is_request).max()
}

/// Clients add ids and omit empty fields, so items are compared by content.
fn says_the_same(one: &Value, other: &Value) -> bool {
    let same = |name: &str| one.get(name) == other.get(name);
    same("type") && same("role") && same("encrypted_content") && texts(one).eq(texts(other))
}

fn texts(item: &Value) -> impl Iterator<Item = &str> {
    let parts = item.get("content").and_then(Value::as_array);
    let plain = item.get("content").and_then(Value::as_str);
    let parts = parts.into_iter().flatten().filter_map(|part| part.get("text")?.as_str());
    plain.into_iter().chain(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compaction::assemble::message;

    fn view(id: &str) -> Value {
        let guide = "The conversation so far was compacted. Below is a checkpoint.";
        message("user", &format!("{guide}\n\n{HEADER}\nthread={id} cwd=/w\n\n[TASK]\n- x"))
    }

    #[test]
    fn the_newest_view_names_the_compaction_to_continue() {
        let items = [view("cmp_1"), message("user", "go"), view("cmp_2"), message("user", "on")];
        assert_eq!(earlier(&items, "cmp_"), Some("cmp_2"));
        assert_eq!(earlier(&items[..2], "cmp_"), Some("cmp_1"));
        assert_eq!(earlier(&[view("0199-thread")], "cmp_"), None);
        let quoted = message("user", &format!("what is {HEADER}\nthread=cmp_9 ?"));
        assert_eq!(earlier(&[quoted], "cmp_"), None, "words of a person are not a view");
    }

    #[test]
    fn items_of_a_compaction_are_distinguished_from_later_ones() {
        let made = [view("cmp_1"), message("user", "fix it")];
        let mut sent = view("cmp_1");
        sent["id"] = "msg_1".into();
        let items =
            [sent, message("user", "fix it"), message("user", "fix it"), message("user", "b")];
        assert_eq!(carried(&items, &made), [true, true, false, false]);
        assert_eq!(carried(&items, &[]), [true, false, false, false]);
        let opaque =
            |content: &str| serde_json::json!({"type": "compaction", "encrypted_content": content});
        let other =
            [message("user", "b"), message("developer", "fix it"), opaque("x"), opaque("abc")];
        let made = [message("user", "fix it"), opaque("abc")];
        assert_eq!(carried(&other, &made), [false, false, false, true]);
        assert_eq!(newest_request(&items, &[0, 1]), Some(1));
        assert_eq!(newest_request(&items, &[0]), None, "a view is none");
    }
}
