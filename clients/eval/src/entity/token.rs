//! The second extractor: cuts text at delimiters and judges each token by its characters alone.
//! It knows no list of extensions and no regular expression.

use super::EntityKind;

/// Bytes that end a token. Everything a path or an identifier may hold is absent.
fn is_delimiter(c: char) -> bool {
    c.is_whitespace() || "\"'`()[]{}<>,;=|&$\\!*?^%".contains(c)
}

pub(super) fn extract(text: &str, emit: &mut dyn FnMut(EntityKind, &str)) {
    let mut at = 0;
    for token in text.split(is_delimiter) {
        let before = text[..at].chars().next_back();
        at += token.len() + text[at + token.len()..].chars().next().map_or(0, char::len_utf8);
        // The rest of a glob, a variable or a closing tag is no name.
        let is_rest =
            before.is_some_and(|c| "*$>})]<%".contains(c)) && token.starts_with(['/', '.']);
        if token.len() >= 4 && !is_rest {
            judge(token, emit);
        }
    }
}

fn judge(token: &str, emit: &mut dyn FnMut(EntityKind, &str)) {
    if token.starts_with("https://") || token.starts_with("http://") {
        emit(EntityKind::Url, token.trim_end_matches(['.', ',', ':', ';']));
        return;
    }
    let token = token.trim_start_matches([':', '-', '+', '@']).trim_start_matches("//");
    let token = token.trim_end_matches([':', '.', '-', '+', '@']);
    // `file.rs:12:3` names the file; `key:value` is two tokens.
    for (index, part) in token.split(':').enumerate() {
        let is_position = index > 0 && part.bytes().all(|b| b.is_ascii_digit());
        if part.len() >= 4 && !is_position {
            judge_part(part, emit);
        }
    }
}

fn judge_part(part: &str, emit: &mut dyn FnMut(EntityKind, &str)) {
    let letters = part.bytes().filter(u8::is_ascii_alphabetic).count();
    let digits = part.bytes().filter(u8::is_ascii_digit).count();
    if part.contains('/') {
        if is_path(part, letters) {
            emit(EntityKind::Path, part);
        }
    } else if is_identity(part, letters, digits) {
        emit(EntityKind::Id, part);
    } else if is_file_name(part) {
        emit(EntityKind::Path, part);
    } else {
        for name in part.split(['.', '#', '@', '+', '~']) {
            if is_code_name(name) {
                emit(EntityKind::Identifier, name);
            }
        }
    }
}

/// At least two named parts, mostly letters; without an anchor no part is a lone letter
/// (`s/a/b/`, `y/n`), and a mark or depth must tell it from prose (`either/or`, `A/B/C`).
fn is_path(part: &str, letters: usize) -> bool {
    let is_anchored = part.starts_with(['/', '.', '~']);
    let (mut count, mut marks, mut blanks) = (0, 0, 0);
    for name in part.split('/').filter(|name| !name.is_empty()) {
        let is_dots = name.bytes().all(|b| b == b'.');
        let is_word = name.chars().count() >= 2 && name.chars().any(char::is_alphabetic);
        count += 1;
        marks += usize::from(name.contains(['.', '_', '-']));
        blanks += usize::from(!is_dots && !is_word);
    }
    let is_deep = count >= 3 && part.starts_with(|c: char| c.is_lowercase());
    let is_named = blanks == 0 || (is_anchored && count >= 3);
    is_named && letters * 2 > part.len() && count >= 2 && (is_anchored || marks > 0 || is_deep)
}

/// A lower-case suffix of one to five letters after the last dot, and a stem of letters.
fn is_file_name(part: &str) -> bool {
    let Some((stem, suffix)) = part.rsplit_once('.') else { return false };
    let suffix_fits = (1..=5).contains(&suffix.len())
        && suffix.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        && suffix.bytes().next().is_some_and(|b| b.is_ascii_lowercase());
    let stem_fits = stem.len() >= 2
        && stem.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
        && stem.bytes().any(|b| b.is_ascii_alphabetic());
    // `object.method` looks the same; a file's stem is rarely mixed with a long suffix.
    suffix_fits && stem_fits && suffix.len() <= 4
}

fn is_identity(part: &str, letters: usize, digits: usize) -> bool {
    let is_hex = part.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    let is_numbered = part.strip_prefix('#').is_some_and(|rest| rest.len() == digits && digits > 0);
    is_numbered || (is_hex && part.len() >= 7 && letters > 0 && digits > 0)
}

/// Letters, digits and underscores (or three hyphenated words), with a change of shape inside.
fn is_code_name(name: &str) -> bool {
    let name = name.trim_matches(['_', '-']);
    if name.chars().count() < 5 || !name.chars().any(char::is_alphabetic) {
        return false;
    }
    if name.contains('-') {
        let is_word = |word: &&str| word.chars().any(char::is_alphabetic);
        return name.split('-').filter(is_word).count() >= 3
            && name.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_');
    }
    if !name.chars().all(|c| c.is_alphanumeric() || c == '_') {
        return false;
    }
    let mut previous = ' ';
    for c in name.chars() {
        if c == '_' || (previous.is_lowercase() && c.is_uppercase()) {
            return true;
        }
        previous = c;
    }
    false
}
