//! The meaningful words of a line, as hashes.

use rustc_hash::FxHasher;
use std::hash::Hasher as _;

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

/// [`STOP_WORDS`] as numbers in the same order: comparing strings took half of a view's time.
const STOP_NUMBERS: [u64; STOP_WORDS.len()] = {
    let mut numbers = [0; STOP_WORDS.len()];
    let mut index = 0;
    while index < numbers.len() {
        numbers[index] = number(STOP_WORDS[index].as_bytes());
        index += 1;
    }
    numbers
};

/// The terms of `text`, each once, sorted.
pub(super) fn of(text: &str) -> Vec<u32> {
    let mut terms = Vec::with_capacity(text.len() / 6);
    let is_inside =
        |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | ':' | '-' | '#' | '@');
    for word in text.split(|c: char| !is_inside(c)) {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '_');
        if word.chars().nth(1).is_some() || !word.is_ascii() {
            push(&mut terms, word);
        }
    }
    terms.sort_unstable();
    terms.dedup();
    terms
}

fn push(terms: &mut Vec<u32>, word: &str) {
    if word.is_ascii() {
        if word.len() > 8 || STOP_NUMBERS.binary_search(&number(word.as_bytes())).is_err() {
            terms.push(hash(word.bytes().map(|byte| char::from(byte.to_ascii_lowercase()))));
        }
        return;
    }
    // In scripts without spaces, pairs of letters stand in for words.
    if word.chars().any(is_unspaced) {
        let letters: Vec<char> = word.chars().collect();
        terms.extend(letters.windows(2).map(|pair| hash(pair.iter().copied())));
        return;
    }
    terms.push(hash(word.to_lowercase().chars()));
}

/// Up to eight ASCII letters as one number, in lower case, in the same sort order.
const fn number(letters: &[u8]) -> u64 {
    let mut number = 0;
    let mut index = 0;
    while index < 8 {
        number <<= 8;
        if index < letters.len() {
            number |= letters[index].to_ascii_lowercase() as u64;
        }
        index += 1;
    }
    number
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
    fn stop_words_are_sorted_for_the_search() {
        assert!(STOP_NUMBERS.is_sorted());
        assert!(STOP_WORDS.iter().all(|word| word.is_ascii() && word.len() <= 8));
    }

    #[test]
    fn terms_are_words_or_pairs_of_letters_in_unspaced_scripts() {
        assert_eq!(of("the Parser keeps parser state"), of("parser keeps state"));
        assert_eq!(of("src/a.rs:4").len(), 1);
        assert_eq!(of("修复解析器").len(), 4);
        assert!(of("a the of").is_empty());
    }
}
