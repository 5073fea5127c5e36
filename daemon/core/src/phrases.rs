//! Searches a text for all phrases of a fixed list at once.

use std::sync::OnceLock;

use aho_corasick::packed::Searcher;

/// Phrases per searcher. From 33 on it compares half as many bytes at once, which is still faster in texts as short
/// as these than a second search; for more than 64 it cannot be built.
const AT_ONCE: usize = 64;

/// A list of phrases. The first search builds a searcher for all of them, which compares many bytes at once:
/// searching for each separately took a third of the time of a fold, and a regular expression takes twice as long
/// in texts as short as these.
#[derive(Debug)]
pub struct Phrases {
    phrases: &'static [&'static str],
    /// `None` on a processor that cannot compare many bytes at once.
    searchers: OnceLock<Option<Vec<Searcher>>>,
}

impl Phrases {
    pub const fn new(phrases: &'static [&'static str]) -> Self {
        Self { phrases, searchers: OnceLock::new() }
    }

    /// Whether `text` contains one of the phrases, case-sensitively.
    pub fn is_in(&self, text: &str) -> bool {
        let searchers = || self.phrases.chunks(AT_ONCE).map(Searcher::new).collect();
        match self.searchers.get_or_init(searchers) {
            Some(searchers) => searchers.iter().any(|searcher| searcher.find(text).is_some()),
            None => self.phrases.iter().any(|phrase| text.contains(phrase)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_match_case_sensitively() {
        static PHRASES: Phrases = Phrases::new(&["a.c", "won't", "потому", "[c]"]);
        for text in ["xa.cx", "it won't", "и потому", "press [c]"] {
            assert!(PHRASES.is_in(text), "{text}");
        }
        for text in ["", "abc", "wont", "ПОТОМУ", "c"] {
            assert!(!PHRASES.is_in(text), "{text}");
        }
    }
}
