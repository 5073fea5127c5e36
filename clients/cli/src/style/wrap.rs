//! Breaks long lines between words.

use std::borrow::Cow;

use super::columns;

/// The text with no line wider than `width`, unless one word is. Lines after a break begin with `indent` spaces.
pub(super) fn wrapped(text: &str, indent: usize, width: usize) -> String {
    text.split_inclusive('\n').map(|line| broken(line, indent, width)).collect()
}

fn broken(line: &str, indent: usize, width: usize) -> Cow<'_, str> {
    if shown_columns(line.trim_end()) <= width {
        return Cow::Borrowed(line);
    }
    let mut out = String::with_capacity(line.len() + indent);
    let (mut used, mut has_word) = (0, false);
    for word in line.split_inclusive(' ') {
        let needed = shown_columns(word.trim_end());
        if has_word && needed > 0 && used + needed > width {
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            (used, has_word) = (indent, false);
        }
        out.push_str(word);
        used += shown_columns(word.trim_end_matches('\n'));
        has_word |= needed > 0;
    }
    Cow::Owned(out)
}

/// Columns without the sequences that color the text.
fn shown_columns(text: &str) -> usize {
    let mut pieces = text.split('\x1b');
    let first = pieces.next().map_or(0, columns);
    let rest = pieces.map(|piece| columns(piece.split_once('m').map_or("", |(_, shown)| shown)));
    first + rest.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_keep_their_beginning() {
        let text = "ok    archive  two words and more\nshort\n";
        assert_eq!(
            wrapped(text, 15, 25),
            "ok    archive  two words\n               and more\nshort\n"
        );
        assert_eq!(
            wrapped("/a/word/that/is/too/long x\n", 2, 10),
            "/a/word/that/is/too/long\n  x\n"
        );
        assert_eq!(wrapped("  a    b  c", 2, 8), "  a    b\n  c");
        assert_eq!(wrapped("", 2, 8), "");
    }

    #[test]
    fn colors_take_no_columns() {
        let text = "\x1b[33mwarning:\x1b[39m it is full";
        assert_eq!(wrapped(text, 2, 20), text);
        assert_eq!(wrapped(text, 2, 15), "\x1b[33mwarning:\x1b[39m it is\n  full");
    }
}
