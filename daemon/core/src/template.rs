//! Templates of policies and compactions.
//!
//! A placeholder is `{name}`. Loading rejects names that the template's kind does not have, so that no
//! placeholder stays in a prompt. Filling is one pass: placeholders inside values are not
//! filled.

use std::borrow::Cow;
use std::collections::BTreeMap;
use strum::VariantArray as _;

use serde::{Deserialize, Serialize};

use crate::quote;

/// Purpose of a template; each group has a folder of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum TemplateGroup {
    Policy,
    Compaction,
}

impl TemplateGroup {
    pub fn kinds(self) -> impl Iterator<Item = Kind> {
        Kind::ALL.iter().copied().filter(move |kind| kind.group() == self)
    }
}

/// A template that a person may override.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Kind {
    Judgment,
    /// The same for one tier; falls back to [`Kind::Judgment`].
    JudgmentEarly,
    JudgmentReady,
    JudgmentAsap,
    JudgmentContext,
    /// Asks the agent for a packet.
    Packet,
    /// Asks the agent for a scratch file.
    Scratch,
    /// Introduces a packet after the compaction.
    Handoff,
    /// A packet written by the daemon.
    WatcherPacket,
    /// Asks a model for a summary; follows the history.
    SummaryPrompt,
    SummaryPrefix,
    CheckpointGuide,
}

impl Kind {
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The template used if this one has no file.
    pub fn stand_in(self) -> Option<Self> {
        match self {
            Self::JudgmentEarly | Self::JudgmentReady | Self::JudgmentAsap => Some(Self::Judgment),
            _ => None,
        }
    }

    pub fn group(self) -> TemplateGroup {
        match self {
            Self::SummaryPrompt | Self::SummaryPrefix | Self::CheckpointGuide => {
                TemplateGroup::Compaction
            }
            _ => TemplateGroup::Policy,
        }
    }

    /// Maximum bytes: text that stays in every later prompt must be short.
    pub fn bytes_max(self) -> usize {
        match self {
            Self::SummaryPrefix | Self::CheckpointGuide => 4 * 1_024,
            _ => TEMPLATE_BYTES,
        }
    }

    pub fn places(self) -> &'static [&'static str] {
        match self {
            Self::Judgment | Self::JudgmentEarly | Self::JudgmentReady | Self::JudgmentAsap => {
                &["thread_id", "tier"]
            }
            Self::JudgmentContext => &[
                "tier",
                "percent_remaining",
                "boundaries",
                "last_agent_message",
                "transcript_excerpt",
                "thread_id",
                "turn",
                "used_tokens",
                "window_tokens",
                "repository",
            ],
            Self::Packet | Self::Scratch => &["scratch_file", "thread_id"],
            Self::Handoff => &["packet", "scratch_file", "thread_id"],
            Self::WatcherPacket => {
                &["percent_remaining", "tier", "boundaries", "last_agent_message", "repository"]
            }
            Self::SummaryPrompt => &["thread_id", "cwd", "max_tokens", "summary_words"],
            Self::SummaryPrefix | Self::CheckpointGuide => &["thread_id", "cwd"],
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Texts(BTreeMap<Kind, String>);

impl Texts {
    pub fn of(text: impl Fn(Kind) -> String) -> Self {
        Self(Kind::ALL.iter().copied().map(|kind| (kind, text(kind))).collect())
    }

    pub fn get(&self, kind: Kind) -> &str {
        self.0.get(&kind).map_or("", String::as_str)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// A placeholder that its kind does not have.
    #[error("line {line}: unknown placeholder {{{name}}}; known here: {known}")]
    Unknown {
        /// Line number, from 1.
        line: usize,
        name: String,
        known: String,
    },
    #[error("it is empty")]
    Empty,
    #[error("it has more than {most} bytes")]
    TooLong { most: usize },
}

/// Maximum bytes of any template.
pub const TEMPLATE_BYTES: usize = 32 * 1_024;

pub fn check(kind: Kind, text: &str) -> Result<(), TemplateError> {
    if text.trim().is_empty() {
        return Err(TemplateError::Empty);
    }
    if text.len() > kind.bytes_max() {
        return Err(TemplateError::TooLong { most: kind.bytes_max() });
    }
    for (at, line) in text.lines().enumerate() {
        for piece in pieces(line) {
            if let Piece::Place(name) = piece
                && !kind.places().contains(&name)
            {
                let (name, known) = (name.to_owned(), kind.places().join(", "));
                return Err(TemplateError::Unknown { line: at + 1, name, known });
            }
        }
    }
    Ok(())
}

pub fn has(text: &str, name: &str) -> bool {
    pieces(text).iter().any(|piece| matches!(piece, Piece::Place(found) if *found == name))
}

/// Fills a validated template; a placeholder without a value becomes empty. Values are untrusted text.
pub fn fill(text: &str, values: &[(&str, &str)]) -> String {
    let value = |name: &str| {
        let value = values.iter().find(|(known, _)| *known == name);
        value.map_or(Cow::Borrowed(""), |(_, value)| quote::block(value))
    };
    let filled = pieces(text).into_iter().map(|piece| match piece {
        Piece::Text(text) => Cow::Borrowed(text),
        Piece::Place(name) => value(name),
    });
    filled.collect()
}

enum Piece<'a> {
    Text(&'a str),
    Place(&'a str),
}

/// Splits at `{name}`; other braces are text.
fn pieces(mut text: &str) -> Vec<Piece<'_>> {
    let mut found = Vec::new();
    while let Some((before, rest)) = text.split_once('{') {
        let is_name = |name: &str| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        };
        match rest.split_once('}').filter(|(name, _)| is_name(name)) {
            Some((name, after)) => {
                found.push(Piece::Text(before));
                found.push(Piece::Place(name));
                text = after;
            }
            None => {
                found.push(Piece::Text(&text[..=before.len()]));
                text = rest;
            }
        }
    }
    found.push(Piece::Text(text));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Defect 7.13.11: an unfilled placeholder stayed in the prompt.
    #[test]
    fn defect_7_13_11_an_unknown_placeholder_is_rejected() {
        let error = check(Kind::Packet, "a\nb {VERBATIM}").unwrap_err();
        assert!(
            matches!(error, TemplateError::Unknown { line: 2, ref name, .. } if name == "VERBATIM")
        );
        assert_eq!(check(Kind::Packet, "write to {scratch_file}, json {\"a\": 1}"), Ok(()));
        assert_eq!(check(Kind::Packet, " \n"), Err(TemplateError::Empty));
    }

    /// Defect 7.8: placeholders inside values were filled.
    #[test]
    fn defect_7_8_values_are_not_filled_again() {
        let filled = fill("{a}-{b} {", &[("a", "{b}"), ("b", "x")]);
        assert_eq!(filled, "{b}-x {");
    }
}
