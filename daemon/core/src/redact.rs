//! Replaces likely credentials by [`MARKER`], and leaves everything else byte for byte.
//!
//! # Theory of operation
//!
//! One search for all keywords of all rules reads the text once (`keywords`); text without a keyword costs
//! that one pass and is returned borrowed. Each keyword belongs to one rule, and a hit runs that rule *at the
//! hit*, never over the whole text: vendor tokens by an anchored pattern (`vendor`), `name = value` pairs by
//! a small parser that judges name and value separately (`assignment`, `name`, `value`, `passphrase`;
//! `phrase` for other languages), URLs, headers and login files in `connection`, private keys in `pem`. What
//! a rule reads before it rejects is bounded, and what it reads before it accepts is consumed, so the cost is
//! linear, for hostile text too.
//!
//! A replacement changes the context of what follows, so a text with hits is read again until a
//! pass finds nothing (at most `PASSES_MAX`): redaction is idempotent.
//!
//! # Requirements for callers
//!
//! * Text must be *decoded*: in raw JSON an escaped newline puts the letter `n` before a token, which hides
//!   the boundary. Quotes still escaped inside the decoded text are handled.
//! * Rules recognize only whole secrets. To keep an excerpt, redact a window larger than the excerpt and cut
//!   afterwards; cutting first would turn a token into an unrecognizable fragment.
//!
//! # What is deliberately kept
//!
//! Digests, commit ids, UUIDs, paths, references (`$TOKEN`, `${{ secrets.X }}`, `env::var("KEY")`), types
//! (`token: String`), counts (`max_tokens=4096`), and placeholders: `<your-key>`, `xxxx`, `changeme`,
//! `your_api_key_here`, and a value that only repeats its name (`password=password`). A bare value of
//! letters is a variable (`token=token`), save behind an `UPPER_CASE=` name, as in an environment file.

mod assignment;
mod connection;
mod flag;
mod json;
mod keywords;
mod name;
mod passphrase;
mod pem;
mod phrase;
mod rule;
#[cfg(test)]
mod tests;
mod value;
mod vendor;

use std::borrow::Cow;
use std::ops::Range;

use rule::{RULES, Verdict};

pub use json::redact_value;

/// What stands where a secret stood.
pub const MARKER: &str = "[REDACTED_SECRET]";

/// Passes over one text. Honest text settles in two; the bound is for text made to defeat it.
const PASSES_MAX: u32 = 6;

/// A text without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedactedText<'a> {
    /// The text; borrowed when nothing was replaced.
    pub text: Cow<'a, str>,
    pub hits: u32,
}

/// Replaces every secret in a decoded text, keeping the names that stand before them:
/// `API_KEY=…` becomes `API_KEY=[REDACTED_SECRET]`.
///
/// Never fails and never panics. Time is linear in the length of `text`. Idempotent.
#[must_use]
pub fn redact(text: &str) -> RedactedText<'_> {
    let mut redacted = RedactedText { text: Cow::Borrowed(text), hits: 0 };
    for _ in 0..PASSES_MAX {
        let secrets = secrets(&redacted.text);
        if secrets.is_empty() {
            break;
        }
        redacted.hits =
            redacted.hits.saturating_add(u32::try_from(secrets.len()).unwrap_or(u32::MAX));
        redacted.text = Cow::Owned(replaced(&redacted.text, &secrets));
    }
    redacted
}

/// Finds the secrets of a text: byte ranges on character borders, in order, apart from each other.
fn secrets(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    while let Some((hit, rule)) = RULES.next_hit(bytes, at) {
        let floor = found.last().map_or(0, |last| last.end);
        at = match rule.judge(bytes, &hit, floor) {
            Verdict::Secret(span) if text.get(span.clone()).is_some_and(|s| !s.is_empty()) => {
                let end = span.end.max(hit.start + 1);
                found.push(span);
                end
            }
            Verdict::Secret(_) | Verdict::Nothing => hit.start + 1,
            // Always forward, whatever a rule answers: the loop must end.
            Verdict::Passed { resume } => resume.max(hit.start + 1),
        };
    }
    found
}

fn replaced(text: &str, secrets: &[Range<usize>]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut kept = 0;
    for secret in secrets {
        out.push_str(&text[kept..secret.start]);
        out.push_str(MARKER);
        kept = secret.end;
    }
    out.push_str(&text[kept..]);
    out
}
