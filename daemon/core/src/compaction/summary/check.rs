//! Whether a model's words are a summary.

use crate::tokens;

/// Why a summary is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// It says nothing.
    Blank,
    /// It is not of this conversation: it repeats the prompt, calls a tool, or shares no name with it.
    Foreign,
    /// It is hardly shorter than what it stands for.
    Inflated,
}

impl Refusal {
    /// Stable name, as a rung's reason.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Blank => "blank_summary",
            Self::Foreign => "foreign_summary",
            Self::Inflated => "inflated_summary",
        }
    }
}

/// Characters under which words say nothing.
const BLANK_CHARS: usize = 20;

/// Bytes of a prompt's first line from which a summary that holds it repeats the prompt.
const ECHO_BYTES: usize = 12;

/// Names a conversation must have before a summary without any of them is foreign.
const NAMES_MIN: usize = 4;

/// Judges `summary` of a history of `before` tokens in which `names` (files, identifiers, telling
/// words) stand; `prompt` is what the model was asked.
///
/// # Errors
/// The reason it is not taken.
pub fn refuse(summary: &str, prompt: &str, names: &[String], before: u64) -> Result<(), Refusal> {
    let words = summary.trim();
    if words.chars().filter(|c| c.is_alphanumeric()).count() < BLANK_CHARS {
        return Err(Refusal::Blank);
    }
    if tokens::of_text(words) > before / 2 {
        return Err(Refusal::Inflated);
    }
    let first_line = prompt.trim().lines().next().unwrap_or_default();
    // A person's own prompt may begin with a word that any summary says.
    let repeats = first_line.len() >= ECHO_BYTES && words.contains(first_line);
    let lower = words.to_lowercase();
    let shares = names.iter().any(|name| lower.contains(&name.to_lowercase()));
    if repeats || (names.len() >= NAMES_MIN && !shares) {
        return Err(Refusal::Foreign);
    }
    Ok(())
}
