//! Handles: short, durable names of dropped items.
//!
//! `<thread>#<seq>.<digest>` names one item, `<thread>#<first>-<last>.<digest>` a span of lines. The digits are
//! a prefix of the first item's digest, so that after a rewrite of the transcript a handle finds nothing rather
//! than another item. If the thread is known, `#747` or `747` is enough. `#<call>` names the output of a call,
//! by the id that agent and provider use for it.

use std::fmt;
use std::str::FromStr;

use crate::digest::Digest128;

/// A reference to lines of a thread or to items of a compaction.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Handle {
    /// A thread's or a compaction's id.
    pub of: String,
    pub first: u64,
    /// Last line; equal to `first` for one item.
    pub last: u64,
    /// Prefix of the first item's digest; empty in a handle written by a person.
    pub digest: String,
}

/// Hex digits of a digest in a handle: one in sixteen million matches by chance.
const DIGEST_DIGITS: usize = 6;

const CALL_CHARS: usize = 128;

/// Characters of an invalid handle to quote in its error.
const QUOTED_CHARS: usize = 120;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HandleParseError {
    #[error(
        "{0:?} is not a handle; one looks like #<seq>, #<first>-<last> or <thread>#<seq>.<digest>"
    )]
    NoHandle(String),
    /// `#747` without a thread.
    #[error("{0:?} does not name a thread: pass the thread with the handle, or write <thread>{0}")]
    NoThread(String),
}

/// Characters to strip around a handle that was copied out of a text.
const AROUND: &[char] = &['[', ']', '(', ')', '`', '"', '\'', ',', ';', ':', '.', ' ', '\t', '\n'];

impl Handle {
    /// The handle of lines `first` to `last`, the first with this digest.
    pub fn new(of: &str, (first, last): (u64, u64), digest: Digest128) -> Self {
        let digest = digest.to_string()[..DIGEST_DIGITS].to_owned();
        Self { of: of.to_owned(), first, last, digest }
    }

    /// Parses a handle as it is printed: complete, or as a view prints it, `#747` or `747`, of `thread`. Fails
    /// if the text is not a handle, or names no thread and `thread` is `None`.
    pub fn parse_in(text: &str, thread: Option<&str>) -> Result<Self, HandleParseError> {
        let text = text.trim_matches(AROUND);
        let (of, place) = text.rsplit_once('#').unwrap_or(("", text));
        let quoted = || text.chars().take(QUOTED_CHARS).collect::<String>();
        let (first, last, digest) =
            place_of(place).ok_or_else(|| HandleParseError::NoHandle(quoted()))?;
        let of = match (of, thread) {
            ("", Some(thread)) => thread,
            ("", None) => return Err(HandleParseError::NoThread(quoted())),
            (of, _) => of,
        };
        Ok(Self { of: of.to_owned(), first, last, digest })
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
        Self::parse_in(text, None)
    }
}

/// The thread and the call named by `<thread>#<call>`, or by `#<call>` if the thread is known; `None` if the
/// text names lines. It can name the output of a call before its line is written.
pub fn call_of<'a>(text: &'a str, thread: Option<&'a str>) -> Option<(&'a str, &'a str)> {
    let text = text.trim_matches(AROUND);
    let (of, call) = text.rsplit_once('#').unwrap_or(("", text));
    let of = if of.is_empty() { thread? } else { of };
    let is_id = call.len() <= CALL_CHARS
        && call.bytes().any(|b| b.is_ascii_alphabetic())
        && call.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    (is_id && place_of(call).is_none()).then_some((of, call))
}

/// Parses the part of a handle after `#`: lines and digest.
fn place_of(place: &str) -> Option<(u64, u64, String)> {
    let (lines, digest) = place.split_once('.').unwrap_or((place, ""));
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    let (first, last) = (number(first)?, number(last)?);
    let is_digest = digest.len() <= 32 && digest.bytes().all(|b| b.is_ascii_hexdigit());
    (first <= last && is_digest).then(|| (first, last, digest.to_ascii_lowercase()))
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

    #[test]
    fn a_short_handle_refers_to_the_given_thread() {
        for (text, whole) in [
            ("#747", "t#747"),
            ("747", "t#747"),
            ("`#747`,", "t#747"),
            ("[#7-9.ABCDEF]", "t#7-9.abcdef"),
            ("7.abcdef", "t#7.abcdef"),
            ("other#7", "other#7"),
        ] {
            let read = Handle::parse_in(text, Some("t")).map(|handle| handle.to_string());
            assert_eq!(read.as_deref(), Ok(whole), "{text}");
        }
        let without = Handle::parse_in("#747", None);
        assert_eq!(without, Err(HandleParseError::NoThread("#747".to_owned())));
        for text in ["", "#", "t", "747x", "-3", "#7.xyz"] {
            let read = Handle::parse_in(text, Some("t"));
            assert!(matches!(read, Err(HandleParseError::NoHandle(_))), "{text}: {read:?}");
        }
    }

    #[test]
    fn a_call_is_named_by_its_id() {
        let longest = "c".repeat(CALL_CHARS);
        let too_long = "c".repeat(CALL_CHARS + 1);
        for (text, thread, expected) in [
            ("t#call_a-1", None, Some(("t", "call_a-1"))),
            ("t#call_a", Some("other"), Some(("t", "call_a"))),
            ("[`#call_a`]", Some("t"), Some(("t", "call_a"))),
            ("call_a", Some("t"), Some(("t", "call_a"))),
            (longest.as_str(), Some("t"), Some(("t", longest.as_str()))),
            (too_long.as_str(), Some("t"), None),
            ("#call_a", None, None),
            ("#747", Some("t"), None),
            ("#7-9.abcdef", Some("t"), None),
            ("#7_7", Some("t"), None),
            ("#call a", Some("t"), None),
            ("t#", Some("t"), None),
        ] {
            assert_eq!(call_of(text, thread), expected, "{text}");
        }
    }
}
