//! A question, as words of which any may be found.
//!
//! Somebody who asks "when did we move the parser tests?" means the items about it, and few of them hold every
//! word of the question. Words that only make a sentence are left out, and an English word stands for its
//! common forms. Whoever writes an operator, a phrase or a beginning has said what they mean: that is left
//! alone.

use std::collections::BTreeSet;

use super::query::Query;
use crate::limits;

/// Words that make a sentence in English and tell nothing of what it is about.
///
/// # Source
/// Chosen: articles, pronouns, prepositions, auxiliary and question words. Other languages rest on the index:
/// what stands in very many items does not score.
const FUNCTION_WORDS: &[&str] = &[
    "a", "about", "after", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be",
    "because", "been", "before", "being", "both", "but", "by", "can", "could", "did", "do", "does",
    "doing", "done", "during", "each", "for", "from", "had", "has", "have", "having", "he", "her",
    "hers", "him", "his", "how", "i", "if", "in", "into", "is", "it", "its", "just", "kind",
    "many", "may", "me", "might", "more", "most", "much", "must", "my", "no", "not", "of", "on",
    "or", "our", "ours", "out", "over", "s", "shall", "she", "should", "so", "some", "such", "t",
    "than", "that", "the", "their", "theirs", "them", "then", "there", "these", "they", "this",
    "those", "to", "too", "up", "us", "was", "we", "were", "what", "when", "where", "which",
    "while", "who", "whom", "whose", "why", "will", "with", "would", "you", "your", "yours",
];

/// Letters that are left of a word at least when an ending is taken off.
const STEM_LETTERS: usize = 3;

/// The words of a question, each as what finds one of its forms; none where the query says itself how its
/// words belong together, or has none that tells anything.
#[must_use]
pub fn loosened(text: &str) -> Vec<Query> {
    let has_operator = text.contains(['"', '*'])
        || text.split_whitespace().any(|word| matches!(word, "OR" | "NOT" | "AND"));
    if has_operator {
        return Vec::new();
    }
    let mut seen = BTreeSet::new();
    let words = text.split_whitespace().map(bare);
    let telling =
        words.filter(|word| !FUNCTION_WORDS.contains(&word.to_ascii_lowercase().as_str()));
    telling
        .filter(|word| seen.insert(word.to_lowercase()))
        .filter_map(|word| Query::any_of(forms(word).iter().map(String::as_str)))
        .take(limits::QUERY_TERMS)
        .collect()
}

/// A word without what stands around it and without a genitive.
fn bare(word: &str) -> &str {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    let genitive = word.strip_suffix("'s").or_else(|| word.strip_suffix("\u{2019}s"));
    genitive.unwrap_or(word)
}

/// A word and, where it may be English, the forms that its stem commonly has.
fn forms(word: &str) -> BTreeSet<String> {
    let mut forms = BTreeSet::from([word.to_owned()]);
    let is_plain = word.len() > STEM_LETTERS && word.bytes().all(|b| b.is_ascii_alphabetic());
    let is_name = word.bytes().skip(1).any(|b| b.is_ascii_uppercase());
    if !is_plain || is_name {
        return forms;
    }
    let word = word.to_ascii_lowercase();
    let stem = stem(&word);
    let stem = if stem.len() < STEM_LETTERS { word.as_str() } else { stem };
    for ending in ["", "e", "s", "es", "ed", "ing", "er", "y", "ies", "ied"] {
        forms.insert(format!("{stem}{ending}"));
    }
    // run: running, stop: stopped.
    if let Some(last) = stem.chars().last().filter(|c| !"aeiouwxy".contains(*c)) {
        forms.insert(format!("{stem}{last}ing"));
        forms.insert(format!("{stem}{last}ed"));
    }
    forms.insert(word);
    forms
}

fn stem(word: &str) -> &str {
    let endings = ["ings", "ies", "ied", "ing", "ers", "ed", "er", "es", "s", "e", "y"];
    let cut = endings.iter().find_map(|ending| word.strip_suffix(ending));
    let stem = cut.filter(|stem| stem.len() >= STEM_LETTERS).unwrap_or(word);
    let mut ends = stem.bytes().rev();
    match (cut, ends.next(), ends.next()) {
        // running: run, but not calling: cal.
        (Some(_), Some(last), Some(before))
            if last == before && !b"lsz".contains(&last) && stem.len() > STEM_LETTERS =>
        {
            &stem[..stem.len() - 1]
        }
        _ => stem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<BTreeSet<String>> {
        text.split_whitespace().map(|word| forms(bare(word))).collect()
    }

    #[test]
    fn a_question_is_its_telling_words() {
        let asked = loosened("When did Caroline go to the support group?");
        assert_eq!(asked.len(), 4, "caroline, go, support, group: {asked:?}");
        assert!(loosened("what is it").is_empty());
        let path = loosened("where is src/parse_line.rs used");
        assert_eq!(path[0].expression(), r#"((pieces : "src parse line rs"))"#);
    }

    #[test]
    fn a_word_stands_for_its_forms_and_a_name_for_itself() {
        for (asked, found) in [
            ("running", "run"),
            ("run", "running"),
            ("painted", "paintings"),
            ("dance", "dancing"),
            ("studies", "studied"),
            ("calls", "calling"),
            ("stopped", "stop"),
            ("Caroline's", "caroline"),
        ] {
            let stems = |word: &str| stem(&word.to_lowercase()).to_owned();
            let is_found = words(asked)[0].contains(found)
                || words(asked)[0].iter().any(|form| stems(form) == stems(found));
            assert!(is_found, "{asked}: {:?}", words(asked));
        }
        assert_eq!(words("parseLine")[0].len(), 1);
        assert_eq!(words("日本語")[0].len(), 1);
    }

    #[test]
    fn what_says_itself_how_it_is_meant_is_left_alone() {
        for text in ["\"connection refused\" redis", "a OR b", "pars* lines", "x NOT y"] {
            assert!(loosened(text).is_empty(), "{text}");
        }
    }
}
