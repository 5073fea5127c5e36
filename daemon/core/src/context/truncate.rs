//! Cuts the middle out of a text: the beginning identifies it, and the end has the result.
//!
//! The kept text is within the budget; the marker is added to it, as in Codex. Characters are never split.

use serde_json::Value;

use crate::{text, tokens};

/// How much of a text to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// Of four bytes each.
    Tokens(u64),
    Bytes(u64),
    Lines(u64),
    /// Lines first, then bytes of the remainder.
    LinesAndBytes {
        lines: u64,
        bytes: u64,
    },
}

/// The unit a marker counts in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Unit {
    /// Of four bytes each.
    Tokens,
    Chars,
    Lines,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Truncation {
    /// The remaining text, with a marker if something was removed.
    pub text: String,
    /// Removed amount, as in the marker; 0 if nothing.
    pub removed: u64,
    pub unit: Unit,
}

impl Policy {
    pub fn unit(self) -> Unit {
        match self {
            Self::Tokens(_) => Unit::Tokens,
            Self::Bytes(_) | Self::LinesAndBytes { .. } => Unit::Chars,
            Self::Lines(_) => Unit::Lines,
        }
    }

    /// Whether the whole text fits.
    pub fn holds(self, text: &str) -> bool {
        match self {
            Self::Tokens(limit) => text.len() <= tokens::bytes_of(limit),
            Self::Bytes(limit) => text.len() as u64 <= limit,
            Self::Lines(limit) => line_count(text) <= limit,
            Self::LinesAndBytes { lines, bytes } => {
                Self::Lines(lines).holds(text) && Self::Bytes(bytes).holds(text)
            }
        }
    }

    /// The policy minus the cost of `text`, for parts that share a budget. Lines are not shared.
    fn less(self, text: &str) -> Self {
        let bytes = text.len() as u64;
        match self {
            Self::Tokens(limit) => Self::Tokens(limit.saturating_sub(tokens::of_bytes(bytes))),
            Self::Bytes(limit) => Self::Bytes(limit.saturating_sub(bytes)),
            Self::Lines(limit) => Self::Lines(limit.saturating_sub(line_count(text))),
            Self::LinesAndBytes { lines, bytes: limit } => Self::LinesAndBytes {
                lines: lines.saturating_sub(line_count(text)),
                bytes: limit.saturating_sub(bytes),
            },
        }
    }

    fn is_used_up(self) -> bool {
        match self {
            Self::Tokens(limit) | Self::Bytes(limit) | Self::Lines(limit) => limit == 0,
            Self::LinesAndBytes { lines, bytes } => lines == 0 || bytes == 0,
        }
    }
}

/// Cuts the middle of `text` to fit `policy`.
pub fn truncate(text: &str, policy: Policy) -> Truncation {
    if policy.holds(text) {
        return Truncation { text: text.to_owned(), removed: 0, unit: policy.unit() };
    }
    match policy {
        Policy::Tokens(limit) => cut_bytes(text, tokens::bytes_of(limit), Unit::Tokens),
        Policy::Bytes(limit) => {
            cut_bytes(text, usize::try_from(limit).unwrap_or(usize::MAX), Unit::Chars)
        }
        Policy::Lines(limit) => cut_lines(text, usize::try_from(limit).unwrap_or(usize::MAX)),
        Policy::LinesAndBytes { lines, bytes } => {
            let by_lines = truncate(text, Policy::Lines(lines));
            if Policy::Bytes(bytes).holds(&by_lines.text) {
                return by_lines;
            }
            truncate(text, Policy::Bytes(bytes))
        }
    }
}

/// Like [`truncate`], but puts the number of lines before a text that was cut.
pub fn truncate_formatted(text: &str, policy: Policy) -> Truncation {
    let cut = truncate(text, policy);
    if cut.removed == 0 {
        return cut;
    }
    let lines = line_count(text);
    Truncation { text: format!("Total output lines: {lines}\n\n{}", cut.text), ..cut }
}

fn marker(removed: u64, unit: Unit) -> String {
    format!("…{removed} {} truncated…", unit.into_str())
}

fn cut_bytes(text: &str, budget: usize, unit: Unit) -> Truncation {
    let left = budget / 2;
    let head = text::prefix(text, left);
    let tail = text::suffix(text, budget - left);
    let removed = match unit {
        Unit::Tokens => tokens::of_bytes((text.len() - budget) as u64),
        _ => text[head.len()..text.len() - tail.len()].chars().count() as u64,
    };
    Truncation { text: format!("{head}{}{tail}", marker(removed, unit)), removed, unit }
}

fn cut_lines(text: &str, budget: usize) -> Truncation {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let head: String = lines[..budget / 2].concat();
    let tail: String = lines[lines.len() - (budget - budget / 2)..].concat();
    let removed = (lines.len() - budget) as u64;
    let marker = marker(removed, Unit::Lines);
    let text =
        if tail.is_empty() { format!("{head}{marker}") } else { format!("{head}{marker}\n{tail}") };
    Truncation { text, removed, unit: Unit::Lines }
}

fn line_count(text: &str) -> u64 {
    text.lines().count() as u64
}

/// Cuts an array of content parts to one budget: texts in order until it is used up; images are free and
/// stay. A last part says how many texts were omitted. Returns the removed amount.
pub fn truncate_parts(parts: &mut Vec<Value>, policy: Policy) -> u64 {
    let (mut rest, mut removed, mut omitted) = (policy, 0, 0);
    parts.retain_mut(|part| {
        let Some(Value::String(words)) = part.get_mut("text") else { return true };
        if rest.is_used_up() && !words.is_empty() {
            omitted += 1;
            removed += size(words, policy.unit());
            return false;
        }
        let cut = truncate(words, rest);
        rest = rest.less(words);
        removed += cut.removed;
        *words = cut.text;
        true
    });
    if omitted > 0 {
        let text = format!("[omitted {omitted} text items ...]");
        parts.push(serde_json::json!({ "type": "input_text", "text": text }));
    }
    removed
}

/// Cuts an array of content parts as one text: if all texts together exceed the budget, one formatted
/// text replaces them, followed by the images. Returns the removed amount.
pub fn merge_parts(parts: &mut Vec<Value>, policy: Policy) -> u64 {
    let mut joined = String::new();
    for words in parts.iter().filter_map(|part| part.get("text")?.as_str()) {
        if !joined.is_empty() {
            joined.push('\n');
        }
        joined.push_str(words);
    }
    let cut = truncate_formatted(&joined, policy);
    if cut.removed == 0 {
        return 0;
    }
    parts.retain(|part| part.get("text").is_none());
    parts.insert(0, serde_json::json!({ "type": "input_text", "text": cut.text }));
    cut.removed
}

fn size(text: &str, unit: Unit) -> u64 {
    match unit {
        Unit::Tokens => tokens::of_text(text),
        Unit::Chars => text.chars().count() as u64,
        Unit::Lines => line_count(text),
    }
}

#[cfg(test)]
mod tests;
