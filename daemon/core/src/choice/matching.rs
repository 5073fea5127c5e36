//! Matches lines of a view with the text of a choice.

use crate::text;

/// Minimum bytes of a part of a text that identifies the text.
pub(super) const FRAGMENT_BYTES: usize = 24;

/// Prefixes that a view puts before quoted lines.
const MARKS: [&str; 9] =
    ["- ", "* ", "• ", "> ", "[x] ", "[ ] ", "(no report) ", "(interrupted) ", "\\"];

/// One line without the marks that a view, or Markdown, puts before and around words.
pub(super) fn plain(text: &str) -> String {
    let line = text::one_line(text).replace("**", "").replace('`', "");
    let mut rest = line.trim();
    while let Some(shorter) =
        MARKS.iter().find_map(|mark| rest.strip_prefix(mark)).or_else(|| without_number(rest))
    {
        rest = shorter.trim_start();
    }
    rest.to_owned()
}

/// The text after an item's number, such as `#747 `.
fn without_number(line: &str) -> Option<&str> {
    let (number, rest) = line.strip_prefix('#')?.split_once(' ')?;
    (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(rest)
}

/// Whether `words` occur in `line` as whole words.
pub(super) fn contains_words(line: &str, words: &str) -> bool {
    let is_word = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    let (bytes, inner) = (line.as_bytes(), words.as_bytes());
    line.match_indices(words).any(|(at, _)| {
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        let is_longer_before = is_word(before) && is_word(inner.first());
        let is_longer_after = is_word(bytes.get(at + words.len())) && is_word(inner.last());
        !is_longer_before && !is_longer_after
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_a_view_do_not_count() {
        for line in [
            "Use Postgres.",
            "#12 (no report) Use Postgres.",
            "- **Use** `Postgres`.",
            "> Use  Postgres.\n",
        ] {
            assert_eq!(plain(line), "Use Postgres.", "{line:?}");
        }
        assert_eq!(plain("#[test] fn a()"), "#[test] fn a()");
    }

    #[test]
    fn only_whole_words_match() {
        for (line, words, expected) in [
            ("the old plan is gone", "old plan", true),
            ("the old plans are gone", "old plan", false),
            ("my_foo", "foo", false),
            ("call foo() now", "foo", true),
            ("旧计划已取消", "计划", true),
        ] {
            assert_eq!(contains_words(line, words), expected, "{line}");
        }
    }
}
