//! Texts with places to fill in: those of policies and of compactions.
//!
//! A place is `{name}`; a name that the text's kind does not have is refused when it is loaded, so that
//! none stays in a prompt unfilled (defect 7.13.11). Filling is one pass: what a value holds is never
//! filled in again (defect 7.8).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What texts are for. Those of a group stand in a folder of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// The watcher's.
    Policy,
    /// Those of compactions.
    Compaction,
}

impl Group {
    /// Name of its folder.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::Compaction => "compaction",
        }
    }

    /// Its texts.
    pub fn kinds(self) -> impl Iterator<Item = Kind> {
        Kind::ALL.into_iter().filter(move |kind| kind.group() == self)
    }
}

/// A text a person may override.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// What a judge is told to be.
    Judgment,
    /// The same for one tier; where there is none, [`Kind::Judgment`] is.
    JudgmentEarly,
    /// The same.
    JudgmentReady,
    /// The same.
    JudgmentAsap,
    /// What a judge is shown.
    JudgmentContext,
    /// Asks the agent for a packet.
    Packet,
    /// Asks the agent for a scratch file.
    Scratch,
    /// Stands above a packet after the compaction.
    Handoff,
    /// A packet that we write.
    WatcherPacket,
    /// Asks a model for a summary; stands below the history.
    SummaryPrompt,
    /// Stands above a summary.
    SummaryPrefix,
    /// Stands above a checkpoint's view.
    CheckpointGuide,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Judgment,
        Self::JudgmentEarly,
        Self::JudgmentReady,
        Self::JudgmentAsap,
        Self::JudgmentContext,
        Self::Packet,
        Self::Scratch,
        Self::Handoff,
        Self::WatcherPacket,
        Self::SummaryPrompt,
        Self::SummaryPrefix,
        Self::CheckpointGuide,
    ];

    /// The text that stands for it where it has no file of its own.
    #[must_use]
    pub fn stand_in(self) -> Option<Self> {
        match self {
            Self::JudgmentEarly | Self::JudgmentReady | Self::JudgmentAsap => Some(Self::Judgment),
            _ => None,
        }
    }

    /// What it is for.
    #[must_use]
    pub fn group(self) -> Group {
        match self {
            Self::SummaryPrompt | Self::SummaryPrefix | Self::CheckpointGuide => Group::Compaction,
            _ => Group::Policy,
        }
    }

    /// Bytes it may have: what stands in every later prompt is to be short.
    #[must_use]
    pub fn bytes_max(self) -> usize {
        match self {
            Self::SummaryPrefix | Self::CheckpointGuide => 4 * 1_024,
            _ => TEMPLATE_BYTES,
        }
    }

    /// Name of its file, without `.md`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Judgment => "judgment",
            Self::JudgmentEarly => "judgment_early",
            Self::JudgmentReady => "judgment_ready",
            Self::JudgmentAsap => "judgment_asap",
            Self::JudgmentContext => "judgment_context",
            Self::Packet => "packet",
            Self::Scratch => "scratch",
            Self::Handoff => "handoff",
            Self::WatcherPacket => "watcher_packet",
            Self::SummaryPrompt => "summary_prompt",
            Self::SummaryPrefix => "summary_prefix",
            Self::CheckpointGuide => "checkpoint_guide",
        }
    }

    /// The places it may have.
    #[must_use]
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
            Self::SummaryPrompt => &["thread_id", "cwd", "max_tokens"],
            Self::SummaryPrefix | Self::CheckpointGuide => &["thread_id", "cwd"],
        }
    }
}

/// The text of each kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Texts(BTreeMap<Kind, String>);

impl Texts {
    /// Texts as `text` gives them.
    #[must_use]
    pub fn of(text: impl Fn(Kind) -> String) -> Self {
        Self(Kind::ALL.into_iter().map(|kind| (kind, text(kind))).collect())
    }

    /// The text of that kind.
    #[must_use]
    pub fn get(&self, kind: Kind) -> &str {
        self.0.get(&kind).map_or("", String::as_str)
    }
}

/// A text that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// A place that its kind does not have.
    #[error("line {line}: no place {{{name}}} here; there are {known}")]
    Unknown {
        /// Line, from 1.
        line: usize,
        /// The name.
        name: String,
        /// Those that exist.
        known: String,
    },
    /// Nothing in it.
    #[error("it is empty")]
    Empty,
    /// More than a prompt may have.
    #[error("it has more than {most} bytes")]
    TooLong {
        /// Bytes it may have.
        most: usize,
    },
}

/// Bytes of a text of any kind.
pub const TEMPLATE_BYTES: usize = 32 * 1_024;

/// Checks a text of that kind.
///
/// # Errors
/// [`TemplateError`].
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

/// Whether a text has the place.
#[must_use]
pub fn has(text: &str, name: &str) -> bool {
    pieces(text).iter().any(|piece| matches!(piece, Piece::Place(found) if *found == name))
}

/// Fills a text that was checked; a place without a value becomes empty.
#[must_use]
pub fn fill(text: &str, values: &[(&str, &str)]) -> String {
    let value = |name: &str| values.iter().find(|(known, _)| *known == name).map_or("", |(_, v)| v);
    let filled = pieces(text).into_iter().map(|piece| match piece {
        Piece::Text(text) => text,
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

    /// Defect 7.13.11: a place that nobody filled stood in the prompt.
    #[test]
    fn defect_7_13_11_a_place_that_nobody_fills_is_refused() {
        let error = check(Kind::Packet, "a\nb {VERBATIM}").unwrap_err();
        assert!(
            matches!(error, TemplateError::Unknown { line: 2, ref name, .. } if name == "VERBATIM")
        );
        assert_eq!(check(Kind::Packet, "write to {scratch_file}, json {\"a\": 1}"), Ok(()));
        assert_eq!(check(Kind::Packet, " \n"), Err(TemplateError::Empty));
    }

    /// Defect 7.8: values that held a place were filled in again.
    #[test]
    fn defect_7_8_values_are_not_filled_again() {
        let filled = fill("{a}-{b} {", &[("a", "{b}"), ("b", "x")]);
        assert_eq!(filled, "{b}-x {");
    }
}
