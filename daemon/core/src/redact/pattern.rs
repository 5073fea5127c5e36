//! A regular expression that is compiled at its first use.

use std::sync::OnceLock;

use regex::bytes::{Captures, Regex};

pub(super) struct Pattern {
    pattern: &'static str,
    /// `None` if the pattern is invalid: then it matches nothing.
    regex: OnceLock<Option<Regex>>,
}

impl Pattern {
    pub(super) const fn new(pattern: &'static str) -> Self {
        Self { pattern, regex: OnceLock::new() }
    }

    pub(super) fn regex(&self) -> Option<&Regex> {
        self.regex.get_or_init(|| Regex::new(self.pattern).ok()).as_ref()
    }

    pub(super) fn captures<'t>(&self, text: &'t [u8]) -> Option<Captures<'t>> {
        self.regex()?.captures(text)
    }

    pub(super) fn is_match(&self, text: &[u8]) -> bool {
        self.regex().is_some_and(|regex| regex.is_match(text))
    }
}
