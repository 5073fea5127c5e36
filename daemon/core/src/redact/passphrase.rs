//! Distinguishes passwords made of words, `password = "correct horse battery"`, from sentences,
//! `password: "must be at least 8 characters"`.
//!
//! # The rule
//! After a password's name, a quoted value with spaces is a passphrase if it consists of plain words (2 to 12,
//! separated by one space, letters and digits only, the first not capitalized) and contains none of the words that
//! are typical of sentences and labels. Diceware lists omit nearly all of these words. A sentence of three words
//! without any of them is rare, and hiding it loses only one message after a password's name.

use std::ops::RangeInclusive;

use super::words::WORDS;

const WORDS_IN_ONE: RangeInclusive<usize> = 2..=12;
const WORD_BYTES_MAX: usize = 24;

/// Whether a quoted value with spaces is a password rather than a sentence about one.
pub(super) fn is_passphrase(value: &[u8]) -> bool {
    let words = || value.split(|b| *b == b' ');
    let is_capitalized = value.first().is_some_and(u8::is_ascii_uppercase);
    !is_capitalized
        && WORDS_IN_ONE.contains(&words().take(WORDS_IN_ONE.end() + 1).count())
        && words().all(|word| is_plain(word) && !is_function_word(word))
        && words().any(|word| word.iter().any(|b| !b.is_ascii_digit()))
}

/// Accepts non-ASCII letters: a word of any language.
fn is_plain(word: &[u8]) -> bool {
    let is_letter = |b: &u8| b.is_ascii_alphanumeric() || *b >= 0x80;
    (1..=WORD_BYTES_MAX).contains(&word.len()) && word.iter().all(is_letter)
}

fn is_function_word(word: &[u8]) -> bool {
    let word = word.to_ascii_lowercase();
    str::from_utf8(&word).is_ok_and(|word| WORDS.function_words.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passphrases_are_distinguished_from_sentences() {
        for words in [
            "open sesame",
            "correct horse battery",
            "correct horse battery staple",
            "tr0ub4dor three",
            "grüner apfel",
            "orbit 42 walnut",
            "alpha bravo charlie delta echo foxtrot golf hotel india juliett kilo lima",
        ] {
            assert!(is_passphrase(words.as_bytes()), "{words}");
        }
        for prose in [
            "must be at least 8 characters",
            "is required",
            "not set",
            "wrong password",
            "Enter it twice",
            "too short",
            "at rest, encrypted",
            " + value + ",
            "double  blank",
            "12 34",
            "text-sm font-bold",
            "lonely",
            "alpha bravo charlie delta echo foxtrot golf hotel india juliett kilo lima mike",
        ] {
            assert!(!is_passphrase(prose.as_bytes()), "{prose}");
        }
    }
}
