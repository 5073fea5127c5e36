//! Finds terms in text: one pass over its bytes, no regular expression.

#[cfg(test)]
mod plainly;

use super::TermKind;
use crate::limits::{PATH_BYTES, TERM_BYTES};

/// A term as it stands in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found<'a> {
    /// Its characters.
    pub text: &'a str,
    /// What it looks like.
    pub kind: TermKind,
}

/// Shortest identifier worth keeping: shorter ones are words or loop variables.
const NAME_BYTES_MIN: usize = 5;

/// Shows each term of `text` to `visit`, in order, repeats included. `hyphens` also shows
/// `two-words`: in commands they may be a script or a package, in prose that a tool printed they are prose.
///
/// Most of a text are small letters and blanks, and words of small letters alone are no terms. So the
/// search runs to the next byte that is neither, and only the word around that one is measured.
pub fn find<'a>(text: &'a str, hyphens: bool, visit: &mut dyn FnMut(Found<'a>)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(skipped) = bytes[at..].iter().position(|b| STOPS[usize::from(*b)]) {
        let stop = at + skipped;
        at = stop
            + match bytes[stop] {
                b'#' => issue(&text[stop..], visit),
                0x1b => escape_sequence(&bytes[stop..]),
                // Text inside text: the letter of an escape belongs to no word.
                b'\\' if bytes.get(stop + 1).is_some_and(|b| b"nrt".contains(b)) => 2,
                b'\\' => 1,
                _ => {
                    let is_outside = |b: &u8| !b.is_ascii_lowercase();
                    let start = bytes[at..stop].iter().rposition(is_outside);
                    let start = start.map_or(at, |blank| at + blank + 1);
                    start + word(&text[start..], hyphens, visit) - stop
                }
            };
        at = at.min(bytes.len());
    }
}

/// Shows the terms of the chunk that `text` begins with, and returns its length.
fn word<'a>(text: &'a str, hyphens: bool, visit: &mut dyn FnMut(Found<'a>)) -> usize {
    let (length, mut classes) = measure(text.as_bytes(), ANY);
    let mut word = &text[..length];
    // A mark at the end belongs to the sentence.
    if classes & (COLON | MARK) != 0
        && length > 1
        && let Some(bare) = word.strip_suffix(['.', ':', '?'])
    {
        (word, classes) = (bare, measure(bare.as_bytes(), ANY).1);
    }
    // Capitals and numbers stop the search too, and most are no terms.
    if classes & (LOWER | UPPER) != 0 {
        match classes & (SLASH | HYPHEN | COLON | MARK) {
            0 => plain(word, classes, visit),
            _ => chunk(word, classes, hyphens, visit),
        }
    }
    length
}

/// Length of the run of bytes of `members`' classes that `bytes` begins with, and the classes in it.
fn measure(bytes: &[u8], members: u8) -> (usize, u8) {
    let mut classes = 0;
    for (at, byte) in bytes.iter().enumerate() {
        let class = CLASSES[usize::from(*byte)];
        if class & members == 0 {
            return (at, classes);
        }
        classes |= class;
    }
    (bytes.len(), classes)
}

/// Shows `#123` and returns its length; of anything else the length of the mark alone.
fn issue<'a>(text: &'a str, visit: &mut dyn FnMut(Found<'a>)) -> usize {
    let digits = text.bytes().skip(1).take_while(u8::is_ascii_digit).count();
    let ends = text.as_bytes().get(digits + 1).is_none_or(|b| !is_chunk(*b) || b".:".contains(b));
    if (2..=7).contains(&digits) && ends {
        visit(Found { text: &text[..=digits], kind: TermKind::Id });
    }
    digits + 1
}

/// Length of a terminal escape sequence.
fn escape_sequence(bytes: &[u8]) -> usize {
    let body = bytes.iter().skip(1).take(16).position(|b| b.is_ascii_alphabetic());
    body.map_or(1, |length| length + 2)
}

const LOWER: u8 = 1;
const UPPER: u8 = 2;
const DIGIT: u8 = 4;
const UNDERSCORE: u8 = 8;
const SLASH: u8 = 16;
const HYPHEN: u8 = 32;
const COLON: u8 = 64;
const MARK: u8 = 128;
const ANY: u8 = 255;

