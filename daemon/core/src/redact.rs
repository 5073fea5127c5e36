//! Replaces likely credentials by [`MARKER`], and leaves everything else byte for byte.
//!
//! # Theory of operation
//!
//! One search for all keywords of all rules reads the text once (`keywords`); text without a keyword costs
//! that one pass and is returned borrowed. A hit runs the keyword's rules *at the hit*, never over the whole
//! text: tokens of a known form by an anchored pattern of `rules.toml` (`form`), `name = value` pairs by
//! a small parser that judges name and value separately (`assignment`, `name`, `value`, `passphrase`, by the
//! lists of `words.toml`; `phrase` for other languages), URLs, headers and login files in `connection`, private
//! keys in `pem`. What a rule reads before it rejects is bounded, and what it reads before it accepts is
//! consumed, so the cost is linear, for hostile text too.
//!
//! Rules read what a person would see (`view`): colours are gone, `\n`, `\t` and `\u003d` are the characters
//! they stand for, however often they were escaped. Lines that a terminal may have broken are read a second
//! time, put together (`wrap`). What is found there is replaced in the text as it stands.
//!
//! A replacement changes the context of what follows, so a text with hits is read again until a
//! pass finds nothing (at most `PASSES_MAX`): redaction is idempotent.
//!
//! # Requirements for callers
//!
//! * Rules recognize only whole secrets. To keep an excerpt, redact a window larger than the excerpt and cut
//!   afterwards; cutting first would turn a token into an unrecognizable fragment.
//!
//! # What is deliberately kept
//!
//! Digests, commit ids, UUIDs, paths, references (`$TOKEN`, `${{ secrets.X }}`, `env::var("KEY")`), types
//! (`token: String`), counts (`max_tokens=4096`), and placeholders: `<your-key>`, `xxxx`, `changeme`,
//! `your_api_key_here`, and a value that only repeats its name (`password=password`). A bare value of
//! letters is a variable (`token=token`), save behind an `UPPER_CASE=` name, as in an environment file.
//!
//! # A new kind of token
//!
//! It is a table in `rules.toml`, with what it hides and what it keeps; the tests plant it in every context.

mod assignment;
mod connection;
mod flag;
mod form;
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
mod view;
mod words;
mod wrap;

use std::borrow::Cow;
use std::ops::Range;

use rule::{RULES, Verdict};
use view::View;

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
    let Some((first, _)) = RULES.next_hit(text.as_bytes(), 0) else { return Vec::new() };
    match View::of(text) {
        None => secrets_in_lines(text, first.start),
        Some(view) => {
            let found = secrets_in_lines(&view.text, view.seen(first.start));
            found.iter().map(|secret| view.place(secret)).collect()
        }
    }
}

/// Finds secrets in a text as it stands, and with its broken lines put together.
fn secrets_in_lines(text: &str, from: usize) -> Vec<Range<usize>> {
    let mut found = secrets_within(text, from..text.len());
    if let Some((view, lines)) = wrap::unwrapped(text) {
        let broken = lines.into_iter().flat_map(|line| secrets_within(&view.text, line));
        found.extend(broken.map(|secret| view.place(&secret)));
        found.sort_by_key(|secret| secret.start);
        found.dedup_by(|next, last| {
            let meets = next.start < last.end;
            last.end = if meets { last.end.max(next.end) } else { last.end };
            meets
        });
    }
    found
}

/// Finds the secrets whose keywords stand in a part of a text.
fn secrets_within(text: &str, part: Range<usize>) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let end = part.end.min(bytes.len());
    let mut at = part.start;
    let mut found: Vec<Range<usize>> = Vec::new();
    while let Some(hit) = RULES.next_hit(&bytes[..end], at) {
        let floor = found.last().map_or(0, |last| last.end);
        // Always forward, whatever a rule answers: the loop must end.
        at = hit.0.start + 1;
        match RULES.judge(bytes, &hit, floor) {
            Verdict::Secrets(secrets) => {
                for secret in secrets {
                    if text.get(secret.clone()).is_some_and(|s| !s.is_empty()) {
                        at = at.max(secret.end);
                        found.push(secret);
                    }
                }
            }
            Verdict::Nothing => {}
            Verdict::Passed { resume } => at = at.max(resume),
        }
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
