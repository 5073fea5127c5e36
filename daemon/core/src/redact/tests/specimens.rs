//! Fills in the example secrets of the data files: `{an:36}` becomes 36 random letters and digits.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::redact::{MARKER, redact};

static BLANK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\{(an|b58|b64|digits|hex|lower|upper|url|uuid)(?::(\d+))?\}").unwrap()
});

/// Draws from an alphabet, reproducibly by seed.
struct Generator(u64);

impl Generator {
    fn next(&mut self, below: usize) -> usize {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % below
    }

    fn draw(&mut self, kind: &str, length: usize) -> String {
        const DIGITS: &str = "0123456789";
        const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
        let upper = LOWER.to_uppercase();
        let alphabet = match kind {
            "an" => [LOWER, &upper, DIGITS].concat(),
            "b58" => "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz".to_owned(),
            "b64" => [LOWER, &upper, DIGITS, "+/"].concat(),
            "digits" => DIGITS.to_owned(),
            "hex" => "0123456789abcdef".to_owned(),
            "lower" => [LOWER, DIGITS].concat(),
            "upper" => [&upper, DIGITS].concat(),
            "url" => [LOWER, &upper, DIGITS, "-_"].concat(),
            _ => {
                let part = |length| Generator(self.0 ^ length as u64).draw("hex", length);
                return [
                    part(8),
                    part(4),
                    part(5)[1..].to_owned(),
                    part(6)[2..].to_owned(),
                    part(12),
                ]
                .join("-");
            }
        };
        let letter = |_| alphabet.as_bytes()[self.next(alphabet.len())];
        let mut drawn: Vec<u8> = (0..length).map(letter).collect();
        // Ensure typical variety: a digit at the start, letters at the end.
        if length >= 4 && !matches!(kind, "digits") {
            drawn[1] = b'7';
            drawn[length - 1] = if kind == "upper" { b'Q' } else { b'e' };
            if matches!(kind, "an" | "b58" | "b64" | "url") {
                drawn[length - 2] = b'K';
            }
        }
        String::from_utf8(drawn).unwrap()
    }
}

/// Fills in an example; different seeds give different text.
pub(super) fn filled(specimen: &str, seed: u64) -> String {
    let mut generator =
        Generator(0x9e37_79b9_7f4a_7c15 ^ (seed + 1).wrapping_mul(0xff51_afd7_ed55_8ccd));
    let draw = |blank: &Captures<'_>| {
        let length = blank.get(2).map_or(0, |length| length.as_str().parse().unwrap());
        generator.draw(&blank[1], length)
    };
    BLANK.replace_all(specimen, draw).into_owned()
}

/// The secrets of an example: the text between « and », or all of it.
pub(super) fn secrets(specimen: &str) -> Vec<&str> {
    let marked = specimen.split('«').skip(1).filter_map(|part| part.split('»').next());
    let secrets: Vec<&str> = marked.collect();
    if secrets.is_empty() { vec![specimen] } else { secrets }
}

/// An example without « and ».
pub(super) fn plain(specimen: &str) -> String {
    specimen.replace(['«', '»'], "")
}

/// An example whose secrets, the text between « and », are replaced; without any, it stays as it is.
pub(super) fn redacted(specimen: &str) -> String {
    let mut parts = specimen.split('«');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (_, rest) = part.split_once('»').unwrap();
        out = out + MARKER + rest;
    }
    out
}

/// Checks that exactly the marked parts of each example are replaced.
pub(super) fn check_each(specimens: &[&str]) {
    for specimen in specimens {
        let text = filled(specimen, 1);
        assert_eq!(redact(&plain(&text)).text, redacted(&text), "{specimen}");
    }
}

/// Random letters and digits.
pub(super) fn noise(length: usize) -> String {
    const LETTERS: &str = "aQ7bR2cS9dT4eU1fV6gW3hX8iY5jZ0kPmNoLpKqMrJsItHuGvFwExDyCzB";
    LETTERS.chars().cycle().skip(length % 7).take(length).collect()
}

pub(super) fn hex(length: usize) -> String {
    "3fa85c07d19e24b6".chars().cycle().skip(length % 5).take(length).collect()
}
