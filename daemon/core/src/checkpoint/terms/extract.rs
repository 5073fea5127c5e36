//! Finds terms in text: one pass over its bytes, no regular expression.

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

/// Shows each term of `text` to `visit`, in order, repeats included. `hyphens` also takes
/// `two-words` for a name: right in commands, wrong in prose that a tool printed.
pub fn find<'a>(text: &'a str, hyphens: bool, visit: &mut dyn FnMut(Found<'a>)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if is_chunk(byte) {
            let (length, shape) = measure(&bytes[at..]);
            // Nearly all of a text is plain words: they are told apart while they are measured.
            if shape.is_telling() {
                let word = &text[at..at + length];
                match shape.classes & (SLASH | MARK) {
                    0 => plain(word, visit),
                    _ => chunk(word, hyphens, visit),
                }
            }
            at += length;
            continue;
        }
        at += match byte {
            b'#' => issue(&text[at..], visit),
            0x1b => escape_sequence(&bytes[at..]),
            // Text inside text: the letter of an escape belongs to no word.
            b'\\' if bytes.get(at + 1).is_some_and(|b| b"nrt".contains(b)) => 2,
            _ => 1,
        };
    }
}

/// The classes of a chunk's bytes, and whether it has a hump: a small letter before a capital.
#[derive(Default)]
struct Shape {
    classes: u8,
    hump: bool,
}

impl Shape {
    /// Whether a chunk can be more than a plain word or number.
    fn is_telling(&self) -> bool {
        let has_letters = self.classes & (LOWER | UPPER) != 0;
        has_letters && (self.hump || self.classes & (UNDERSCORE | SLASH | MARK | DIGIT) != 0)
    }
}

/// Length and shape of the chunk that `bytes` begins with. A full stop, colon or question mark at
/// its end is left out.
fn measure(bytes: &[u8]) -> (usize, Shape) {
    let mut shape = Shape::default();
    let mut before = 0;
    for (at, byte) in bytes.iter().enumerate() {
        let class = CLASSES[usize::from(*byte)];
        let ends = class == 0
            || (matches!(byte, b'.' | b':' | b'?')
                && at > 0
                && bytes.get(at + 1).is_none_or(|next| !is_chunk(*next)));
        if ends {
            return (at, shape);
        }
        shape.classes |= class;
        shape.hump |= before == LOWER && class == UPPER;
        before = class;
    }
    (bytes.len(), shape)
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
const MARK: u8 = 32;

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
            b'.' | b'-' | b'@' | b'~' | b':' | b'+' | b'%' | b'?' | b'&' => MARK,
            _ => 0,
        };
        byte += 1;
    }
    classes
}

fn is_chunk(byte: u8) -> bool {
    CLASSES[usize::from(byte)] != 0
}

/// A chunk of letters, digits and underscores.
fn plain<'a>(word: &'a str, visit: &mut dyn FnMut(Found<'a>)) {
    if is_name(word) {
        visit(Found { text: word, kind: TermKind::Name });
    } else if is_hash(word) {
        visit(Found { text: word, kind: TermKind::Id });
    }
}

fn chunk<'a>(chunk: &'a str, hyphens: bool, visit: &mut dyn FnMut(Found<'a>)) {
    let chunk = chunk.strip_prefix("./").unwrap_or(chunk);
    let chunk = chunk.trim_matches(|c| matches!(c, ':' | '-' | '+' | '?' | '&' | '%'));
    let chunk = chunk.trim_end_matches(['.', ':', '@']);
    if chunk.len() < NAME_BYTES_MIN - 1 {
        return;
    }
    if chunk.contains("://") {
        if chunk.len() <= PATH_BYTES && chunk.len() > 10 {
            visit(Found { text: chunk, kind: TermKind::Id });
        }
        return;
    }
    if is_hash(chunk) || is_uuid(chunk) || is_ticket(chunk) {
        return visit(Found { text: chunk, kind: TermKind::Id });
    }
    let place = without_line(chunk);
    if place.contains('/') {
        if let Some(path) = as_path(place) {
            visit(Found { text: path, kind: TermKind::Path });
        }
        return;
    }
    if place.len() >= NAME_BYTES_MIN && place.len() <= PATH_BYTES && is_file_name(place) {
        visit(Found { text: place, kind: TermKind::Path });
        return;
    }
    if is_kebab(place, if hyphens { 2 } else { 3 }) {
        visit(Found { text: place, kind: TermKind::Name });
    }
    for name in chunk.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')) {
        if is_name(name) {
            visit(Found { text: name, kind: TermKind::Name });
        }
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
    let names = chunk.trim_end_matches('/');
    let deep = names.matches('/').count() > 1;
    let first = names.split('/').next().unwrap_or_default();
    let letters = chunk.bytes().filter(u8::is_ascii_alphabetic).count();
    let ok = chunk.len() <= PATH_BYTES
        && chunk.len() >= NAME_BYTES_MIN
        && letters * 3 >= chunk.len()
        && !chunk.contains([':', '?', '&', '%'])
        && !chunk.contains("//")
        && (deep
            || has_file_extension(chunk)
            || !chunk.starts_with('/') && chunk.contains(['_', '-'])
            || FOLDERS.contains(&first)
            || chunk.ends_with('/'));
    ok.then_some(names)
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

fn is_file_name(word: &str) -> bool {
    let Some((stem, extension)) = word.rsplit_once('.') else { return false };
    !stem.is_empty()
        && EXTENSIONS.binary_search(&extension).is_ok()
        && !stem.contains([':', '?', '&', '%'])
}

/// snake_case, camelCase, PascalCase of two words, CONSTANT_CASE; no plain word.
fn is_name(word: &str) -> bool {
    if word.len() < NAME_BYTES_MIN
        || word.len() > TERM_BYTES
        || word.starts_with(|c: char| c.is_ascii_digit())
    {
        return false;
    }
    let inner = word.trim_matches('_');
    let bytes = inner.as_bytes();
    let humps = bytes
        .windows(2)
        .filter(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase())
        .count();
    let joined =
        inner.contains('_') && bytes.iter().filter(|b| b.is_ascii_alphabetic()).count() >= 4;
    joined || humps > 0
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
    fn any_text_is_survived() {
        for text in ["\u{1b}", "\u{1b}[", "ä/ö/ü.rs", "::::", "////", "a/", "é".repeat(9).as_str()]
        {
            find(text, true, &mut |found| assert!(!found.text.is_empty()));
        }
    }
}
