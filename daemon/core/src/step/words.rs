//! Text of a message, redacted on demand.

use std::borrow::Cow;
use std::cell::OnceCell;

use crate::digest::Digest128;
use crate::redact::redact;
use crate::text;

/// Bytes of a message to keep: a longer one loses its middle.
pub const WORDS_BYTES: usize = 16 * 1_024;

/// A message, or the part of it that its author wrote.
#[derive(Debug)]
pub struct Words<'a> {
    whole: Cow<'a, str>,
    redacted: OnceCell<String>,
}

impl<'a> Words<'a> {
    pub(super) fn of(whole: impl Into<Cow<'a, str>>) -> Self {
        Self { whole: whole.into(), redacted: OnceCell::new() }
    }

    /// Narrows the text to what `part` returns.
    pub(super) fn narrowed(self, part: impl Fn(&str) -> Option<&str>) -> Option<Self> {
        match self.whole {
            Cow::Borrowed(whole) => part(whole).map(Self::of),
            Cow::Owned(whole) => part(&whole).map(|part| Self::of(part.to_owned())),
        }
    }

    pub fn bytes(&self) -> u64 {
        self.whole.len() as u64
    }

    /// Length and digest of the trimmed text, to recognize it again.
    pub fn digest(&self) -> (usize, Digest128) {
        let words = self.whole.trim();
        (words.len(), Digest128::of(words.as_bytes()))
    }

    /// The text, redacted, at most about `WORDS_BYTES`.
    pub fn redacted(&self) -> &str {
        self.redacted.get_or_init(|| {
            redact(&text::cut_middle_lines(&self.whole, WORDS_BYTES)).text.into_owned()
        })
    }
}
