//! Estimates and counts the tokens of items in a context window.

use std::borrow::Cow;

use super::tokenizer::Tokenizer;
use crate::item::breakdown::{Breakdown, ContextKind};
use crate::rollout::{Item, codex, weigh};
use crate::tokens;

/// Tokens counted around each item by a real tokenizer: role, kind, separators.
///
/// # Source
/// Chosen: chat formats spend three to four tokens a message on them.
const ITEM_TOKENS: u64 = 4;

/// Estimates items by their size (rules of [`crate::tokens`]). The estimate of several items is the
/// sum of their estimates.
pub fn of_items<'a>(items: impl IntoIterator<Item = &'a str>) -> Breakdown {
    items.into_iter().map(codex::breakdown).fold(Breakdown::default(), |mut sum, breakdown| {
        sum.add(&breakdown);
        sum
    })
}

/// Tokens of a text, by its size or with a tokenizer.
pub fn of_text(text: &str, tokenizer: Option<Tokenizer>) -> u64 {
    tokenizer.map_or_else(|| tokens::of_text(text), |tokenizer| tokenizer.count(text))
}

/// The item without insignificant white space, as it is sent; sizes refer to this form. Key order and
/// number formatting are kept.
pub fn compact(item: &str) -> Cow<'_, str> {
    let bytes = item.as_bytes();
    let (mut kept, mut from, mut at) = (String::new(), 0, 0);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => at = end_of_string(bytes, at),
            b' ' | b'\t' | b'\r' | b'\n' => {
                kept.push_str(&item[from..at]);
                at += 1;
                from = at;
            }
            _ => at += 1,
        }
    }
    match from {
        0 => Cow::Borrowed(item),
        _ => Cow::Owned(kept + &item[from..]),
    }
}

/// The offset after the string that begins at `start`.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(found) = memchr::memchr2(b'"', b'\\', bytes.get(at..).unwrap_or_default()) {
        at += found;
        if bytes[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    bytes.len()
}

