//! Judges whether a value is a secret, or only mentions one: a variable, a type, a placeholder.

use super::MARKER;
use super::name::Strength;
use super::passphrase::is_passphrase;
use super::pattern::Pattern;
use super::words::WORDS;

/// How a value follows its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// In quotes: a literal in any language.
    Quoted,
    /// `name=value` without spaces: an environment file, a query, a keyword argument.
    Direct,
    /// `name: value`, `name = value`: a setting, or code.
    Spaced,
    /// `--name value`: an argument, or a sentence about the flag.
    Flag,
}

pub(super) struct Candidate<'t> {
    pub(super) value: &'t [u8],
    /// The byte after the value.
    pub(super) next: Option<u8>,
    pub(super) form: Form,
    pub(super) strength: Strength,
    /// Whether the name is written like an environment variable.
    pub(super) is_environment: bool,
    /// Whether only indentation precedes the name.
    pub(super) starts_line: bool,
}

/// Minimum bytes of a password in quotes or directly after `=`.
const PASSWORD_BYTES_MIN: usize = 4;
/// Minimum bytes of a password where code is possible.
const PASSWORD_SPACED_BYTES_MIN: usize = 6;
/// Minimum bytes of a password of letters of both cases; shorter ones may be names of programs.
const SCRAMBLED_BYTES_MIN: usize = 8;
/// Minimum bytes of a token; shorter ones protect nothing.
const TOKEN_BYTES_MIN: usize = 8;
/// Minimum bytes of a token after an ambiguous name.
const GUESS_BYTES_MIN: usize = 24;

/// `${TOKEN}`, `$TOKEN`, `%TOKEN%`, `{token}`, `<token>`, `[REDACTED]`, `***`.
static REFERENCE: Pattern =
    Pattern::new(r"(?-u)^(?:\$\{|\$\(|\$[A-Za-z_]|%[A-Z(]|\{|<|\[|@|\*{3}|#\{)");

/// `module.name`, `module::name`, `self.name`: code that fetches a value. Digits only in plain words.
static PATH_EXPRESSION: Pattern = Pattern::new(
    r"(?-u)^[&*!]?[A-Za-z_$][A-Za-z_]{0,31}[0-9]?(?:(?:\.|::|->|\?\.)[A-Za-z_]{1,40}[0-9]?)+$",
);

/// `u64`, `uint256`, `bytes32`, `Uint8Array`: a type with a width.
static SIZED_TYPE: Pattern = Pattern::new(
    r"(?i-u)^&?(?:u|i|f|(?:big)?u?int|float|bytes|char|varchar)[0-9]{1,3}(?:(?:clamped)?array)?$",
);

/// Judges a value by its form, its context and its name.
pub(super) fn is_secret(candidate: &Candidate<'_>) -> bool {
    let Candidate { value, next, form, strength, is_environment, .. } = *candidate;
    if strength == Strength::Guess && !is_surely_random(value) {
        return false;
    }
    // First the cheapest check that rejects most.
    if strength != Strength::Password && !is_environment && !is_random(value) {
        return false;
    }
    if is_reference(value) || is_placeholder(value) || is_path(value) {
        return false;
    }
    let has_space = value.iter().any(|b| b.is_ascii_whitespace());
    let long_enough = match (strength, form) {
        (Strength::Password, Form::Quoted | Form::Direct) => value.len() >= PASSWORD_BYTES_MIN,
        (Strength::Password, Form::Spaced | Form::Flag) => value.len() >= PASSWORD_SPACED_BYTES_MIN,
        (Strength::Token | Strength::Guess, _) => value.len() >= TOKEN_BYTES_MIN,
    };
    if !long_enough {
        return false;
    }
    match (form, strength) {
        (Form::Quoted, Strength::Password) if has_space && !is_environment => is_passphrase(value),
        (Form::Quoted, Strength::Password) => !is_label(value),
        (Form::Quoted, _) if has_space => false,
        (Form::Quoted, Strength::Token | Strength::Guess) => {
            is_random(value) || (is_environment && value.iter().all(u8::is_ascii_alphanumeric))
        }
        _ if is_code(value, next) => false,
        (Form::Spaced, Strength::Token | Strength::Guess) if is_identifier(candidate) => false,
        (Form::Direct, _) if is_environment => true,
        (_, Strength::Password) => has_digit_or_sign(value) || is_bare_word_password(candidate),
        (_, Strength::Token | Strength::Guess) => is_random(value),
    }
}

