//! Validates a model's summary, in any language.

use super::terms::terms;
use crate::tokens;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Refusal {
    /// It is empty, or only repeats the prompt.
    #[strum(serialize = "blank_summary")]
    Blank,
    #[strum(serialize = "refused_summary")]
    Refused,
    /// It is hardly shorter than the history.
    #[strum(serialize = "inflated_summary")]
    Inflated,
}

/// Minimum letters and digits of a summary.
const BLANK_CHARS: usize = 20;

/// Minimum bytes of a prompt's line to recognize its repetition; a custom prompt may have lines that any
/// summary contains.
const ECHO_BYTES: usize = 12;

/// Maximum letters and digits of an answer that is only a refusal.
const REFUSAL_CHARS: usize = 300;

/// Minimum terms in a conversation before a summary without them is marked as doubtful.
const TERMS_MIN: usize = 4;

/// A related summary shares at least one in this many terms with the conversation.
const SHARED_ONE_IN: usize = 20;

/// Prefixes of a refusal, in lower case and with plain apostrophes.
const REFUSALS: [&str; 29] = [
    "i'm sorry, but i can",
    "i'm sorry, i can",
    "i am sorry, but i can",
    "sorry, but i can",
    "sorry, i can",
    "i can't help",
    "i can't assist",
    "i cannot help",
    "i cannot assist",
    "i'm unable to",
    "i am unable to",
    "as an ai",
    "es tut mir leid",
    "tut mir leid",
    "ich kann dabei nicht",
    "je suis désolé",
    "désolé",
    "lo siento",
    "mi dispiace",
    "sinto muito",
    "desculpe",
    "lamento",
    "к сожалению, я не могу",
    "извините",
    "抱歉",
    "对不起",
    "申し訳",
    "すみません",
    "죄송",
];

/// Checks `summary` of a history of `before` tokens; `prompt` is what the model was asked, `known` the text of
/// the conversation. Whether it concerns this conversation is not a reason for rejection: see [`is_doubtful`].
pub fn refuse(summary: &str, prompt: &str, known: &[&str], before: u64) -> Result<(), Refusal> {
    let own = without_echo(summary, prompt);
    let letters = own.chars().filter(|c| c.is_alphanumeric()).count();
    if letters < BLANK_CHARS {
        return Err(Refusal::Blank);
    }
    if tokens::of_text(summary.trim()) > before / 2 {
        return Err(Refusal::Inflated);
    }
    let opening = own.trim_start().to_lowercase().replace('’', "'");
    let refuses = REFUSALS.iter().any(|phrase| opening.starts_with(phrase));
    if refuses && letters <= REFUSAL_CHARS && shared(&own, known).0 == 0 {
        return Err(Refusal::Refused);
    }
    Ok(())
}

/// Whether `summary` may be unrelated: it shares hardly a word with the conversation. A summary in another
/// language than the conversation's may still be good, so this is only a warning.
pub fn is_doubtful(summary: &str, known: &[&str]) -> bool {
    let (shared, of_summary, of_known) = shared(summary, known);
    let fewer = of_summary.min(of_known);
    of_known >= TERMS_MIN && shared < fewer.div_ceil(SHARED_ONE_IN)
}

/// Terms in common, terms of the summary, and terms of the conversation.
fn shared(summary: &str, known: &[&str]) -> (usize, usize, usize) {
    let of_known =
        known.iter().flat_map(|text| terms(text)).collect::<std::collections::HashSet<_>>();
    let of_summary: std::collections::HashSet<_> = terms(summary).into_iter().collect();
    (of_summary.intersection(&of_known).count(), of_summary.len(), of_known.len())
}

/// The summary without the lines of the prompt.
fn without_echo(summary: &str, prompt: &str) -> String {
    let is_echo = |line: &str| line.len() >= ECHO_BYTES && prompt.contains(line);
    let own = summary.lines().filter(|line| !is_echo(line.trim()));
    own.collect::<Vec<_>>().join("\n")
}