/// Class of each byte that can stand inside a path, URL or identifier, 0 for the others. All of them
/// are ASCII, so chunks are cut between characters.
const CLASSES: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut classes = [0; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        classes[byte as usize] = match byte {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b'_' => UNDERSCORE,
            b'/' => SLASH,
            b'-' => HYPHEN,
            b':' => COLON,
            b'.' | b'@' | b'~' | b'+' | b'%' | b'?' | b'&' => MARK,
            _ => 0,
        };
        byte += 1;
    }
    classes
}

/// Bytes at which the search for words stops: those of a chunk that are no small letters, and those
/// that mean something outside of chunks.
const STOPS: [bool; 256] = {
    let mut stops = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        stops[byte] = CLASSES[byte] & !LOWER != 0;
        byte += 1;
    }
    stops[b'#' as usize] = true;
    stops[b'\\' as usize] = true;
    stops[0x1b] = true;
    stops
};

fn is_chunk(byte: u8) -> bool {
    CLASSES[usize::from(byte)] != 0
}

/// A chunk of letters, digits and underscores.
fn plain<'a>(word: &'a str, classes: u8, visit: &mut dyn FnMut(Found<'a>)) {
    if is_name(word, classes) {
        visit(Found { text: word, kind: TermKind::Name });
    } else if classes == LOWER | DIGIT && is_hash(word) {
        visit(Found { text: word, kind: TermKind::Id });
    }
}

/// A chunk with marks. `classes` are those of all its bytes: what they rule out is not looked for.
fn chunk<'a>(chunk: &'a str, classes: u8, hyphens: bool, visit: &mut dyn FnMut(Found<'a>)) {
    let holds = |class: u8| classes & class != 0;
    let chunk = chunk.strip_prefix("./").unwrap_or(chunk);
    let chunk = chunk.trim_matches(|c| matches!(c, ':' | '-' | '+' | '?' | '&' | '%'));
    let chunk = chunk.trim_end_matches(['.', ':', '@']);
    if chunk.len() < NAME_BYTES_MIN - 1 {
        return;
    }
    if holds(SLASH) && holds(COLON) && chunk.contains("://") {
        if chunk.len() <= PATH_BYTES && chunk.len() > 10 {
            visit(Found { text: chunk, kind: TermKind::Id });
        }
        return;
    }
    if is_hash(chunk) || holds(HYPHEN) && (is_uuid(chunk) || is_ticket(chunk)) {
        return visit(Found { text: chunk, kind: TermKind::Id });
    }
    let place = if holds(COLON) { without_line(chunk) } else { chunk };
    if holds(SLASH) && place.contains('/') {
        if let Some(path) = as_path(place) {
            visit(Found { text: path, kind: TermKind::Path });
        }
        return;
    }
    if holds(MARK) && (NAME_BYTES_MIN..=PATH_BYTES).contains(&place.len()) && is_file_name(place) {
        visit(Found { text: place, kind: TermKind::Path });
        return;
    }
    if holds(HYPHEN) && is_kebab(place, 3) {
        visit(Found { text: place, kind: TermKind::Name });
    } else if holds(HYPHEN) && hyphens && is_kebab(place, 2) {
        visit(Found { text: place, kind: TermKind::Compound });
    }
    if may_hold_name(classes) {
        names(chunk, visit);
    }
}

/// Shows the names that stand in a chunk, which marks part.
fn names<'a>(chunk: &'a str, visit: &mut dyn FnMut(Found<'a>)) {
    let mut from = 0;
    while from < chunk.len() {
        let members = LOWER | UPPER | DIGIT | UNDERSCORE;
        let (length, classes) = measure(&chunk.as_bytes()[from..], members);
        let name = &chunk[from..from + length];
        if is_name(name, classes) {
            visit(Found { text: name, kind: TermKind::Name });
        }
        from += length + 1;
    }
}

/// `path:12:3` without its place, as compilers and searches print it.
fn without_line(chunk: &str) -> &str {
    match chunk.split_once(':') {
        Some((path, rest))
            if !path.is_empty() && rest.starts_with(|c: char| c.is_ascii_digit()) =>
        {
            path
        }
        _ => chunk.trim_end_matches(':'),
    }
}

