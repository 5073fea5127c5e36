//! Splits text into words, identically for indexing and queries.
//!
//! A *run* is a sequence of letters and digits of one script. Camel-case names are cut into *pieces*
//! (`parseHTTPHeader` → `parse`, `HTTP`, `Header`). A run of CJK characters, which has no spaces, becomes its
//! pairs of neighbors (全文检索 → 全文, 文检, 检索) and its last character, so that any part of it is a phrase of
//! pieces. Characters between runs separate, so a path or a `snake_case` name is a phrase of its parts.
//!
//! The index's tokenizer folds case and diacritics; [`fold`] does the same for highlighting.

use std::ops::Range;

use crate::limits;

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    pub range: Range<usize>,
    /// Its run, cut to [`limits::RUN_BYTES`].
    pub run: Range<usize>,
    /// The last character of a longer CJK run, alone.
    pub is_tail: bool,
    pub is_cjk: bool,
}

impl Piece {
    /// Whether it is its whole run.
    pub fn is_whole(&self) -> bool {
        self.range == self.run
    }
}

/// Words of a text as stored in the index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Words {
    pub pieces: String,
    /// Runs that were split, as a whole.
    pub names: String,
}

/// Splits a text for the index.
pub fn spread(text: &str) -> Words {
    let mut words = Words { pieces: String::with_capacity(text.len() + 16), ..Words::default() };
    let mut named = 0..0;
    for piece in pieces(text) {
        push(&mut words.pieces, &text[piece.range.clone()]);
        if !piece.is_whole() && !piece.is_cjk && piece.run != named {
            push(&mut words.names, &text[piece.run.clone()]);
            named = piece.run;
        }
    }
    words
}

fn push(out: &mut String, word: &str) {
    if !out.is_empty() {
        out.push(' ');
    }
    out.push_str(word);
}

/// The pieces of a text, in order.
pub fn pieces(text: &str) -> impl Iterator<Item = Piece> {
    runs(text).flat_map(move |run| {
        let mut found = Vec::new();
        match text[run.clone()].starts_with(is_cjk) {
            true => pairs(text, run, &mut found),
            false => camel(text, run, &mut found),
        }
        found
    })
}

/// The runs of a text, of one script each; non-CJK runs are cut to their limit.
fn runs(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text[at..].find(is_word)?;
        let rest = &text[start..];
        let is_cjk_run = rest.starts_with(is_cjk);
        let ends = |c: char| !is_word(c) || is_cjk(c) != is_cjk_run;
        let length = rest.find(ends).unwrap_or(rest.len());
        at = start + length;
        let kept = if is_cjk_run { length } else { rest.floor_char_boundary(limits::RUN_BYTES) };
        Some(start..start + length.min(kept))
    })
}

/// Letters, digits, and the marks that combine with them.
fn is_word(c: char) -> bool {
    c.is_alphanumeric() || ('\u{300}'..='\u{36f}').contains(&c)
}

fn is_cjk(c: char) -> bool {
    matches!(u32::from(c),
        0x3040..=0x30ff | 0x31f0..=0x31ff | 0x3400..=0x4dbf | 0x4e00..=0x9fff
        | 0xac00..=0xd7af | 0xf900..=0xfaff | 0x2_0000..=0x3_ffff)
}

/// Pairs of neighbors, and the last character alone.
fn pairs(text: &str, run: Range<usize>, found: &mut Vec<Piece>) {
    let starts: Vec<usize> =
        text[run.clone()].char_indices().map(|(at, _)| run.start + at).chain([run.end]).collect();
    let is_several = starts.len() > 2;
    for pair in starts.windows(3) {
        let range = pair[0]..pair[2];
        found.push(Piece { range, run: run.clone(), is_tail: false, is_cjk: true });
    }
    if let [.., last, end] = starts[..] {
        found.push(Piece { range: last..end, run, is_tail: is_several, is_cjk: true });
    }
}

/// Cuts before an upper-case letter that follows a lower-case one or a digit, and before the last of
/// several that begins a word.
fn camel(text: &str, run: Range<usize>, found: &mut Vec<Piece>) {
    let mut start = run.start;
    let mut push = |range: Range<usize>| {
        found.push(Piece { range, run: run.clone(), is_tail: false, is_cjk: false });
    };
    let bytes = text.as_bytes();
    for at in run.start + 1..run.end {
        let (before, here) = (bytes[at - 1], bytes[at]);
        let begins = here.is_ascii_uppercase()
            && (before.is_ascii_lowercase()
                || (before.is_ascii_uppercase()
                    && at + 1 < run.end
                    && bytes[at + 1].is_ascii_lowercase()));
        // One letter is no word: `iOS` and `mV` stay whole.
        if begins && at - start > 1 {
            push(start..at);
            start = at;
        }
    }
    push(start..run.end);
}

/// Lower case without the diacritics of Latin letters, as the index's tokenizer folds them.
pub fn fold(word: &str) -> String {
    if word.is_ascii() {
        return word.to_ascii_lowercase();
    }
    let is_mark = |c: &char| ('\u{300}'..='\u{36f}').contains(c);
    word.chars().flat_map(char::to_lowercase).filter(|c| !is_mark(c)).map(plain).collect()
}

/// A Latin letter without its diacritic.
fn plain(c: char) -> char {
    const FOLDED: &[(&str, char)] = &[
        ("àáâãäåāăą", 'a'),
        ("çćĉċč", 'c'),
        ("ďđ", 'd'),
        ("èéêëēĕėęě", 'e'),
        ("ĝğġģ", 'g'),
        ("ìíîïĩīĭį", 'i'),
        ("ĺļľ", 'l'),
        ("ñńņň", 'n'),
        ("òóôõöōŏő", 'o'),
        ("ŕŗř", 'r'),
        ("śŝşš", 's'),
        ("ţť", 't'),
        ("ùúûüũūŭůűų", 'u'),
        ("ýÿŷ", 'y'),
        ("źżž", 'z'),
    ];
    FOLDED.iter().find(|(marked, _)| marked.contains(c)).map_or(c, |(_, plain)| *plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_paths_and_scripts_without_spaces_are_split() {
        for (text, pieces, names) in [
            ("src/foo_bar.rs:12", "src foo bar rs 12", ""),
            ("parseHTTPHeader()", "parse HTTP Header", "parseHTTPHeader"),
            ("sha256 utf8Path", "sha256 utf8Path", ""),
            ("iOS eBPF", "iOS eBPF", ""),
            ("don't café", "don t café", ""),
            ("全文检索", "全文 文检 检索 索", ""),
            ("用rust写", "用 rust 写", ""),
            ("  -> ***", "", ""),
        ] {
            let words = spread(text);
            assert_eq!((words.pieces.as_str(), words.names.as_str()), (pieces, names), "{text}");
        }
    }

    #[test]
    fn blobs_are_cut_and_long_prose_is_kept() {
        let blob = "a".repeat(5_000);
        assert_eq!(spread(&blob).pieces.len(), limits::RUN_BYTES);
        let prose = "検索".repeat(500);
        assert_eq!(pieces(&prose).count(), 1_000);
    }

    #[test]
    fn folding_equals_that_of_the_tokenizer() {
        assert_eq!(fold("ÉCOLE"), "ecole");
        assert_eq!(fold("e\u{301}cole"), "ecole");
        assert_eq!(fold("ParseLine"), "parseline");
    }
}
