//! Replaces likely credentials by [`MARKER`] and leaves all other bytes unchanged.
//!
//! # Theory of operation
//!
//! One pass searches the text for the keywords of all rules (`keywords`); text without a keyword costs only that
//! pass and is returned borrowed. A hit runs the keyword's rules *at the hit*, never over the whole text: tokens of
//! a known form by an anchored pattern of `rules.toml` (`form`); `name = value` pairs by a small parser that judges
//! name and value separately (`assignment`, `name`, `value`, `passphrase`, using the lists of `words.toml`;
//! `filled` for values of whole lines, `pair` for a name in a field of its own, `list` for several values, `phrase`
//! for other languages); URLs, headers and login files in `connection`; private keys in `pem`. A rule
//! reads a bounded number of bytes before it rejects and consumes those it accepts, so the cost is linear, even
//! for hostile text.
//!
//! In JSON (`json`), images and encrypted payloads are recognized by their shape and kept (`opaque`).
//!
//! Rules read the text as a person sees it (`view`): without colors, and with `\n`, `\t` and `\u003d` unescaped,
//! even if escaped several times. Lines that a terminal may have wrapped are read a second time, joined (`wrap`).
//! Secrets found there are replaced in the original text.
//!
//! A replacement changes the context of the following text, so a text with hits is read again until a pass finds
//! nothing (at most `PASSES_MAX` passes). Redaction is idempotent.
//!
//! # Requirements for callers
//!
//! Rules recognize only whole secrets. To keep an excerpt, redact a window larger than the excerpt and cut
//! afterwards; cutting first would turn a token into an unrecognizable fragment.
//!
//! # What is deliberately kept
//!
//! Digests, commit ids, UUIDs, paths, references (`$TOKEN`, `${{ secrets.X }}`, `env::var("KEY")`), types
//! (`token: String`), counts (`max_tokens=4096`), and placeholders: `<your-key>`, `xxxx`, `changeme`,
//! `your_api_key_here`, and a value that only repeats its name (`password=password`). A bare value of letters
//! counts as a variable (`token=token`), except after an `UPPER_CASE=` name, as in an environment file, and unless it
//! looks like no word (`password=kQnVlzegCclm`, `--password JiuetkFRus`).
//!
//! # Adding a kind of token
//!
//! Add a table to `rules.toml` with examples to hide and to keep; the tests plant them in every context.

mod assignment;
mod connection;
mod filled;
mod flag;
mod form;
mod json;
mod keywords;
mod list;
mod name;
mod opaque;
mod pair;
mod passphrase;
mod pattern;
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

/// Replaces each secret.
pub const MARKER: &str = "[REDACTED_SECRET]";

/// Version of the rules. Raise it when text that was redacted before would lose more now: an archive is redacted again.
/// What else keeps redacted text has versions of its own: `Fold::VERSION` and the search index. Memory keeps what older
/// rules left of a thread until it is learned again: asking a model about every thread for a new rule would cost too much.
pub const VERSION: u32 = 3;

/// Maximum passes over one text. Ordinary text needs two; the bound is for hostile text.
const PASSES_MAX: u32 = 6;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedactedText<'a> {
    /// Borrowed if nothing was replaced.
    pub text: Cow<'a, str>,
    pub hits: u32,
}

/// Replaces every secret in a decoded text, keeping the names before them:
/// `API_KEY=…` becomes `API_KEY=[REDACTED_SECRET]`.
///
/// Never fails and never panics. Time is linear in the length of `text`. Idempotent.
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

/// The secrets of a text: byte ranges on character boundaries, in order, not overlapping.
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

/// Finds secrets in a text as it is, and with its wrapped lines joined.
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

/// Finds the secrets whose keywords are in a part of a text.
fn secrets_within(text: &str, part: Range<usize>) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let end = part.end.min(bytes.len());
    let mut at = part.start;
    let mut found: Vec<Range<usize>> = Vec::new();
    while let Some(hit) = RULES.next_hit(&bytes[..end], at) {
        let floor = found.last().map_or(0, |last| last.end);
        // Always advance, whatever a rule returns: the loop must end.
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
