//! Builds the replacement history from a view and a request.

use serde_json::{Value, json};

use super::Phase;
use crate::redact::redact;
use crate::rollout::contextual;
use crate::{text, tokens};

/// Tokens of the request that are kept verbatim.
pub const REQUEST_TOKENS_MAX: u64 = 20_000;

/// The request in the form that the replacement contains.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptRequest {
    pub item: Value,
    pub cut: bool,
    pub redacted: u32,
}

#[derive(Debug, Clone, Copy)]
pub struct Parts<'a> {
    /// Explains the view to the model.
    pub guide: &'a str,
    pub view: &'a str,
    /// Snapshots of files that a history holds for its program; no model sees them.
    pub ghosts: &'a [Value],
    /// Instructions of a newly selected model: the harness sends them only once.
    pub model_switch: Option<&'a Value>,
    pub request: Option<&'a KeptRequest>,
    /// Context that the harness always rebuilds.
    pub initial_context: &'a [Value],
}

/// Assembles the replacement: the view, then instructions of a newly selected model and, in the middle
/// of a turn, the initial context, then the request.
pub fn replacement(parts: Parts<'_>, phase: Phase) -> Vec<Value> {
    let mut items = vec![message("user", &format!("{}\n\n{}", parts.guide.trim_end(), parts.view))];
    items.extend_from_slice(parts.ghosts);
    items.extend(parts.model_switch.cloned());
    if phase == Phase::MidTurn {
        items.extend_from_slice(parts.initial_context);
    }
    items.extend(parts.request.map(|request| request.item.clone()));
    items
}

/// Prepares a user message for the replacement: redacts secrets and cuts the middle of text over
/// [`REQUEST_TOKENS_MAX`]. Other parts, such as images, stay unchanged.
pub fn keep_request(item: Value) -> KeptRequest {
    keep_request_within(item, REQUEST_TOKENS_MAX)
}

/// Same as [`keep_request`], within `max_tokens`.
pub fn keep_request_within(mut item: Value, max_tokens: u64) -> KeptRequest {
    let (mut cut, mut redacted) = (false, 0);
    let mut room = tokens::bytes_of(max_tokens);
    let parts = item.get_mut("content").and_then(Value::as_array_mut);
    for part in parts.into_iter().flatten() {
        let Some(Value::String(words)) = part.get_mut("text") else { continue };
        let clean = redact(words);
        redacted += clean.hits;
        let kept = text::cut_middle(&clean.text, room).into_owned();
        cut |= kept.len() < clean.text.len();
        room -= kept.len().min(room);
        *words = kept;
    }
    // The id names the stored original, which may now differ.
    if let Some(fields) = item.as_object_mut() {
        fields.remove("id");
    }
    KeptRequest { item, cut, redacted }
}

/// A custom text above a summary or view. Adds `opening` unless the text already has the mark by which the next
/// compaction recognizes that it is not a request.
pub fn marked(opening: &str, words: &str) -> String {
    match contextual::is_summary(words) {
        true => words.to_owned(),
        false => format!("{opening}\n{words}"),
    }
}

pub fn message(role: &str, words: &str) -> Value {
    let kind = if role == "assistant" { "output_text" } else { "input_text" };
    json!({ "type": "message", "role": role, "content": [{ "type": kind, "text": words }] })
}

pub fn estimate<'a>(items: impl IntoIterator<Item = &'a Value>) -> u64 {
    items.into_iter().map(|item| crate::rollout::codex::estimate(&item.to_string())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_request_share_its_room() {
        let part = |letter: &str| json!({"type": "input_text", "text": letter.repeat(300)});
        let item = json!({"type": "message", "role": "user", "content": [part("a"), part("b")]});
        let kept = keep_request_within(item, 100);
        let text = |at: usize| kept.item["content"][at]["text"].as_str().unwrap_or_default();
        assert_eq!(text(0), "a".repeat(300));
        assert!(text(1).len() <= 100 && text(1).contains("bb"), "{}", text(1));
        assert!(kept.cut);
    }

    #[test]
    fn the_request_comes_last_and_context_before_it_in_mid_turn_only() {
        let context = [message("developer", "rules")];
        let request = keep_request(message("user", "fix it"));
        let ghost = json!({"type": "ghost_snapshot"});
        let parts = Parts {
            ghosts: &[ghost],
            guide: "g",
            view: "v",
            model_switch: None,
            request: Some(&request),
            initial_context: &context,
        };
        let roles = |phase| {
            let items = replacement(parts, phase);
            items.iter().filter_map(|i| i["role"].as_str().map(str::to_owned)).collect::<Vec<_>>()
        };
        assert_eq!(roles(Phase::MidTurn), ["user", "developer", "user"]);
        assert_eq!(roles(Phase::PreTurn), ["user", "user"]);
        let items = replacement(parts, Phase::Standalone);
        assert_eq!(items[1]["type"], "ghost_snapshot");
        assert_eq!(items[2]["content"][0]["text"], "fix it");
    }

    #[test]
    fn a_custom_text_is_marked_once_so_that_it_is_no_request() {
        let opening = "[HANDOFF_SUMMARY v1]";
        let once = marked(opening, "Go on with this.");
        assert_eq!(once, "[HANDOFF_SUMMARY v1]\nGo on with this.");
        assert!(contextual::is_summary(&once));
        assert_eq!(marked(opening, &once), once);
    }

    #[test]
    fn only_the_models_own_text_is_output() {
        for (role, kind) in
            [("user", "input_text"), ("developer", "input_text"), ("assistant", "output_text")]
        {
            assert_eq!(message(role, "x")["content"][0]["type"], kind, "{role}");
        }
    }

    #[test]
    fn a_history_costs_as_much_as_its_items() {
        let items = [message("user", &"word ".repeat(800)), message("assistant", "done")];
        let whole = estimate(&items);
        assert_eq!(whole, estimate(&items[..1]) + estimate(&items[1..]));
        assert!(whole >= 1_000, "four bytes a token: {whole}");
    }

    #[test]
    fn a_huge_request_is_cut_and_says_so() {
        let kept = keep_request(message("user", &"word ".repeat(40_000)));
        assert!(kept.cut);
        assert!(estimate(&[kept.item]) <= REQUEST_TOKENS_MAX + 50);
        assert!(!keep_request(message("user", "short")).cut);
    }
}
