//! Validates a model's summary.

use crate::tokens;

/// Why a summary is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Refusal {
    #[strum(serialize = "blank_summary")]
    Blank,
    /// It is not about this conversation: it repeats the prompt, calls a tool, or shares no name with it.
    #[strum(serialize = "foreign_summary")]
    Foreign,
    /// It is hardly shorter than what it replaces.
    #[strum(serialize = "inflated_summary")]
    Inflated,
}

/// Minimum characters of a summary.
const BLANK_CHARS: usize = 20;

/// Minimum bytes of a prompt's first line for its repetition to be recognized.
const ECHO_BYTES: usize = 12;

/// Minimum names in a conversation before a summary without any of them is rejected.
const NAMES_MIN: usize = 4;

/// Checks `summary` of a history of `before` tokens that contains `names` (files, identifiers, significant
/// words); `prompt` is what the model was asked.
///
/// # Errors
/// The reason for rejection.
pub fn refuse(summary: &str, prompt: &str, names: &[String], before: u64) -> Result<(), Refusal> {
    let words = summary.trim();
    if words.chars().filter(|c| c.is_alphanumeric()).count() < BLANK_CHARS {
        return Err(Refusal::Blank);
    }
    if tokens::of_text(words) > before / 2 {
        return Err(Refusal::Inflated);
    }
    let first_line = prompt.trim().lines().next().unwrap_or_default();
    // A custom prompt may begin with a word that any summary contains.
    let repeats = first_line.len() >= ECHO_BYTES && words.contains(first_line);
    let lower = words.to_lowercase();
    let shares = names.iter().any(|name| lower.contains(&name.to_lowercase()));
    if repeats || (names.len() >= NAMES_MIN && !shares) {
        return Err(Refusal::Foreign);
    }
    Ok(())
}