/// Whether a value refers to a secret stored elsewhere, or is already redacted.
pub(super) fn is_reference(value: &[u8]) -> bool {
    REFERENCE.is_match(value)
        || memchr::memmem::find(value, MARKER.as_bytes()).is_some()
        || memchr::memmem::find(value, b"${").is_some()
        || memchr::memmem::find(value, b"{{").is_some()
}

/// Whether a value is a placeholder. A real key may contain `EXAMPLE`, so a value of mixed case with digits is
/// never one.
pub(super) fn is_placeholder(value: &[u8]) -> bool {
    let distinct = distinct_bytes(value);
    if distinct <= 2 {
        return true;
    }
    let lower = value.to_ascii_lowercase();
    if str::from_utf8(&lower).is_ok_and(|word| WORDS.stand_ins.contains(word)) {
        return true;
    }
    let digits = value.iter().filter(|b| b.is_ascii_digit()).count();
    let holds = |piece: &String| memchr::memmem::find(&lower, piece.as_bytes()).is_some();
    let has_tag = || memchr::memchr(b'<', value).is_some_and(|at| value[at..].contains(&b'>'));
    !is_mixed(value) && digits <= 4 && (has_tag() || WORDS.stand_in_pieces.iter().any(holds))
}

/// Whether a value has letters of both cases and digits.
pub(super) fn is_mixed(value: &[u8]) -> bool {
    value.iter().any(u8::is_ascii_lowercase)
        && value.iter().any(u8::is_ascii_uppercase)
        && value.iter().any(u8::is_ascii_digit)
}

/// Whether a value looks generated rather than chosen by a person.
pub(super) fn is_random(value: &[u8]) -> bool {
    if value.len() < TOKEN_BYTES_MIN || distinct_bytes(value) < 5 {
        return false;
    }
    let has_letter = value.iter().any(u8::is_ascii_alphabetic);
    let has_digit = value.iter().any(u8::is_ascii_digit);
    let is_noise = || {
        let is_mixed = value.len() >= 16 && case_turns(value) * 3 >= value.len();
        is_mixed || is_long_run(value)
    };
    let looks_random = if has_digit { has_letter } else { is_noise() };
    // Last, because it costs most.
    looks_random && !is_wordy(value)
}

/// Whether a value is lower-case letters only, and longer than a word.
fn is_long_run(value: &[u8]) -> bool {
    value.len() >= 20 && value.iter().all(u8::is_ascii_lowercase)
}

/// Whether a value is random and neither a digest nor a name of several parts.
fn is_surely_random(value: &[u8]) -> bool {
    let digits = value.iter().filter(|b| b.is_ascii_digit()).count();
    let is_digest = value.iter().all(u8::is_ascii_hexdigit);
    let is_one = value.iter().all(|b| b.is_ascii_alphanumeric() || b"_=+".contains(b));
    value.len() >= GUESS_BYTES_MIN && digits >= 4 && !is_digest && is_one && is_random(value)
}

pub(super) fn distinct_bytes(value: &[u8]) -> u32 {
    let mut seen = [0u64; 4];
    for &byte in value {
        seen[usize::from(byte >> 6)] |= 1 << (byte & 63);
    }
    seen.iter().map(|word| word.count_ones()).sum()
}

