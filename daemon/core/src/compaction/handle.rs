//! Handles: short, durable names of dropped items.
//!
//! `<thread>#<seq>.<digest>` names one item, `<thread>#<first>-<last>.<digest>` a span of lines. The digits
//! are a prefix of the first item's digest: after a transcript was rewritten, a handle
//! finds nothing rather than another item.

use std::fmt;
use std::str::FromStr;

use crate::digest::Digest128;

/// A reference to lines of a thread or to items of a compaction.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Handle {
    /// A thread's or a compaction's id.
    pub of: String,
    pub first: u64,
    /// Last line; the same for one item.
    pub last: u64,
    /// Prefix of the first item's digest; empty in a handle written by a person.
    pub digest: String,
}

/// Hex digits of a digest that a handle carries: wrong in one of sixteen million.
const DIGEST_DIGITS: usize = 6;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is not a handle; one looks like <thread>#<seq>.<digest> or <thread>#<first>-<last>.<digest>"
)]
pub struct HandleParseError {
    text: String,
}

impl Handle {
    /// The handle of lines `first` to `last`, the first with this digest.
    pub fn new(of: &str, (first, last): (u64, u64), digest: Digest128) -> Self {
        let digest = digest.to_string()[..DIGEST_DIGITS].to_owned();
        Self { of: of.to_owned(), first, last, digest }
    }

    /// Whether an item with this digest matches.
    pub fn fits(&self, digest: Digest128) -> bool {
        digest.to_string().starts_with(&self.digest)
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.of, self.first)?;
        if self.last != self.first {
            write!(f, "-{}", self.last)?;
        }
        if !self.digest.is_empty() {
            write!(f, ".{}", self.digest)?;
        }
        Ok(())
    }
}

impl FromStr for Handle {
    type Err = HandleParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parse = || {
            let (of, place) = text.rsplit_once('#')?;
            let (lines, digest) = place.split_once('.').unwrap_or((place, ""));
            let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
            let (first, last) = (number(first)?, number(last)?);
            let is_digest = digest.len() <= 32 && digest.bytes().all(|b| b.is_ascii_hexdigit());
            let ok = !of.is_empty() && first <= last && is_digest;
            ok.then(|| Self { of: of.to_owned(), first, last, digest: digest.to_ascii_lowercase() })
        };
        parse().ok_or_else(|| HandleParseError { text: text.chars().take(120).collect() })
    }
}

/// Digits only: `parse` would accept a sign.
fn number(text: &str) -> Option<u64> {
    if text.bytes().all(|b| b.is_ascii_digit()) { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_print_and_parse() {
        let digest = Digest128::of(b"item");
        for lines in [(7, 7), (0, 63)] {
            let handle = Handle::new("01a1-b#x", lines, digest);
            assert_eq!(handle.to_string().parse::<Handle>(), Ok(handle.clone()));
            assert!(handle.fits(digest) && !handle.fits(Digest128::of(b"other")));
        }
        assert_eq!("t#5".parse::<Handle>().map(|h| (h.first, h.digest)), Ok((5, String::new())));
        for text in ["", "t", "t#", "#1", "t#2-1", "t#a", "t#1.xyz", "t#-1", "t#+1"] {
            assert!(text.parse::<Handle>().is_err(), "{text}");
        }
    }
}