/// Counts an item with a real tokenizer: its decoded text, since a model does not see escapes. Images and encrypted
/// payloads are estimated by their size.
pub fn count_item(json: &str, tokenizer: Tokenizer) -> Breakdown {
    let Some((item, _)) = codex::read_item(json) else {
        return Breakdown::of(ContextKind::Other, tokenizer.count(json));
    };
    let text: Cow<'_, str> = match &item {
        Item::Invisible => return Breakdown::default(),
        Item::Reasoning { encrypted: Some(_), .. } | Item::Opaque { encrypted: 1.. } => {
            return codex::breakdown(json);
        }
        Item::Reasoning { .. } | Item::Opaque { .. } | Item::Other { .. } => Cow::Borrowed(json),
        Item::Message { text, .. } | Item::Output { text, .. } => Cow::Borrowed(text),
        Item::Call(call) => Cow::Owned(format!("{}\n{}", call.name, call.arguments)),
    };
    let images = match &item {
        Item::Message { images, .. } | Item::Output { images, .. } => images.cost,
        _ => 0,
    };
    let counted = tokenizer.count(&text) + ITEM_TOKENS + tokens::of_bytes(images);
    weigh::weigh(&item, counted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(item: &str, expected: u64) {
        assert_eq!(of_items([item]).total(), expected, "{item}");
    }

    #[test]
    fn an_item_costs_a_quarter_of_its_bytes_rounded_up() {
        let item =
            r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}"#;
        check(item, (item.len() as u64).div_ceil(4));
        check("{}", 1);
        check("no json", 2);
    }

    #[test]
    fn insignificant_white_space_is_removed() {
        for (given, compacted) in [
            (r#"{"a":1}"#, r#"{"a":1}"#),
            ("{ \"b\" : [1,\n  2 ],\t\"a\": 1.50 }\n", r#"{"b":[1,2],"a":1.50}"#),
            (r#"{ "t": "a \" b\\" , "u":" " }"#, r#"{"t":"a \" b\\","u":" "}"#),
            (r#"{"n": 12345678901234567890123}"#, r#"{"n":12345678901234567890123}"#),
            ("\"open", "\"open"),
        ] {
            assert_eq!(compact(given), compacted);
        }
        assert!(matches!(compact("[1,2]"), Cow::Borrowed(_)));
    }

    #[test]
    fn an_items_own_id_is_not_sent_and_costs_nothing() {
        let plain = r#"{"type":"message","role":"user","content":"hello there"}"#;
        let named =
            r#"{"type":"message","id":"msg_0123456789","role":"user","content":"hello there"}"#;
        assert_eq!(of_items([plain]), of_items([named]));
    }

    #[test]
    fn encrypted_payloads_cost_their_text_and_short_ones_nothing() {
        let item = |kind: &str, chars: usize| {
            let payload = "A".repeat(chars);
            format!(
                r#"{{"type":"{kind}","summary":[{{"text":"left out"}}],"encrypted_content":"{payload}"}}"#
            )
        };
        for kind in ["reasoning", "compaction", "context_compaction"] {
            check(&item(kind, 866), 0);
            check(&item(kind, 10_000), 1_713);
        }
        let plain = r#"{"type":"reasoning","summary":[{"type":"summary_text","text":"thinking"}]}"#;
        check(plain, (plain.len() as u64).div_ceil(4));
    }

    #[test]
    fn an_inline_image_costs_a_fixed_size_instead_of_its_payload() {
        let part = |payload: &str| {
            format!(r#"{{"type":"input_image","image_url":"data:image/png;base64,{payload}"}}"#)
        };
        let message = |parts: &[String]| {
            format!(r#"{{"type":"message","role":"user","content":[{}]}}"#, parts.join(","))
        };
        let long = "A".repeat(40_000);
        let bare = message(&[part("")]).len() as u64;
        check(&message(&[part(&long)]), (bare + 7_373).div_ceil(4));
        let bare = message(&[part(""), part("")]).len() as u64;
        check(&message(&[part(&long), part(&long)]), (bare + 2 * 7_373).div_ceil(4));
        let output = format!(
            r#"{{"type":"function_call_output","call_id":"c","output":[{}]}}"#,
            part(&long)
        );
        check(&output, (output.len() as u64 - 40_000 + 7_373).div_ceil(4));
    }

    #[test]
    fn other_images_are_counted_as_text() {
        for url in [
            "https://example.com/a.png",
            "file:///home/user/a.png",
            "data:image/svg+xml,<svg/>",
            "data:application/octet-stream;base64,AAAAAAAAAAAAAAAA",
        ] {
            let item = format!(
                r#"{{"type":"message","role":"user","content":[{{"type":"input_image","image_url":"{url}"}}]}}"#
            );
            check(&item, (item.len() as u64).div_ceil(4));
        }
    }

    #[test]
    fn tokens_are_split_by_kind_of_content() {
        let items = [
            r#"{"type":"message","role":"developer","content":"<permissions instructions>x"}"#,
            r#"{"type":"message","role":"developer","content":"be brief"}"#,
            r#"{"type":"message","role":"user","content":"<environment_context>x</environment_context>"}"#,
            r#"{"type":"message","role":"user","content":"fix it"}"#,
            r#"{"type":"message","role":"assistant","content":"done"}"#,
            r#"{"type":"function_call","name":"shell","arguments":"{}","call_id":"c"}"#,
            r#"{"type":"function_call_output","call_id":"c","output":"ok"}"#,
            r#"{"type":"message","role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,AAAA"}]}"#,
        ];
        let kinds: Vec<_> = of_items(items).entries().map(|(kind, _)| kind.into_str()).collect();
        let expected = [
            "system",
            "user",
            "assistant",
            "tool_calls",
            "tool_outputs",
            "images",
            "initial_context",
        ];
        assert_eq!(kinds, expected);
    }

    #[test]
    fn a_tokenizer_counts_the_decoded_text() {
        let item = r#"{"type":"message","role":"user","content":"a\n\n\n\n\n\n\n\nb"}"#;
        let counted = count_item(item, Tokenizer::O200k).total();
        assert!((5..12).contains(&counted), "{counted}");
    }

    #[test]
    fn a_tokenizer_counts_text_and_images_are_estimated() {
        assert_eq!(of_text("hello world", None), 3, "four bytes a token");
        assert_eq!(of_text("hello world", Some(Tokenizer::O200k)), 2);
        let image = format!(
            r#"{{"type":"input_image","image_url":"data:image/png;base64,{}"}}"#,
            "A".repeat(40_000)
        );
        let text = r#"{"type":"input_text","text":"hello world"}"#;
        let message =
            |parts: &str| format!(r#"{{"type":"message","role":"user","content":[{parts}]}}"#);
        let output =
            format!(r#"{{"type":"function_call_output","call_id":"c","output":[{text},{image}]}}"#);
        let plain = count_item(&message(text), Tokenizer::O200k);
        assert_eq!(plain.total(), 2 + ITEM_TOKENS);
        for item in [message(&format!("{text},{image}")), output] {
            let counted = count_item(&item, Tokenizer::O200k);
            assert_eq!(counted.get(ContextKind::Images), tokens::of_bytes(tokens::IMAGE_BYTES));
            assert_eq!(counted.total() - counted.get(ContextKind::Images), 2 + ITEM_TOKENS);
        }
    }
}
