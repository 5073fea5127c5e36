//! Wraps a text with marked parts.

use std::ops::Range;

use crate::style::Style;

/// Wraps the text into indented lines, with the parts at `marked` (bytes, in order) in color.
pub(super) fn wrapped(text: &str, marked: &[Range<u64>], style: &Style) -> String {
    let words = words(text).map(|(at, word)| painted(at, word, marked, style));
    style.wrap(&format!("  {}\n", words.collect::<Vec<_>>().join(" ")), 2)
}

/// The words of a text with their byte offsets. A word wider than a line stays whole.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    text.split(' ').filter_map(move |word| {
        let start = at;
        at += word.len() + 1;
        (!word.is_empty()).then_some((start, word))
    })
}

/// Colors the marked parts of a word.
fn painted(start: usize, word: &str, marked: &[Range<u64>], style: &Style) -> String {
    let (mut out, mut done) = (String::new(), 0);
    for range in marked {
        let inside = |at: u64| {
            usize::try_from(at).unwrap_or(usize::MAX).saturating_sub(start).min(word.len())
        };
        let (from, to) = (inside(range.start).max(done), inside(range.end));
        let (Some(before), Some(part)) = (word.get(done..from), word.get(from..to)) else {
            continue;
        };
        if !part.is_empty() {
            out = out + before + &style.mark(part);
            done = to;
        }
    }
    out + &word[done..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::tests::plain;

    #[test]
    fn marks_survive_wrapping() {
        let style = Style { is_color: true, width: 22, ..plain() };
        let text = "one two-three four five six";
        let shown = wrapped(text, &[4..7, 8..18], &style);
        let bare: String = shown
            .replace(&style.mark("two"), "two")
            .replace(&style.mark("three"), "three")
            .replace(&style.mark("four"), "four");
        assert_eq!(bare, "  one two-three four\n  five six\n");
        assert!(shown.contains(&(style.mark("two") + "-" + &style.mark("three"))), "{shown:?}");
    }

    #[test]
    fn invalid_marks_are_ignored() {
        let shown = wrapped("é x", &[1..2, 90..99], &Style { is_color: true, ..plain() });
        assert_eq!(shown, "  é x\n");
    }
}
