//! Passwords made of words: `password = "correct horse battery"`, but not
//! `password: "must be at least 8 characters"`.
//!
//! # The rule
//! Behind the name of a password and in quotes, a value with blanks is a passphrase when it is nothing
//! but plain words (2 to 12, one blank between, letters and digits only, the first not capitalised) and
//! none of them is a word that sentences and labels are made of. Whoever rolls dice for words gets none
//! of those: the lists of diceware leave nearly all of them out. A sentence of three words without a
//! single one of them is rare, and what is lost then is one message behind a password's name.

use std::ops::RangeInclusive;

use super::words::WORDS;

const WORDS_IN_ONE: RangeInclusive<usize> = 2..=12;
/// The longest word of one, in bytes.
const WORD_BYTES_MAX: usize = 24;

/// Whether a quoted value with blanks is a password rather than a sentence about one.
pub(super) fn is_passphrase(value: &[u8]) -> bool {
    let words = || value.split(|b| *b == b' ');
    let is_capitalised = value.first().is_some_and(u8::is_ascii_uppercase);
    !is_capitalised
        && WORDS_IN_ONE.contains(&words().take(WORDS_IN_ONE.end() + 1).count())
        && words().all(|word| is_plain(word) && !tells(word))
        && words().any(|word| word.iter().any(|b| !b.is_ascii_digit()))
}

/// Also letters outside of ASCII: a word of any language.
fn is_plain(word: &[u8]) -> bool {
    let is_letter = |b: &u8| b.is_ascii_alphanumeric() || *b >= 0x80;
    (1..=WORD_BYTES_MAX).contains(&word.len()) && word.iter().all(is_letter)
}

fn tells(word: &[u8]) -> bool {
    let word = word.to_ascii_lowercase();
    str::from_utf8(&word).is_ok_and(|word| WORDS.telling.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_told_from_sentences() {
        for words in [
            "open sesame",
            "correct horse battery",
            "correct horse battery staple",
            "tr0ub4dor three",
            "grüner apfel",
            "orbit 42 walnut",
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
        ] {
            assert!(!is_passphrase(prose.as_bytes()), "{prose}");
        }
    }
}
