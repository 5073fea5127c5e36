//! Credentials of a known form, listed in `rules.toml`: a keyword and a pattern anchored at it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::OnceLock;

use regex::bytes::Regex;
use serde::Deserialize;

use super::rule::Verdict;
use super::value;

/// Rules by id.
pub(super) const RULES: &str = include_str!("rules.toml");
/// Replaces `<uuid>` in a pattern.
const UUID: &str = "[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}";
/// Minimum distinct bytes in a token, or in the second half of a longer one; a row of `x` is a placeholder.
const DISTINCT_BYTES_MIN: u32 = 4;
/// Minimum bytes of a half to be judged alone.
const HALF_BYTES_MIN: usize = 8;
/// Maximum bytes of a token.
const TOKEN_BYTES_MAX: usize = 16 * 1024;

/// A rule of the file; only tests read its examples.
#[derive(Deserialize)]
pub(super) struct TokenRule {
    keywords: Vec<String>,
    /// Letters to append to each keyword: one keyword per letter.
    #[serde(default)]
    then: String,
    lead: Option<Lead>,
    pattern: String,
    #[serde(default)]
    check: Proof,
    /// Compiled at the keyword's first hit; most never have one.
    #[serde(skip)]
    regex: OnceLock<Option<Regex>>,
}

/// The part of the token before its keyword.
#[derive(Deserialize)]
struct Lead {
    of: Alphabet,
    min: usize,
    max: usize,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Alphabet {
    Alphanumeric,
    Base64,
    Digit,
    Hex,
    Token,
}

impl Alphabet {
    const fn has(self, byte: u8) -> bool {
        match self {
            Self::Alphanumeric => byte.is_ascii_alphanumeric(),
            Self::Base64 => byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/',
            Self::Digit => byte.is_ascii_digit(),
            Self::Hex => byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'),
            Self::Token => byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-',
        }
    }
}

/// A check of the token beyond its pattern.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Proof {
    Any,
    Filled,
    Mixed,
    Password,
    Random,
    #[default]
    Varied,
}

impl Proof {
    fn passes(self, secret: &[u8]) -> bool {
        // Check the second half: a placeholder's prefix varies enough to pass.
        let half = if secret.len() < 2 * HALF_BYTES_MIN { 0 } else { secret.len() / 2 };
        let is_varied = || value::distinct_bytes(&secret[half..]) >= DISTINCT_BYTES_MIN;
        match self {
            Self::Any => true,
            Self::Filled => is_varied() && !value::is_placeholder(secret),
            Self::Mixed => is_varied() && value::is_mixed(secret),
            Self::Password => {
                let is_number = secret.iter().all(u8::is_ascii_digit);
                !is_number && !value::is_reference(secret) && !value::is_placeholder(secret)
            }
            Self::Random => {
                is_varied() && value::is_random(secret) && !value::is_placeholder(secret)
            }
            Self::Varied => is_varied(),
        }
    }
}

/// All rules of the file; empty if it is invalid, which a test rules out.
pub(super) fn all() -> Vec<TokenRule> {
    let forms: BTreeMap<String, TokenRule> = toml::from_str(RULES).unwrap_or_default();
    forms.into_values().collect()
}

impl TokenRule {
    pub(super) fn all_keywords(&self) -> Vec<String> {
        if self.then.is_empty() {
            return self.keywords.clone();
        }
        let longer = |keyword: &String| -> Vec<String> {
            self.then.chars().map(|letter| format!("{keyword}{letter}")).collect()
        };
        self.keywords.iter().flat_map(longer).collect()
    }

    /// `None` if the pattern is invalid, which a test rules out.
    pub(super) fn regex(&self) -> Option<&Regex> {
        let pattern = || self.pattern.replace("<uuid>", UUID);
        let compile = || Regex::new(&format!("(?-u)^(?:{})", pattern())).ok();
        self.regex.get_or_init(compile).as_ref()
    }

    pub(super) fn judge(&self, text: &[u8], hit: &Range<usize>, floor: usize) -> Verdict {
        let Some(start) = self.start(text, hit.start, floor) else { return Verdict::Nothing };
        let window = &text[hit.start..text.len().min(hit.start + TOKEN_BYTES_MAX)];
        let Some(regex) = self.regex() else { return Verdict::Nothing };
        // Most hits do not match, and `find` is cheaper than `captures`.
        let Some(token) = regex.find(window) else { return Verdict::Nothing };
        let is_whole = regex.captures_len() == 1;
        let captures = if is_whole { None } else { regex.captures(window) };
        let groups = captures.iter().flat_map(|captures| captures.iter().skip(1).flatten());
        let parts = is_whole.then_some(token).into_iter().chain(groups);
        let secrets = parts.filter_map(|part| {
            let from = if part.start() == 0 { start } else { hit.start + part.start() };
            let secret = from..hit.start + part.end();
            let next = text.get(secret.end);
            let continues = next.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
            (!continues && self.check.passes(&text[secret.clone()])).then_some(secret)
        });
        match secrets.collect::<Vec<_>>() {
            secrets if !secrets.is_empty() => Verdict::Secrets(secrets),
            _ if is_whole => Verdict::Passed { resume: hit.start + token.len() },
            _ => Verdict::Nothing,
        }
    }

    /// The token's start, if a token may begin there.
    fn start(&self, text: &[u8], at: usize, floor: usize) -> Option<usize> {
        let start = match &self.lead {
            None => at,
            Some(lead) => {
                let run = text[floor.min(at)..at].iter().rev().take(lead.max + 1);
                let bytes = run.take_while(|b| lead.of.has(**b)).count();
                if !(lead.min..=lead.max).contains(&bytes) {
                    return None;
                }
                at - bytes
            }
        };
        is_border(text, start).then_some(start)
    }
}

/// Whether a word may begin here: not after a letter or digit, except those of a color or an encoded byte.
fn is_border(text: &[u8], at: usize) -> bool {
    let is_word = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    if at == 0 || !is_word(text.get(at)) || !is_word(text.get(at - 1)) {
        return true;
    }
    let before = &text[at.saturating_sub(12)..at];
    let is_encoded = matches!(before, [.., b'%', high, low] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit());
    // `[32m`, whose escape character was lost.
    let is_color = || {
        let codes = before.strip_suffix(b"m").unwrap_or_default().iter().rev();
        codes.copied().find(|b| !b.is_ascii_digit() && *b != b';') == Some(b'[')
    };
    is_encoded || is_color()
}
