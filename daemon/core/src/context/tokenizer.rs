//! Real tokenizers, for exact counts on request.
//!
//! A vocabulary is unpacked at first use and stays for the life of the process (at most 26 MB in all).
//! Counting megabytes takes seconds: call it from a blocking thread.

use strum::VariantNames as _;
use tiktoken::CoreBpe;

/// Bytes counted at once. The crate's cost grows faster than its input in text without spaces (a megabyte
/// of one letter takes seconds); it stays linear below 100 KB, so long texts are counted in pieces.
const PIECE_BYTES: usize = 64 * 1_024;

/// Bytes before the end of a piece that are searched for a position no token can span.
const SEAM_BYTES: usize = 4 * 1_024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[derive(strum::EnumString, strum::VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum Tokenizer {
    /// GPT-4o and later.
    O200k,
    /// GPT-4 and GPT-3.5.
    Cl100k,
}

impl Tokenizer {
    pub const NAMES: &'static [&'static str] = Self::VARIANTS;

    /// Finds a tokenizer by name, with or without the `_base` suffix of vocabularies.
    pub fn of_name(name: &str) -> Option<Self> {
        name.strip_suffix("_base").unwrap_or(name).parse().ok()
    }

    /// Counts tokens. Exact, except that runs of more than 64 KiB without a space are cut into pieces and
    /// each piece may add one token.
    pub fn count(self, text: &str) -> u64 {
        let Some(vocabulary) = self.vocabulary() else { return crate::tokens::of_text(text) };
        pieces(text).map(|piece| vocabulary.count(piece) as u64).sum()
    }

    /// Both are built in; otherwise callers fall back to estimates by size.
    fn vocabulary(self) -> Option<&'static CoreBpe> {
        tiktoken::get_encoding(match self {
            Self::O200k => "o200k_base",
            Self::Cl100k => "cl100k_base",
        })
    }
}

/// Splits a text without changing its tokens.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, after) = rest.split_at(seam(rest));
        rest = after;
        Some(piece)
    })
}

/// The end of the first piece: between a letter and the space after it, which no token of either
/// vocabulary joins, or else wherever a character ends.
fn seam(text: &str) -> usize {
    if text.len() <= PIECE_BYTES {
        return text.len();
    }
    let end = text.floor_char_boundary(PIECE_BYTES);
    let from = end.saturating_sub(SEAM_BYTES);
    let window = &text.as_bytes()[from..=end];
    let found =
        window.windows(2).rposition(|pair| pair[0].is_ascii_alphabetic() && pair[1] == b' ');
    found.map_or(end, |at| from + at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_any_script_is_counted() {
        for (text, o200k, cl100k) in [
            ("", 0, 0),
            ("hello world", 2, 2),
            ("tiktoken is great!", 6, 6),
            ("お誕生日おめでとう", 8, 9),
        ] {
            assert_eq!(Tokenizer::O200k.count(text), o200k, "{text}");
            assert_eq!(Tokenizer::Cl100k.count(text), cl100k, "{text}");
        }
        let scripts = "Приветствую तुम कैसे हो 你好世界 안녕하세요 שלום 😀👩‍👩‍👧";
        assert!(Tokenizer::O200k.count(scripts) < scripts.len() as u64);
    }

    #[test]
    fn a_long_text_counts_as_if_it_were_counted_at_once() {
        let text = "The parser's tests fail: expected 12, found 7.\n\tlet x = parse(\"a b\");  // 日本 語\n"
            .repeat(2_500);
        assert!(text.len() > 3 * PIECE_BYTES);
        for (tokenizer, name) in
            [(Tokenizer::O200k, "o200k_base"), (Tokenizer::Cl100k, "cl100k_base")]
        {
            let whole = tiktoken::get_encoding(name).unwrap().count(&text) as u64;
            assert_eq!(tokenizer.count(&text), whole, "{name}");
        }
        assert_eq!(pieces(&text).collect::<String>(), text);
        let prose = "some long words that are never cut ".repeat(6_000);
        let pieces: Vec<&str> = pieces(&prose).collect();
        for seam in pieces.windows(2) {
            let (end, start) = (&seam[0][seam[0].len() - 8..], &seam[1][..8]);
            assert!(end.ends_with(|c: char| c != ' ') && start.starts_with(' '), "{end}|{start}");
        }
        assert_eq!(pieces.len(), prose.len().div_ceil(PIECE_BYTES));
    }

    #[test]
    fn a_megabyte_without_a_space_is_counted_quickly() {
        let text = "語".repeat(350_000);
        assert!(pieces(&text).all(|piece| piece.len() <= PIECE_BYTES));
        assert!(Tokenizer::O200k.count(&"=".repeat(1 << 20)) > 1_000);
    }

    #[test]
    fn names_are_known_with_and_without_their_suffix() {
        assert_eq!(Tokenizer::of_name("o200k_base"), Some(Tokenizer::O200k));
        assert_eq!(Tokenizer::of_name("gpt2"), None);
        assert!(Tokenizer::NAMES.iter().all(|name| Tokenizer::of_name(name).is_some()));
    }
}
