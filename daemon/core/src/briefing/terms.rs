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

/// What a byte is to a term: 0 separates terms, and any other value is the letter in lower case.
static LETTERS: [u8; 128] = {
    let mut letters = [0; 128];
    let mut byte = 0_u8;
    while byte < 128 {
        if is_end(byte) || matches!(byte, b'.' | b'/' | b':' | b'-' | b'#' | b'@') {
            letters[byte as usize] = byte.to_ascii_lowercase();
        }
        byte += 1;
    }
    letters
};

/// Whether a term may begin and end with it.
const fn is_end(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The terms of `text`, each once, sorted.
///
/// A view reads all of its candidates, so this reads bytes.
pub(super) fn of(text: &str) -> Vec<u32> {
    let mut terms = Vec::with_capacity(text.len() / 6);
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let (mut hasher, mut number, start) = (FxHasher::default(), 0, at);
        let mut next = Some(&0);
        while let Some(byte) = bytes.get(at) {
            next = LETTERS.get(usize::from(*byte));
            let Some(letter @ 1..) = next else { break };
            hasher.write_u32(u32::from(*letter));
            number = number << 8 | u64::from(*letter);
            at += 1;
        }
        let word = &bytes[start..at];
        match (next, word) {
            (None, _) => at = push_other(&mut terms, text, start, at),
            (_, [first, .., last]) if is_end(*first) && is_end(*last) => {
                push(&mut terms, (word.len(), number), &hasher);
            }
            _ => push_trimmed(&mut terms, word),
        }
        // Past the separator.
        at += usize::from(next == Some(&0));
    }
    terms.sort_unstable();
    terms.dedup();
    terms
}

/// Adds a word of ASCII, given by its length, see [`number`], and its hash.
fn push(terms: &mut Vec<u32>, (len, number): (usize, u64), hasher: &FxHasher) {
    let is_stop = || STOP_NUMBERS.binary_search(&(number << (8 * (8 - len)))).is_ok();
    if len > 8 || !is_stop() {
        terms.push(hash_of(hasher));
    }
}

/// Adds a word of ASCII without the marks around it.
fn push_trimmed(terms: &mut Vec<u32>, word: &[u8]) {
    let ends = word.iter().position(|byte| is_end(*byte));
    let ends = ends.zip(word.iter().rposition(|byte| is_end(*byte)));
    let Some((first, last)) = ends.filter(|(first, last)| first < last) else { return };
    let (mut hasher, mut number) = (FxHasher::default(), 0);
    for byte in &word[first..=last] {
        let letter = byte.to_ascii_lowercase();
        hasher.write_u32(u32::from(letter));
        number = number << 8 | u64::from(letter);
    }
    push(terms, (last + 1 - first, number), &hasher);
}

/// Reads on from a character at `at` that is not ASCII, in a word that began at `start`; returns where it stopped.
fn push_other(terms: &mut Vec<u32>, text: &str, start: usize, at: usize) -> usize {
    let rest = &text[at..];
    let letter = rest.chars().next().unwrap_or_default();
    if !letter.is_alphanumeric() {
        push_trimmed(terms, &text.as_bytes()[start..at]);
        return at + letter.len_utf8();
    }
    let is_inside = |c: char| match LETTERS.get(c as usize) {
        Some(letter) => *letter != 0,
        None => c.is_alphanumeric(),
    };
    let end = rest.find(|c: char| !is_inside(c)).map_or(text.len(), |end| at + end);
    push_word(terms, text[start..end].trim_matches(|c: char| !c.is_alphanumeric() && c != '_'));
    end
}

fn push_word(terms: &mut Vec<u32>, word: &str) {
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
    hash_of(&hasher)
}

fn hash_of(hasher: &FxHasher) -> u32 {
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