/// Whether every piece of a value is a word, a short number, or a word followed by a short number.
fn is_wordy(value: &[u8]) -> bool {
    let pieces = value.split(|b| b"-_./:@ ".contains(b)).filter(|piece| !piece.is_empty());
    let is_word = |piece: &[u8]| {
        let digits = piece.iter().rev().take_while(|b| b.is_ascii_digit()).count();
        let letters = &piece[..piece.len() - digits];
        let is_tame = letters.len() <= 3 || case_turns(letters) * 3 < letters.len();
        let is_plain = letters.iter().all(u8::is_ascii_alphabetic) && is_tame;
        piece.len() <= 3 || (is_plain && digits <= 4)
    };
    !is_long_run(value) && pieces.into_iter().all(is_word)
}

/// Number of case changes between neighboring letters.
fn case_turns(value: &[u8]) -> usize {
    let letter = |b: u8| b.is_ascii_alphabetic();
    value
        .windows(2)
        .filter(|w| letter(w[0]) && letter(w[1]))
        .filter(|w| w[0].is_ascii_uppercase() != w[1].is_ascii_uppercase())
        .count()
}

fn has_digit_or_sign(value: &[u8]) -> bool {
    value.iter().any(|b| b.is_ascii_digit() || b"!@#$%^*+/=~?&;|<>()".contains(b) || *b >= 0x80)
}

/// Whether a password of letters is where a variable or a sentence is unlikely: alone on its line, as in YAML (lower
/// case only: a type may stand there); directly after `=` without a comma or parenthesis after it, as in a query; after
/// a flag, if no word looks like it.
fn is_bare_word_password(candidate: &Candidate<'_>) -> bool {
    let Candidate { value, next, form, starts_line, .. } = *candidate;
    let ends_line = next.is_none_or(|b| b"\r\n".contains(&b));
    let is_setting = match form {
        Form::Spaced => starts_line && ends_line,
        Form::Direct => !next.is_some_and(|b| b",)".contains(&b)),
        Form::Flag => return is_scrambled(value),
        Form::Quoted => false,
    };
    let is_word = value.iter().all(u8::is_ascii_lowercase)
        || is_hyphenated_passphrase(value)
        || (form == Form::Direct && is_scrambled(value));
    is_setting && is_word && value.len() >= PASSWORD_SPACED_BYTES_MIN
}

/// Whether a value is letters of both cases, but no name of a variable: `kQnVlzegCclm`, not `userInput` or `dbPassword`.
fn is_scrambled(value: &[u8]) -> bool {
    let is_vowel = |b: &u8| b"aeiouyAEIOUY".contains(b);
    let mut parts = value.chunk_by(|_, next| next.is_ascii_lowercase());
    value.len() >= SCRAMBLED_BYTES_MIN
        && value.iter().all(u8::is_ascii_alphabetic)
        && value.iter().any(u8::is_ascii_lowercase)
        && !parts.all(|part| part.len() > 1 && part.iter().any(is_vowel))
        && super::name::strength(value).is_none()
}

/// Whether a value is hyphenated words, which people choose as passwords; identifiers contain no hyphens.
fn is_hyphenated_passphrase(value: &[u8]) -> bool {
    let is_hyphen = |b: &u8| *b == b'-';
    let are_words = value.contains(&b'-')
        && value.iter().all(|b| b.is_ascii_lowercase() || is_hyphen(b))
        && value.len() <= 256;
    let spaced = || value.iter().map(|b| if is_hyphen(b) { b' ' } else { *b }).collect::<Vec<u8>>();
    are_words && is_passphrase(&spaced())
}

/// Whether a quoted value is a label or the name of a variable.
fn is_label(value: &[u8]) -> bool {
    let is_capitalized = value.first().is_some_and(u8::is_ascii_uppercase)
        && value[1..].iter().all(u8::is_ascii_lowercase);
    is_capitalized || is_constant_name(value)
}

