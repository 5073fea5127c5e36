//! The meaningful words of a line, as hashes.

use std::hash::Hasher as _;
use std::sync::LazyLock;

use rustc_hash::{FxHashSet, FxHasher};

/// Words that say nothing about the subject, in the most common languages.
const STOP_WORDS: [&str; 98] = [
    "a", "all", "also", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can",
    "could", "das", "de", "den", "der", "des", "did", "die", "do", "does", "done", "each", "ein",
    "eine", "en", "est", "et", "etc", "for", "from", "get", "had", "has", "have", "here", "how",
    "i", "if", "il", "im", "in", "into", "is", "ist", "it", "its", "just", "la", "le", "les",
    "let", "mit", "more", "most", "my", "new", "no", "not", "now", "of", "on", "or", "our", "out",
    "per", "que", "qui", "should", "so", "sur", "than", "that", "the", "their", "them", "then",
    "there", "they", "this", "to", "un", "und", "une", "up", "use", "used", "von", "was", "we",
    "were", "what", "when", "will", "with",
];

/// Hashes of the [`STOP_WORDS`]: comparing strings took half of a view's time.
static STOPS: LazyLock<FxHashSet<u32>> =
    LazyLock::new(|| STOP_WORDS.iter().map(|word| hash(word.chars())).collect());

/// The terms of `text`, each once, sorted.
pub(super) fn of(text: &str) -> Vec<u32> {
    let mut terms = Vec::with_capacity(text.len() / 6);
    let is_inside =
        |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | ':' | '-' | '#' | '@');
    for word in text.split(|c| !is_inside(c)) {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '_');
        if word.is_ascii() {
            let hash = hash(word.chars().map(|c| c.to_ascii_lowercase()));
            terms.extend(Some(hash).filter(|hash| word.len() > 1 && !STOPS.contains(hash)));
        } else if word.chars().any(is_unspaced) {
            // In scripts without spaces, pairs of letters stand in for words.
            let letters: Vec<char> = word.chars().collect();
            terms.extend(letters.windows(2).map(|pair| hash(pair.iter().copied())));
        } else {
            terms.push(hash(word.to_lowercase().chars()));
        }
    }
    terms.sort_unstable();
    terms.dedup();
    terms
}

fn is_unspaced(letter: char) -> bool {
    matches!(letter, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}')
}

fn hash(letters: impl Iterator<Item = char>) -> u32 {
    let mut hasher = FxHasher::default();
    letters.for_each(|letter| hasher.write_u32(u32::from(letter)));
    // The upper half is better mixed.
    u32::try_from(hasher.finish() >> 32).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_words_or_pairs_of_letters_in_unspaced_scripts() {
        assert_eq!(of("the Parser keeps parser state"), of("parser keeps state"));
        assert_eq!(of("src/a.rs:4").len(), 1);
        assert_eq!(of("修复解析器").len(), 4);
        assert!(of("a the of").is_empty());
    }
}
