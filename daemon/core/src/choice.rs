//! A person's choices for a thread: texts that every later view contains (pins), and texts that none contains
//! (drops).
//!
//! A choice stores its text, so it stays active if the transcript is deleted, rewritten or compacted. A pin is
//! quoted word for word. A drop removes lines before the view is selected, so that other lines use their room.

mod admission;
mod matching;
mod pinned;

use std::borrow::Cow;
use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::digest::Digest128;

pub use admission::{ChoiceRefusal, admit};
pub use pinned::{PinnedText, ShownPin, cost, pinned, text_of};

use matching::{FRAGMENT_BYTES, contains_words, plain};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum ChoiceAction {
    Pin,
    Drop,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// The store distinguishes choices from updates by it.
    #[serde(rename = "kind")]
    pub action: ChoiceAction,
    /// Redacted, at most [`crate::limits::CHOICE_BYTES`].
    pub text: String,
    /// `None` for a text that the person typed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<ChosenItems>,
}

/// The items of the thread that a choice was taken from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChosenItems {
    pub handle: String,
    pub first: u64,
    /// Last line; equal to `first` for one item.
    pub last: u64,
    /// Bytes of their whole text; more than the choice's text if only its beginning was kept.
    pub bytes: u64,
}

const ID_DIGITS: usize = 8;

impl Choice {
    /// Derived from the content, so that choosing the same text twice is one choice.
    pub fn id(&self) -> String {
        let of = self.items.as_ref().map_or("", |items| items.handle.as_str());
        let content = format!("{}\0{of}\0{}", self.action.into_str(), self.text);
        Digest128::of(content.as_bytes()).to_string()[..ID_DIGITS].to_owned()
    }

    /// Whether one of both is enough: the same text, of the same item if both name one.
    pub fn is_same(&self, other: &Self) -> bool {
        let is_of_same = self.items == other.items || self.items.is_none() || other.items.is_none();
        self.action == other.action && self.text.trim() == other.text.trim() && is_of_same
    }

    /// Whether only the beginning of the text was kept.
    pub fn is_cut(&self) -> bool {
        self.items.as_ref().is_some_and(|items| items.bytes > self.text.len() as u64)
    }

    /// Whether it is about an item after line `seq`, so that a view as of `seq` ignores it.
    pub fn is_after(&self, seq: u64) -> bool {
        self.items.as_ref().is_some_and(|items| items.first > seq)
    }
}

#[derive(Debug, Clone, Default)]
pub struct Choices {
    pins: Vec<Choice>,
    drops: Vec<DropRule>,
}

/// A drop, prepared for matching with many lines.
#[derive(Debug, Clone)]
struct DropRule {
    choice: Choice,
    /// The whole text on one line.
    whole: String,
    lines: HashSet<String>,
    /// The words that no line may contain; empty if only whole lines match.
    words: String,
}

impl Choices {
    /// Collects choices in the order they were made.
    pub fn of(choices: impl IntoIterator<Item = Choice>) -> Self {
        let mut all = Self::default();
        for choice in choices {
            match choice.action {
                ChoiceAction::Pin => all.pins.push(choice),
                ChoiceAction::Drop => all.drops.push(DropRule::of(choice)),
            }
        }
        all
    }

    pub fn pins(&self) -> &[Choice] {
        &self.pins
    }

    pub fn drops(&self) -> impl Iterator<Item = &Choice> {
        self.drops.iter().map(|rule| &rule.choice)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Choice> {
        self.pins.iter().chain(self.drops())
    }

    /// Whether a view must not show a line; `seq` is the line of the transcript it was taken from.
    pub fn hides(&self, line: &str, seq: Option<u64>) -> bool {
        if self.drops.is_empty() {
            return false;
        }
        let line = plain(line);
        self.drops.iter().any(|rule| rule.is_of(seq) || rule.hides(&line))
    }

    /// Removes the lines that a view must not show.
    pub fn without_hidden<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.drops.is_empty() || !text.lines().any(|line| self.hides(line, None)) {
            return Cow::Borrowed(text);
        }
        let lines = text.split_inclusive('\n').filter(|line| !self.hides(line, None));
        Cow::Owned(lines.collect())
    }

    /// The drop that removes a line of `choice`.
    fn drop_of(&self, choice: &Choice) -> Option<&Choice> {
        let is_hit = |rule: &&DropRule| choice.text.lines().any(|line| rule.hides(&plain(line)));
        self.drops.iter().find(is_hit).map(|rule| &rule.choice)
    }
}

impl DropRule {
    fn of(choice: Choice) -> Self {
        let whole = plain(&choice.text);
        let lines: HashSet<String> = choice.text.lines().map(plain).collect();
        let lines = lines.into_iter().filter(|line| line.chars().any(char::is_alphanumeric));
        let is_line = choice.text.trim().lines().nth(1).is_none();
        // A short item such as "yes" removes no other line.
        let is_telling = choice.items.is_none() || whole.len() >= FRAGMENT_BYTES;
        let words = if is_line && is_telling { whole.clone() } else { String::new() };
        Self { lines: lines.collect(), words, whole, choice }
    }

    fn is_of(&self, seq: Option<u64>) -> bool {
        let items = self.choice.items.as_ref();
        items.zip(seq).is_some_and(|(items, seq)| (items.first..=items.last).contains(&seq))
    }

    /// `line` is [`plain`].
    fn hides(&self, line: &str) -> bool {
        let is_part = || {
            let mut fragments =
                line.split(crate::text::ELLIPSIS).map(str::trim).filter(|part| !part.is_empty());
            line.len() >= FRAGMENT_BYTES
                && fragments.all(|part| part.len() >= FRAGMENT_BYTES && self.whole.contains(part))
        };
        self.lines.contains(line)
            || (!self.words.is_empty() && contains_words(line, &self.words))
            || is_part()
    }
}

#[cfg(test)]
mod tests;
