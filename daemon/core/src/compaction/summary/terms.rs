//! Extracts the significant words of a text in any language, in a form mostly independent of inflection.

use std::collections::BTreeSet;

use unicode_segmentation::UnicodeSegmentation as _;

/// Letters of a word to compare: endings differ, and shorter words occur in any text.
const STEM_CHARS: usize = 5;

/// Prefixes of long words, and pairs of characters in scripts without spaces between words.
///
/// Unicode's rules find words in most scripts but need a dictionary for Chinese, Japanese and Thai. Pairs of
/// characters need none and are as significant: most words of these languages have two.
pub(super) fn terms(text: &str) -> BTreeSet<String> {
    let mut terms = BTreeSet::new();
    for word in text.unicode_words() {
        let word = word.to_lowercase();
        if !word.contains(is_dense) && word.chars().count() >= STEM_CHARS {
            terms.insert(word.chars().take(STEM_CHARS).collect());
        }
    }
    for run in text.split(|c: char| !is_dense(c)) {
        for (at, (one, two)) in run.chars().zip(run.chars().skip(1)).enumerate() {
            // Korean has spaces and puts endings after the stem; Japanese endings are in hiragana only.
            let is_ending = is_hangul(two) && at > 0 || is_hiragana(one) && is_hiragana(two);
            if !is_ending {
                terms.insert([one, two].iter().collect());
            }
        }
    }
    terms
}

fn is_hiragana(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{309F}')
}

fn is_hangul(c: char) -> bool {
    matches!(c, '\u{AC00}'..='\u{D7AF}')
}

/// Whether one character carries about as much as a syllable or a word: Chinese, Japanese and Korean, and the
/// scripts of South-East Asia that are written without spaces.
fn is_dense(c: char) -> bool {
    matches!(
        c,
        '\u{0E00}'..='\u{0EFF}'
            | '\u{1000}'..='\u{109F}'
            | '\u{1780}'..='\u{17FF}'
            | '\u{3040}'..='\u{30FF}'
            | '\u{3400}'..='\u{9FFF}'
            | '\u{AC00}'..='\u{D7AF}'
            | '\u{F900}'..='\u{FAFF}'
            | '\u{20000}'..='\u{3FFFF}'
    )
}