/// A chunk with a slash, when it is more likely a path than prose such as `and/or`.
fn as_path(chunk: &str) -> Option<&str> {
    let chunk = chunk.strip_prefix("a/").or_else(|| chunk.strip_prefix("b/")).unwrap_or(chunk);
    if !(NAME_BYTES_MIN..=PATH_BYTES).contains(&chunk.len()) {
        return None;
    }
    let (mut letters, mut slashes, mut before) = (0, 0, 0);
    let mut is_joined = false;
    for byte in chunk.bytes() {
        match byte {
            b':' | b'?' | b'&' | b'%' => return None,
            b'/' if before == b'/' => return None,
            b'/' => slashes += 1,
            b'_' | b'-' => is_joined = true,
            _ => letters += usize::from(byte.is_ascii_alphabetic()),
        }
        before = byte;
    }
    let names = chunk.strip_suffix('/').unwrap_or(chunk);
    let is_folder = names.len() < chunk.len();
    let deep = slashes - usize::from(is_folder) > 1;
    let is_path = letters * 3 >= chunk.len()
        && (deep
            || is_folder
            || is_joined && !chunk.starts_with('/')
            || has_file_extension(chunk)
            || names.split('/').next().is_some_and(|first| FOLDERS.contains(&first)));
    is_path.then_some(names)
}

/// First folders of a project that make `folder/name` a path and not prose.
const FOLDERS: [&str; 20] = [
    "src", "lib", "app", "apps", "test", "tests", "docs", "doc", "packages", "crates", "bin",
    "scripts", "examples", "config", "cmd", "internal", "pkg", "tools", "specs", "origin",
];

/// A dot and one to five letters or digits, the first a letter: `.rs`, `.mp3`, not `.12`.
fn has_file_extension(chunk: &str) -> bool {
    chunk.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty()
            && (1..=5).contains(&extension.len())
            && extension.starts_with(|c: char| c.is_ascii_lowercase())
            && extension.bytes().all(|b| b.is_ascii_alphanumeric())
            && stem.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-')
    })
}

/// Extensions of files that stand alone, without a folder, in order: `self.len` must not pass for
/// one.
const EXTENSIONS: [&str; 66] = [
    "bash", "bat", "c", "cc", "cfg", "cjs", "conf", "cpp", "cs", "csproj", "css", "csv", "env",
    "erl", "ex", "exs", "fs", "go", "graphql", "h", "hpp", "hs", "html", "ini", "ipynb", "java",
    "js", "json", "jsonl", "jsx", "kt", "kts", "lock", "log", "lua", "md", "mdx", "mjs", "ml",
    "php", "png", "proto", "ps1", "py", "rb", "rs", "scala", "scss", "sh", "sln", "sql", "svelte",
    "swift", "tf", "toml", "ts", "tsv", "tsx", "txt", "vb", "vue", "xml", "yaml", "yml", "zig",
    "zsh",
];

/// The same as numbers, in the same order: a search compares words of the machine, not texts.
const EXTENSION_NUMBERS: [u64; EXTENSIONS.len()] = {
    let mut numbers = [0; EXTENSIONS.len()];
    let mut at = 0;
    while at < numbers.len() {
        numbers[at] = number_of(EXTENSIONS[at].as_bytes());
        at += 1;
    }
    numbers
};

/// Bytes of the longest one.
const EXTENSION_BYTES_MAX: usize = {
    let (mut longest, mut at) = (0, 0);
    while at < EXTENSIONS.len() {
        assert!(EXTENSIONS[at].len() <= 8, "it must fit into a number");
        if EXTENSIONS[at].len() > longest {
            longest = EXTENSIONS[at].len();
        }
        at += 1;
    }
    longest
};

/// The first eight bytes, the first one on top: numbers are ordered as their texts are.
const fn number_of(text: &[u8]) -> u64 {
    let (mut number, mut at) = (0, 0);
    while at < 8 {
        number = number << 8 | if at < text.len() { text[at] as u64 } else { 0 };
        at += 1;
    }
    number
}

fn is_file_name(word: &str) -> bool {
    let Some((stem, extension)) = word.rsplit_once('.') else { return false };
    !stem.is_empty()
        && extension.len() <= EXTENSION_BYTES_MAX
        && EXTENSION_NUMBERS.binary_search(&number_of(extension.as_bytes())).is_ok()
        && !stem.contains([':', '?', '&', '%'])
}