/// Whether a value is the name of another variable: `OPENAI_API_KEY`.
fn is_constant_name(value: &[u8]) -> bool {
    value.contains(&b'_') && value.iter().all(|b| b.is_ascii_uppercase() || *b == b'_')
}

/// Whether a value is a path or an address without credentials.
fn is_path(value: &[u8]) -> bool {
    let starts_as_path = [&b"/"[..], b"./", b"../", b"~/"].iter().any(|p| value.starts_with(p));
    let is_address = memchr::memmem::find(value, b"://").is_some();
    is_address || (starts_as_path && is_wordy(value))
}

/// Whether an unquoted value is an expression or a type.
fn is_code(value: &[u8], next: Option<u8>) -> bool {
    let is_name = value.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_');
    let continues = next.is_some_and(|b| b"([<{".contains(&b));
    let ends_statement = next.is_some_and(|b| b",;)".contains(&b));
    let starts_with_secret_word = [&b"password"[..], b"token", b"secret", b"passwd", b"api_key"]
        .iter()
        .any(|word| value.len() >= word.len() && value[..word.len()].eq_ignore_ascii_case(word));
    (continues && !value.is_empty())
        || PATH_EXPRESSION.is_match(value)
        || SIZED_TYPE.is_match(value)
        || (is_name && starts_with_secret_word && is_wordy(value))
        || (is_name && ends_statement && is_wordy(value))
        || value
            .first()
            .is_some_and(|b| b"&!*".contains(b) && next.is_some() && is_wordy(&value[1..]))
}

/// Whether a value is the name of a type or a variable, words with numbers between them: `Ed25519PrivateKey`,
/// `fileIpnsPrivateKey`. It ends with a word, because chosen secrets end with digits, and is not alone on its line as in
/// a file of settings.
fn is_identifier(candidate: &Candidate<'_>) -> bool {
    let Candidate { value, next, starts_line, .. } = *candidate;
    if starts_line && next.is_none_or(|b| b"\r\n".contains(&b)) {
        return false;
    }
    let is_number = |part: &[u8]| part.iter().all(u8::is_ascii_digit);
    let is_word = |part: &[u8]| {
        part.len() > 1
            && part[0].is_ascii_alphabetic()
            && part[1..].iter().all(u8::is_ascii_lowercase)
            && part.iter().any(|b| b"aeiouyAEIOUY".contains(b))
    };
    let belongs = |part: &u8, next: &u8| {
        next.is_ascii_lowercase() && !part.is_ascii_digit()
            || part.is_ascii_digit() && next.is_ascii_digit()
    };
    let parts: Vec<&[u8]> = value.chunk_by(belongs).collect();
    parts.iter().all(|part| is_number(part) || is_word(part))
        && parts.iter().filter(|part| is_word(part)).count() >= 2
        && parts.first().is_some_and(|part| is_word(part))
        && parts.last().is_some_and(|part| is_word(part) && part[0].is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_decides_how_random_a_value_must_be() {
        use Strength::{Guess, Password, Token};
        for (value, form, strength, is_environment, expected) in [
            ("correcthorse", Form::Direct, Token, true, true),
            ("correcthorse", Form::Direct, Token, false, false),
            ("correcthorse", Form::Quoted, Password, false, true),
            ("a8F3kL9xQ2mZ7pR4tW6yB1nV", Form::Quoted, Guess, false, true),
            ("a8F3kL9xQ2mZ7pR4tW6yB1n", Form::Quoted, Guess, false, false),
            ("a8F3kL9xQ2mZ7pR4tW6yB1n", Form::Quoted, Token, false, true),
            // A digest.
            ("0123456789abcdef01234567", Form::Quoted, Guess, false, false),
        ] {
            let candidate = Candidate {
                value: value.as_bytes(),
                next: None,
                form,
                strength,
                is_environment,
                starts_line: false,
            };
            assert_eq!(is_secret(&candidate), expected, "{value} {form:?} {strength:?}");
        }
    }
}
