//! Turns a question into words, any of which may match.
//!
//! Few items that answer "When did we move the parser tests?" contain every word. So function words are dropped,
//! and an English word also matches its common forms. A query with an operator, a phrase or a prefix is explicit
//! and stays unchanged.

use std::collections::BTreeSet;

use super::query::Query;
use crate::limits;

/// English function words.
///
/// # Source
/// Chosen: articles, pronouns, prepositions, auxiliary and question words. For other languages the index
/// suffices: very common words do not score.
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

/// Minimum letters left after removing an ending.
const STEM_LETTERS: usize = 3;

/// The words of a question, each with its forms; empty if the query has operators or no significant word.
pub fn loosened(text: &str) -> Vec<Query> {
    let has_operator = text.contains(['"', '*'])
        || text.split_whitespace().any(|word| matches!(word, "OR" | "NOT" | "AND"));
    if has_operator {
        return Vec::new();
    }
    let mut seen = BTreeSet::new();
    let words = text.split_whitespace().map(bare);
    let significant =
        words.filter(|word| !FUNCTION_WORDS.contains(&word.to_ascii_lowercase().as_str()));
    significant
        .filter(|word| seen.insert(word.to_lowercase()))
        .filter_map(|word| Query::any_of(forms(word).iter().map(String::as_str)))
        .take(limits::QUERY_TERMS)
        .collect()
}

/// A word without surrounding punctuation and genitive.
fn bare(word: &str) -> &str {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    let genitive = word.strip_suffix("'s").or_else(|| word.strip_suffix("\u{2019}s"));
    genitive.unwrap_or(word)
}

/// A word and, if it may be English, the common forms of its stem.
fn forms(word: &str) -> BTreeSet<String> {
    let mut forms = BTreeSet::from([word.to_owned()]);
    let is_plain = word.len() >= STEM_LETTERS && word.bytes().all(|b| b.is_ascii_alphabetic());
    let is_name = word.bytes().skip(1).any(|b| b.is_ascii_uppercase());
    if !is_plain || is_name {
        return forms;
    }
    let word = word.to_ascii_lowercase();
    let stem = stem(&word);
    for ending in ["", "e", "s", "es", "ed", "ing", "ings", "er", "ers", "y", "ies", "ied"] {
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
    fn a_question_becomes_its_significant_words() {
        let asked = loosened("When did Caroline go to the support group?");
        assert_eq!(asked.len(), 4, "caroline, go, support, group: {asked:?}");
        assert!(loosened("what is it").is_empty());
        let path = loosened("where is src/parse_line.rs used");
        assert_eq!(path[0].expression(), r#"((pieces : "src parse line rs"))"#);
    }

    #[test]
    fn a_word_matches_its_forms_and_a_name_only_itself() {
        for (asked, found) in [
            ("running", "run"),
            ("run", "running"),
            ("bug", "bugs"),
            ("painted", "paintings"),
            ("painter", "painters"),
            ("dance", "dancing"),
            ("studies", "studied"),
            ("calls", "calling"),
            ("stopped", "stop"),
            ("added", "add"),
            ("going", "going"),
            ("Caroline's", "caroline"),
        ] {
            assert!(words(asked)[0].contains(found), "{asked}: {:?}", words(asked));
        }
        for name in ["parseLine", "日本語", "x2", "go"] {
            assert_eq!(words(name)[0].iter().collect::<Vec<_>>(), [name]);
        }
    }

    #[test]
    fn an_explicit_query_is_not_loosened() {
        for text in ["\"connection refused\" redis", "a OR b", "pars* lines", "x NOT y"] {
            assert!(loosened(text).is_empty(), "{text}");
        }
    }
}
