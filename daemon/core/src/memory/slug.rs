//! File names from text.

use super::day;
use crate::digest::Digest128;

/// Maximum bytes of a slug.
pub const SLUG_BYTES: usize = 60;

/// Lower-case letters and digits of `words`, joined by single hyphens, at most [`SLUG_BYTES`] bytes; may be
/// empty. Non-ASCII letters are dropped, since file systems treat them differently.
pub fn slug(words: &str) -> String {
    let mut out = String::new();
    for c in words.chars() {
        if out.len() >= SLUG_BYTES {
            break;
        }
        match c.to_ascii_lowercase() {
            c if c.is_ascii_alphanumeric() => out.push(c),
            _ if !out.is_empty() && !out.ends_with('-') => out.push('-'),
            _ => {}
        }
    }
    out.trim_end_matches('-').to_owned()
}

/// The file name of a thread's summary without `.md`: its date, the slug, and eight digits of its id's
/// digest for uniqueness. It is stable as long as the slug is.
pub fn stem(created_at_ms: i64, slug: &str, thread_id: &str) -> String {
    let digest = Digest128::of(thread_id.as_bytes()).to_string();
    let mark = &digest[..8];
    let date = day::date(created_at_ms);
    if slug.is_empty() { format!("{date}-{mark}") } else { format!("{date}-{slug}-{mark}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_safe_in_any_file_system() {
        for (words, expected) in [
            ("Fix the Parser!", "fix-the-parser"),
            ("../../etc/passwd", "etc-passwd"),
            ("修复", ""),
            ("  a__b  ", "a-b"),
        ] {
            assert_eq!(slug(words), expected);
        }
        assert!(slug(&"word ".repeat(99)).len() <= SLUG_BYTES);
        assert_ne!(stem(0, "a", "t1"), stem(0, "a", "t2"));
    }
}
