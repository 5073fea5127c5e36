//! The remote strategy: a provider's own compaction, and the parts of its answer to keep.
//!
//! Follows Codex's remote compaction, with two differences: an answer without exactly one compaction item is a
//! typed reason to try the next strategy rather than the end of the turn; and our checkpoint is kept next to
//! the encrypted item, since only its provider can read that.

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::Phase;
use super::classify::{Class, ClassifiedItem, class_of_item, classify};
use super::summary::clean;
use crate::model::{Fault, FaultKind};

/// Tokens of messages to keep next to the compaction item, newest first.
pub const MESSAGES_TOKENS_MAX: u64 = 64_000;

/// The item that requests a compaction at the end of an ordinary request.
pub fn trigger() -> Box<RawValue> {
    RawValue::from_string(r#"{"type":"compaction_trigger"}"#.to_owned()).unwrap_or_default()
}

/// A history in the form it is sent.
#[derive(Debug, Clone)]
pub struct TrimmedHistory {
    pub items: Vec<Box<RawValue>>,
    pub redacted: u64,
    /// Indexes of outputs that were replaced by a note, in order.
    pub left_out: Vec<usize>,
}

/// The items to send, redacted. If the input exceeds `most` tokens, tool outputs are replaced by a note from the
/// newest end on; their call ids stay, so pairs remain whole.
///
/// Unlike Codex it skips items that cannot shrink instead of stopping there.
pub fn trimmed(classified: &[ClassifiedItem<'_>], most: u64) -> TrimmedHistory {
    let mut over =
        classified.iter().map(|classified| classified.tokens).sum::<u64>().saturating_sub(most);
    let cleaned = classified.iter().map(|classified| clean(classified.raw));
    let (mut items, hits): (Vec<_>, Vec<u64>) = cleaned.unzip();
    let mut left_out = Vec::new();
    for (index, classified) in classified.iter().enumerate().rev() {
        if over == 0 {
            break;
        }
        if classified.class != Class::Output || classified.tokens < NOTE_TOKENS {
            continue;
        }
        let Ok(mut item) = serde_json::from_str::<Value>(classified.raw.get()) else { continue };
        item["output"] = json!(NOTE);
        if let Ok(raw) = serde_json::value::to_raw_value(&item) {
            over = over.saturating_sub(classified.tokens.saturating_sub(NOTE_TOKENS));
            items[index] = raw;
            left_out.push(index);
        }
    }
    left_out.reverse();
    TrimmedHistory { items, redacted: hits.iter().sum(), left_out }
}

/// Replaces an output that was omitted from a request.
const NOTE: &str = "(left out: the history is larger than the model's window)";

/// Approximate tokens of an output that is only [`NOTE`].
const NOTE_TOKENS: u64 = 40;

/// Builds the history from a provider's answer.
///
/// For a unary answer (`sent` empty) the messages are the provider's; for a streamed one, those that were sent.
/// Keeps requests of the person, earlier summaries and the model's messages; drops the harness's context, which
/// is rebuilt. The newest messages stay, within `room` tokens and [`MESSAGES_TOKENS_MAX`]. Fails with
/// [`FaultKind::Unreadable`] unless there is exactly one compaction item and it is not empty.
pub fn accepted(
    answer: &[Box<RawValue>],
    sent: Option<&[Box<RawValue>]>,
    mut room: u64,
) -> Result<Vec<Value>, Fault> {
    let classified = classify(answer);
    let opaque: Vec<&ClassifiedItem<'_>> =
        classified.iter().filter(|classified| classified.class == Class::Opaque).collect();
    let [compaction] = opaque.as_slice() else {
        let (found, all) = (opaque.len(), answer.len());
        let detail = format!("expected one compaction item, got {found} among {all} items");
        return Err(Fault::new(FaultKind::Unreadable, &detail));
    };
    let value = |raw: &RawValue| serde_json::from_str::<Value>(raw.get()).unwrap_or_default();
    let last = value(compaction.raw);
    if last["encrypted_content"].as_str().is_none_or(str::is_empty) {
        return Err(Fault::new(FaultKind::Unreadable, "the compaction item holds nothing"));
    }
    let of_sent = sent.map(classify);
    let messages = of_sent.as_deref().unwrap_or(&classified);
    let mut items: Vec<Value> = messages
        .iter()
        .rev()
        .filter(|classified| is_kept(classified.class, sent.is_some()))
        .take_while(|classified| {
            let fits = classified.tokens <= room;
            room = room.saturating_sub(classified.tokens.max(1));
            fits
        })
        .map(|classified| value(classified.raw))
        .collect();
    items.reverse();
    items.push(last);
    Ok(items)
}

/// Inserts `view` and `context` into an accepted history. The encrypted item stays last. In the middle of a
/// turn, the context goes before the last real request, else before the newest summary, else before the view.
pub fn installed(
    mut history: Vec<Value>,
    view: Value,
    context: Vec<Value>,
    phase: Phase,
) -> Vec<Value> {
    let opaque = history.pop();
    let last = |class| history.iter().rposition(|item| class_of_item(item) == class);
    let at = match phase {
        Phase::MidTurn => last(Class::Request).or_else(|| last(Class::Summary)),
        _ => None,
    };
    let at = at.unwrap_or(history.len());
    history.splice(at..at, context);
    history.push(view);
    history.extend(opaque);
    history
}

fn is_kept(class: Class, streamed: bool) -> bool {
    match class {
        Class::Request | Class::Summary => true,
        Class::Assistant => !streamed,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::assemble::message;
    use super::*;

    fn raw(items: &[Value]) -> Vec<Box<RawValue>> {
        items.iter().map(|item| serde_json::value::to_raw_value(item).unwrap()).collect()
    }

    fn opaque(content: &str) -> Value {
        json!({"type":"compaction","encrypted_content":content})
    }

    #[test]
    fn exactly_one_compaction_item_is_required_and_other_items_are_ignored() {
        let sent = raw(&[message("user", "go"), message("developer", "rules")]);
        let check = |answer: &[Value]| {
            accepted(&raw(answer), Some(&sent), MESSAGES_TOKENS_MAX)
                .map(|items| items.len())
                .map_err(|f| f.detail)
        };
        assert_eq!(check(&[opaque("abc")]), Ok(2));
        assert_eq!(check(&[message("assistant", "hm"), opaque("abc")]), Ok(2));
        let none = "expected one compaction item, got 0 among 0 items";
        assert_eq!(check(&[]), Err(none.to_owned()));
        let two = "expected one compaction item, got 2 among 2 items";
        assert_eq!(check(&[opaque("a"), opaque("b")]), Err(two.to_owned()));
        assert_eq!(check(&[opaque("")]), Err("the compaction item holds nothing".to_owned()));
    }

    #[test]
    fn a_unary_answer_drops_harness_context_and_keeps_messages_and_summaries() {
        let answer = raw(&[
            message("developer", "old rules"),
            message("user", "<environment_context>\nold"),
            message("user", "<turn_aborted>\nx"),
            message("user", "go"),
            message("user", "[HANDOFF_SUMMARY v1]\nolder"),
            message("assistant", "done"),
            json!({"type":"function_call","name":"x","arguments":"{}","call_id":"c"}),
            opaque("abc"),
        ]);
        let items = accepted(&answer, None, MESSAGES_TOKENS_MAX).unwrap();
        let words: Vec<_> = items
            .iter()
            .map(|item| item.pointer("/content/0/text").and_then(Value::as_str))
            .collect();
        let summary = "[HANDOFF_SUMMARY v1]\nolder";
        assert_eq!(words, [Some("go"), Some(summary), Some("done"), None]);
        assert_eq!(items[3], opaque("abc"));
    }

    #[test]
    fn mid_turn_context_goes_before_the_last_request_else_the_summary_else_the_view() {
        let (view, opaque) = (message("user", "[SESSION_CHECKPOINT v1]\nV"), opaque("abc"));
        let put = |history: &[Value], phase| {
            let history = history.iter().cloned().chain([opaque.clone()]).collect();
            let made = installed(history, view.clone(), vec![message("developer", "rules")], phase);
            assert_eq!(made.last(), Some(&opaque), "the opaque item stays last");
            let words = |item: &Value| item["content"][0]["text"].as_str().map(str::to_owned);
            made.iter().filter_map(words).collect::<Vec<_>>()
        };
        let view = "[SESSION_CHECKPOINT v1]\nV";
        let summary = message("user", "[HANDOFF_SUMMARY v1]\nS");
        let (one, two) = (message("user", "one"), message("user", "two"));
        let mid = Phase::MidTurn;
        assert_eq!(put(&[one.clone(), two.clone()], mid), ["one", "rules", "two", view]);
        assert_eq!(
            put(std::slice::from_ref(&summary), mid),
            ["rules", "[HANDOFF_SUMMARY v1]\nS", view]
        );
        assert_eq!(put(&[], mid), ["rules", view]);
        let done = message("assistant", "done");
        assert_eq!(put(&[one.clone(), done.clone()], mid), ["rules", "one", "done", view]);
        let words = ["rules", "[HANDOFF_SUMMARY v1]\nS", "done", view];
        assert_eq!(put(&[summary, done], mid), words);
        assert_eq!(put(&[one, two], Phase::PreTurn), ["one", "two", "rules", view]);
    }

    #[test]
    fn messages_are_kept_newest_first_within_their_bound() {
        let long = message("user", &"word ".repeat(30_000));
        let sent = raw(&[message("user", "oldest"), long.clone(), long, message("user", "newest")]);
        let items = accepted(&raw(&[opaque("abc")]), Some(&sent), MESSAGES_TOKENS_MAX).unwrap();
        assert_eq!(items.len(), 3, "one long, the newest, the compaction");
        assert_eq!(items[1]["content"][0]["text"], "newest");
    }

    #[test]
    fn trimming_skips_untrimmable_items_and_keeps_pairs() {
        let call =
            |id: &str| json!({"type":"function_call","name":"x","arguments":"{}","call_id":id});
        let output = |id: &str| json!({"type":"function_call_output","call_id":id,"output":"x".repeat(40_000)});
        let items = raw(&[
            message("user", "go"),
            call("a"),
            output("a"),
            call("b"),
            output("b"),
            message("user", "on"),
        ]);
        let classified = classify(&items);
        let sent = trimmed(&classified, 12_000);
        assert_eq!(sent.left_out, [4], "and what is left out is reported");
        let fits = sent.items;
        assert_eq!(fits.len(), items.len());
        assert_eq!(fits[2].get(), items[2].get(), "the older output still fits");
        assert!(fits[4].get().contains("left out") && fits[4].get().contains("\"b\""));
        assert!(trimmed(&classified, 100).items.iter().all(|item| item.get().len() < 300));
    }

    #[test]
    fn only_outputs_that_become_smaller_are_trimmed() {
        let output = |id: &str, text: &str| json!({"type":"function_call_output","call_id":id,"output":text});
        let long = "x".repeat(40_000);
        let items = raw(&[output("a", &long), output("b", "ok"), message("user", &long)]);
        let sent = trimmed(&classify(&items), 100);
        assert_eq!(sent.left_out, [0]);
        assert_eq!(sent.items[1].get(), items[1].get(), "a note would be longer");
        assert_eq!(sent.items[2].get(), items[2].get(), "a request is no output");
    }
}
