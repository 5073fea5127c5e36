//! Recognizes the shape of a chunk: a path, a file, a name, a hash.

use super::NAME_BYTES_MIN;
use crate::limits::{PATH_BYTES, TERM_BYTES};

/// A chunk with a slash if it is more likely a path than prose such as `and/or`.
pub(super) fn as_path(chunk: &str) -> Option<&str> {
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
    let is_path = letters * 3 >= chunk.len()
        && (is_folder
            || slashes > 1
            || is_joined && !chunk.starts_with('/')
            || has_file_extension(chunk)
            || names.split('/').next().is_some_and(|first| FOLDERS.contains(&first)));
    is_path.then_some(names)
}

/// Top folders of a project that make `folder/name` a path.
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

/// Extensions of files without a folder, sorted for the search: `self.len` must not count as a file.
const EXTENSIONS: [&str; 66] = [
    "bash", "bat", "c", "cc", "cfg", "cjs", "conf", "cpp", "cs", "csproj", "css", "csv", "env",
    "erl", "ex", "exs", "fs", "go", "graphql", "h", "hpp", "hs", "html", "ini", "ipynb", "java",
    "js", "json", "jsonl", "jsx", "kt", "kts", "lock", "log", "lua", "md", "mdx", "mjs", "ml",
    "php", "png", "proto", "ps1", "py", "rb", "rs", "scala", "scss", "sh", "sln", "sql", "svelte",
    "swift", "tf", "toml", "ts", "tsv", "tsx", "txt", "vb", "vue", "xml", "yaml", "yml", "zig",
    "zsh",
];

pub(super) fn is_file_name(word: &str) -> bool {
    word.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty()
            && EXTENSIONS.binary_search(&extension).is_ok()
            && !stem.contains([':', '?', '&', '%'])
    })
}

/// snake_case, camelCase, PascalCase of two words, CONSTANT_CASE.
pub(super) fn is_name(word: &str) -> bool {
    let bytes = word.as_bytes();
    if !(NAME_BYTES_MIN..=TERM_BYTES).contains(&bytes.len()) || bytes[0].is_ascii_digit() {
        return false;
    }
    let is_hump = |pair: &[u8]| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase();
    let letters = || bytes.iter().filter(|b| b.is_ascii_alphabetic()).count();
    bytes.windows(2).any(is_hump) || is_joined(bytes) && letters() >= 4
}

/// Whether an underscore is between two other bytes.
fn is_joined(word: &[u8]) -> bool {
    let is_other = |b: &u8| *b != b'_';
    let Some(first) = word.iter().position(is_other) else { return false };
    let last = word.iter().rposition(is_other).unwrap_or(first);
    word[first..last].contains(&b'_')
}

/// Number of parts with a letter in a hyphenated word; 0 for any other word, or if it does not begin with a
/// letter.
pub(super) fn words_of_kebab(word: &str) -> u32 {
    let begins = word.starts_with(|c: char| c.is_ascii_alphabetic());
    if !begins || !(6..=TERM_BYTES).contains(&word.len()) {
        return 0;
    }
    let (mut words, mut is_lettered, mut before) = (0, false, b'-');
    for byte in word.bytes() {
        match byte {
            b'-' if before == b'-' => return 0,
            b'-' => {
                words += u32::from(is_lettered);
                is_lettered = false;
            }
            b'0'..=b'9' | b'_' => {}
            _ if byte.is_ascii_alphabetic() => is_lettered = true,
            _ => return 0,
        }
        before = byte;
    }
    if before == b'-' { 0 } else { words + u32::from(is_lettered) }
}

/// `ABC-123`: an issue, a requirement.
pub(super) fn is_ticket(chunk: &str) -> bool {
    chunk.split_once('-').is_some_and(|(project, number)| {
        (2..=10).contains(&project.len())
            && (1..=6).contains(&number.len())
            && project.bytes().all(|b| b.is_ascii_uppercase())
            && number.bytes().all(|b| b.is_ascii_digit())
    })
}

/// A full or abbreviated commit hash: hex with at least two digits and two letters.
pub(super) fn is_hash(chunk: &str) -> bool {
    matches!(chunk.len(), 7..=12 | 40 | 64)
        && chunk.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
        && chunk.bytes().filter(u8::is_ascii_digit).count() >= 2
        && chunk.bytes().filter(u8::is_ascii_lowercase).count() >= 2
}
