//! Compares the search for terms with the same search without its shortcuts.

use proptest::prelude::*;

use super::*;

/// Reference for `find`: examines every byte and every chunk.
fn find_slowly<'a>(text: &'a str, hyphens: bool, visit: &mut dyn FnMut(Term<'a>)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let run = bytes[at..].iter().take_while(|b| CLASSES[usize::from(**b)] != 0).count();
        let word = text.get(at..at + run).unwrap_or_default();
        let bare = word.strip_suffix(['.', ':', '?']).filter(|bare| !bare.is_empty());
        let word = bare.unwrap_or(word);
        if word.contains(|c: char| c.is_ascii_alphabetic()) {
            chunk(word, ANY, hyphens, visit);
        }
        at += match bytes[at] {
            _ if run > 0 => run,
            b'#' => issue(&text[at..], visit),
            0x1b => escape_sequence(&bytes[at..]),
            b'\\' if bytes.get(at + 1).is_some_and(|b| b"nrt".contains(b)) => 2,
            _ => 1,
        };
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn skipped_bytes_contain_no_term(
        parts in prop::collection::vec(
            "[a-fA-C0-3]{1,9}|[_/.:?#@~%& ,\\\\\u{1b}é\n-]{1,2}|src|rs|https://|n",
            0..14,
        ),
        hyphens: bool,
    ) {
        let text = parts.concat();
        let (mut found, mut expected) = (Vec::new(), Vec::new());
        find(&text, hyphens, &mut |term| found.push(term));
        find_slowly(&text, hyphens, &mut |term| expected.push(term));
        prop_assert_eq!(found, expected, "{:?}", text);
    }
}

#[test]
fn extensions_are_in_order() {
    assert!(shape::EXTENSION_NUMBERS.is_sorted());
}
