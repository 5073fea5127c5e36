//! Renders pins for a view.

use serde_json::value::RawValue;

use super::Choice;
use crate::context::tokenizer::Tokenizer;
use crate::redact::MARKER;
use crate::rollout::{Item, codex};
use crate::{quote, text, tokens};

const TITLE: &str = "[PINNED]\n";

/// Minimum tokens of a part of a pin; a shorter part is useless.
const PART_TOKENS: u64 = 24;

/// Tokens of the line that reports what is missing.
const NOTE_TOKENS: u64 = 16;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PinnedText {
    /// A section of a view; empty without pins, or without room for any of them.
    pub text: String,
    /// Pins that are not shown in full. The text reports them if there is room for a line.
    pub incomplete: usize,
    /// The pins of items that are shown.
    pub shown: Vec<ShownPin>,
}

/// A pin of items, as a view shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShownPin {
    /// First and last line of the items.
    pub first: u64,
    pub last: u64,
    /// Whether the view has all of their text.
    pub is_whole: bool,
}

impl ShownPin {
    fn of(pin: &Choice, is_shown_whole: bool) -> Option<Self> {
        let items = pin.items.as_ref()?;
        let is_whole = is_shown_whole && !pin.is_cut() && !pin.text.contains(MARKER);
        Some(Self { first: items.first, last: items.last, is_whole })
    }
}

/// Renders pins in the order they were made within `max_tokens`.
pub fn pinned(pins: &[Choice], max_tokens: u64) -> PinnedText {
    let whole = section(pins.iter().map(quoted), 0);
    if pins.is_empty() || cost(&whole) <= max_tokens {
        let shown = pins.iter().filter_map(|pin| ShownPin::of(pin, true)).collect();
        return PinnedText { text: whole, incomplete: 0, shown };
    }
    let (mut shown, mut shown_pins): (Vec<String>, Vec<ShownPin>) = (Vec::new(), Vec::new());
    let mut incomplete = 0;
    for pin in pins {
        let used = cost(&section(shown.iter().cloned(), pins.len()));
        let left = max_tokens.saturating_sub(used);
        let words = quoted(pin);
        if cost(&words) <= left {
            shown.push(words);
            shown_pins.extend(ShownPin::of(pin, true));
            continue;
        }
        incomplete += 1;
        // Dense text has more tokens than estimated: half of the room is safe.
        if left >= NOTE_TOKENS + PART_TOKENS {
            let text = text::cut_middle(&pin.text, tokens::bytes_of(left - NOTE_TOKENS) / 2);
            let part = quoted(&Choice { text: text.into_owned(), ..pin.clone() });
            if cost(&part) <= left {
                shown.push(part);
                shown_pins.extend(ShownPin::of(pin, false));
            }
        }
    }
    let text = section(shown.into_iter(), incomplete);
    if cost(&text) > max_tokens {
        return PinnedText { incomplete, ..PinnedText::default() };
    }
    PinnedText { text, incomplete, shown: shown_pins }
}

/// Tokens of a text in a view: the higher of the estimate that agents budget with and a real tokenizer's count.
pub fn cost(text: &str) -> u64 {
    tokens::of_text(text).max(Tokenizer::O200k.count(text))
}

fn section(pins: impl Iterator<Item = String>, incomplete: usize) -> String {
    let pins: String = pins.collect();
    let note = match incomplete {
        0 => String::new(),
        1 => "(1 pinned text does not fit: `longhaul pin --list`)\n".to_owned(),
        more => format!("({more} pinned texts do not fit: `longhaul pin --list`)\n"),
    };
    if pins.is_empty() && note.is_empty() { String::new() } else { format!("{TITLE}{pins}{note}") }
}

/// A pin as lines with a prefix that no line of ours has.
fn quoted(pin: &Choice) -> String {
    let mut out = String::new();
    if let Some(items) = &pin.items {
        let place = match items.first == items.last {
            true => format!("#{}", items.first),
            false => format!("#{}-{}", items.first, items.last),
        };
        let cut = match pin.is_cut() {
            true => format!(", {} of {} bytes", pin.text.len(), items.bytes),
            false => String::new(),
        };
        out.push_str(&format!("{place}{cut}:\n"));
    }
    for line in pin.text.trim_end().lines() {
        out.push_str(&format!("> {}\n", quote::line(line)));
    }
    out
}

/// Text of items of a history, from which a person chooses.
pub fn text_of(items: &[Box<RawValue>]) -> String {
    let texts = items.iter().filter_map(|raw| match codex::read_item(raw.get())?.0 {
        Item::Message { text, .. } | Item::Output { text, .. } => Some(text.into_owned()),
        Item::Call(call) => Some(format!("{} {}", call.name, call.arguments)),
        _ => None,
    });
    texts
        .map(|text| text.trim().to_owned())
        .filter(|text| !text.is_empty())
        .collect::<Vec<_>>()
        .join("\n")
}