/// snake_case, camelCase, PascalCase of two words, CONSTANT_CASE; no plain word. `classes` are those
/// of the word's bytes.
fn is_name(word: &str, classes: u8) -> bool {
    if !may_hold_name(classes)
        || !(NAME_BYTES_MIN..=TERM_BYTES).contains(&word.len())
        || word.as_bytes()[0].is_ascii_digit()
    {
        return false;
    }
    let is_hump = |pair: &[u8]| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase();
    let letters = || word.bytes().filter(u8::is_ascii_alphabetic).count();
    let is_joined = || word.trim_matches('_').contains('_') && letters() >= 4;
    classes & UPPER != 0 && word.as_bytes().windows(2).any(is_hump)
        || classes & UNDERSCORE != 0 && is_joined()
}

/// Whether a word of these classes can be a name, or have one in it.
fn may_hold_name(classes: u8) -> bool {
    classes & UNDERSCORE != 0 || classes & (LOWER | UPPER) == LOWER | UPPER
}

/// Words joined by hyphens, at least so many of them, the first beginning with a letter.
fn is_kebab(word: &str, words: usize) -> bool {
    let is_lettered = |part: &&str| part.bytes().any(|b| b.is_ascii_alphabetic());
    (6..=TERM_BYTES).contains(&word.len())
        && word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.contains('-')
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        && word.split('-').all(|part| !part.is_empty())
        && word.split('-').filter(is_lettered).count() >= words
}

/// `ABC-123`: an issue, a requirement.
fn is_ticket(chunk: &str) -> bool {
    chunk.split_once('-').is_some_and(|(project, number)| {
        (2..=10).contains(&project.len())
            && (1..=6).contains(&number.len())
            && project.bytes().all(|b| b.is_ascii_uppercase())
            && number.bytes().all(|b| b.is_ascii_digit())
    })
}

/// A commit hash, whole or abbreviated: hex with at least two digits and two letters.
fn is_hash(chunk: &str) -> bool {
    matches!(chunk.len(), 7..=12 | 40 | 64)
        && chunk.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
        && chunk.bytes().filter(u8::is_ascii_digit).count() >= 2
        && chunk.bytes().filter(u8::is_ascii_lowercase).count() >= 2
}

fn is_uuid(chunk: &str) -> bool {
    chunk.len() == 36
        && chunk.bytes().enumerate().all(|(at, b)| match at {
            8 | 13 | 18 | 23 => b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let mut found = Vec::new();
        find(text, true, &mut |term| found.push(term.text));
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn paths_names_and_ids_are_found() {
        check(
            "see src/auth.rs:12:3 and fn parse_header(x: HttpRequest)",
            &["src/auth.rs", "parse_header", "HttpRequest"],
        );
        check("error at `/w/app/main.py`, line 3", &["/w/app/main.py"]);
        check("--- a/lib/x.ts\n+++ b/lib/x.ts", &["lib/x.ts", "lib/x.ts"]);
        check("commit 1a2b3c4 of https://example.com/r/1", &["1a2b3c4", "https://example.com/r/1"]);
        check("\u{1b}[31mCargo.toml\u{1b}[0m MAX_LINE_BYTES", &["Cargo.toml", "MAX_LINE_BYTES"]);
        check("npm run build-all", &["build-all"]);
        check(r#"{\"a\":\"\nEVALUATION_RUN ./x/y.js\"}"#, &["EVALUATION_RUN", "x/y.js"]);
        check("https {/branch} {/key_id}", &[]);
        check("fixes #950 (SC-001) in apps/admin", &["#950", "SC-001", "apps/admin"]);
        check("use @scope/some-package; gpt-4o-mini", &["@scope/some-package", "gpt-4o-mini"]);
    }

    #[test]
    fn prose_and_numbers_are_not() {
        check("This and/or that, 12.5 seconds, e.g. version 1.2.3; Done.", &[]);
        check("self.len() == 1000000 || true", &[]);
    }

    #[test]
    fn prose_with_hyphens_counts_only_where_asked() {
        let mut found = Vec::new();
        find("a well-known long-running job, #1, #fff", false, &mut |term| found.push(term.text));
        assert!(found.is_empty());
    }

    #[test]
    fn two_words_with_a_hyphen_are_not_yet_a_name() {
        let mut kinds = Vec::new();
        find("well-known gpt-4o-mini", true, &mut |found| kinds.push(found.kind));
        assert_eq!(kinds, [TermKind::Compound, TermKind::Name]);
    }

    #[test]
    fn any_text_is_survived() {
        for text in ["\u{1b}", "\u{1b}[", "ä/ö/ü.rs", "::::", "////", "a/", "é".repeat(9).as_str()]
        {
            find(text, true, &mut |found| assert!(!found.text.is_empty()));
        }
    }
}
