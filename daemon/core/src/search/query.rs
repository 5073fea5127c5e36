//! Parses a query into an index expression.
//!
//! A hit contains all words of a query. `"…"` is a phrase, `word*` a prefix; `OR` (in capitals) separates
//! alternatives, `NOT word` excludes a word, and `AND` changes nothing. All other characters separate words, so no
//! text is a syntax error, and only quoted pieces of words reach the index.

use crate::limits;

use super::word;

/// Minimum letters of a prefix; shorter ones match too many words. A single CJK character is enough.
pub const PREFIX_LETTERS: usize = 3;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// At least one alternative, each with at least one term.
    alternatives: Vec<Alternative>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Alternative {
    wanted: Vec<Term>,
    unwanted: Vec<Term>,
}

/// A word, name, path or phrase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// At least one piece, case-folded, in order.
    pub pieces: Vec<String>,
    /// Whether the last piece is a prefix.
    pub is_prefix: bool,
    /// The whole term if it is a single name, such as `parseLine`, in one piece or several.
    pub name: Option<String>,
}

/// How the hits of a term can be scored, as index expressions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scorer {
    /// A single word; the number of items that contain it is cheap to count.
    pub word: String,
    /// The expression to score by if there are few of them.
    pub expression: String,
}

/// Why a query is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// It has no letter or digit.
    #[error("it contains no words")]
    Empty,
    /// An alternative has nothing but exclusions.
    #[error("it only excludes words: NOT needs another word to search for")]
    OnlyExclusions,
    /// A prefix is shorter than [`PREFIX_LETTERS`].
    #[error("a prefix* needs at least {PREFIX_LETTERS} letters")]
    ShortPrefix,
    /// It exceeds [`limits::QUERY_BYTES`] or [`limits::QUERY_TERMS`].
    #[error(
        "it is too long: at most {} words and {} bytes are allowed",
        limits::QUERY_TERMS,
        limits::QUERY_BYTES
    )]
    TooLong,
}

impl Query {
    pub fn parse(text: &str) -> Result<Self, QueryError> {
        if text.len() > limits::QUERY_BYTES {
            return Err(QueryError::TooLong);
        }
        let mut alternatives = vec![Alternative::default()];
        let mut is_excluded = false;
        let mut terms = 0;
        for token in tokens(text) {
            match token {
                Token::Or => alternatives.push(Alternative::default()),
                Token::Not => is_excluded = true,
                Token::Words { text, is_prefix } => {
                    let Some(term) = Term::of(text, is_prefix) else { continue };
                    if is_prefix && term.is_short() {
                        return Err(QueryError::ShortPrefix);
                    }
                    let Some(last) = alternatives.last_mut() else { continue };
                    let side = if is_excluded { &mut last.unwanted } else { &mut last.wanted };
                    side.push(term);
                    is_excluded = false;
                    terms += 1;
                }
            }
        }
        alternatives.retain(|one| !(one.wanted.is_empty() && one.unwanted.is_empty()));
        match terms {
            0 => Err(QueryError::Empty),
            _ if terms > limits::QUERY_TERMS => Err(QueryError::TooLong),
            _ if alternatives.iter().any(|one| one.wanted.is_empty()) => {
                Err(QueryError::OnlyExclusions)
            }
            _ => Ok(Self { alternatives }),
        }
    }

    /// A query that any of these whole words matches.
    pub(super) fn any_of<'a>(words: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let alone = |term| Alternative { wanted: vec![term], unwanted: Vec::new() };
        let terms = words.into_iter().filter_map(|word| Term::of(word, false));
        let alternatives: Vec<Alternative> = terms.map(alone).collect();
        (!alternatives.is_empty()).then_some(Self { alternatives })
    }

    /// A query for everything that at least one of `queries` finds.
    pub fn union(queries: &[Self]) -> Self {
        let all = queries.iter().flat_map(|query| query.alternatives.clone());
        Self { alternatives: all.collect() }
    }

    /// The terms that hits contain, for highlighting.
    pub fn wanted(&self) -> impl Iterator<Item = &Term> {
        self.alternatives.iter().flat_map(|one| &one.wanted)
    }

    /// The query as an index expression.
    pub fn expression(&self) -> String {
        let shown = self.alternatives.iter().map(|one| {
            let wanted = joined(&one.wanted, " AND ");
            match one.unwanted.is_empty() {
                true => wanted,
                false => format!("({wanted}) NOT ({})", joined(&one.unwanted, " OR ")),
            }
        });
        let shown: Vec<String> = shown.map(|one| format!("({one})")).collect();
        shown.join(" OR ")
    }
}

fn joined(terms: &[Term], between: &str) -> String {
    terms.iter().map(Term::expression).collect::<Vec<_>>().join(between)
}

impl Term {
    /// The term for a word, a name, a path or a phrase; `None` if it has no letter or digit.
    fn of(text: &str, is_prefix: bool) -> Option<Self> {
        let mut found: Vec<_> = word::pieces(text).collect();
        let run = found.first()?.run.clone();
        let is_one_run = found.iter().all(|piece| piece.run == run);
        let mut is_prefix = is_prefix;
        if let Some(last) = found.last() {
            // CJK text is indexed in pairs, so its last character may be the first of a pair in a longer text.
            match (last.is_tail, last.is_cjk) {
                (true, _) => drop(found.pop()),
                (false, true) => is_prefix = true,
                (false, false) => {}
            }
        }
        let is_cjk = found.first().is_some_and(|piece| piece.is_cjk);
        let name = (is_one_run && !is_cjk).then(|| word::fold(&text[run]));
        let pieces = found.into_iter().map(|piece| word::fold(&text[piece.range])).collect();
        Some(Self { pieces, is_prefix, name })
    }

    /// Whether it is too short for a prefix.
    fn is_short(&self) -> bool {
        let last = self.pieces.last().map_or("", String::as_str);
        last.is_ascii() && last.len() < PREFIX_LETTERS
    }

    /// How to score the term, in order of preference: each is a word that every hit contains, and the expression to
    /// score by if that word is rare. A prefix has none, because finding its words takes a scan of all words. No word
    /// is a whole phrase, because counting its items takes a scan of all items of each of its words.
    pub fn scorers(&self) -> Vec<Scorer> {
        if self.is_prefix {
            return Vec::new();
        }
        let whole = self.expression();
        if let [_] = &self.pieces[..] {
            return vec![Scorer { word: whole.clone(), expression: whole }];
        }
        let piece = |piece: &String| Scorer {
            word: format!("pieces : \"{piece}\""),
            expression: whole.clone(),
        };
        let name = self.name.as_ref().map(|name| {
            let name = format!("names : \"{name}\"");
            Scorer { word: name.clone(), expression: name }
        });
        self.pieces.iter().map(piece).chain(name).collect()
    }

    /// The term as an index expression.
    pub fn expression(&self) -> String {
        let star = if self.is_prefix { " *" } else { "" };
        let phrase = format!("pieces : \"{}\"{star}", self.pieces.join(" "));
        match &self.name {
            Some(name) => format!("({phrase} OR names : \"{name}\"{star})"),
            None => format!("({phrase})"),
        }
    }
}

enum Token<'a> {
    Or,
    Not,
    Words { text: &'a str, is_prefix: bool },
}

/// Splits a query at whitespace and quotes; an unclosed quote extends to the end.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        if let Some(quoted) = rest.strip_prefix('"') {
            let (phrase, after) = quoted.split_once('"').unwrap_or((quoted, ""));
            let (after, is_prefix) = star(after);
            found.push(Token::Words { text: phrase, is_prefix });
            rest = after.trim_start();
            continue;
        }
        let end = rest.find(|c: char| c.is_whitespace() || c == '"').unwrap_or(rest.len());
        let (text, after) = rest.split_at(end);
        found.push(match text {
            "OR" => Token::Or,
            "NOT" => Token::Not,
            "AND" => Token::Words { text: "", is_prefix: false },
            text => Token::Words { text, is_prefix: text.len() > 1 && text.ends_with('*') },
        });
        rest = after.trim_start();
    }
    found
}

fn star(text: &str) -> (&str, bool) {
    text.strip_prefix('*').map_or((text, false), |rest| (rest, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expression(text: &str) -> String {
        Query::parse(text).unwrap().expression()
    }

    #[test]
    fn words_phrases_prefixes_and_operators() {
        for (text, expected) in [
            ("Fix", r#"((pieces : "fix" OR names : "fix"))"#),
            ("src/foo_bar.rs", r#"((pieces : "src foo bar rs"))"#),
            ("parseLine", r#"((pieces : "parse line" OR names : "parseline"))"#),
            ("\"dead lock\"*", r#"((pieces : "dead lock" *))"#),
            ("全文检索", r#"((pieces : "全文 文检 检索"))"#),
            ("索", r#"((pieces : "索" *))"#),
            ("a AND b", r#"((pieces : "a" OR names : "a") AND (pieces : "b" OR names : "b"))"#),
            (
                "x OR y NOT zed*",
                r#"((pieces : "x" OR names : "x")) OR (((pieces : "y" OR names : "y")) NOT ((pieces : "zed" * OR names : "zed" *)))"#,
            ),
        ] {
            assert_eq!(expression(text), expected, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn only_quoted_words_reach_the_index(text in ".{0,60}") {
            if let Ok(query) = Query::parse(&text) {
                let expression = query.expression();
                for (number, part) in expression.split('"').enumerate() {
                    let is_safe = match number % 2 {
                        1 => part.chars().all(|c| c == ' ' || c.is_alphanumeric() || ('\u{300}'..='\u{36f}').contains(&c)),
                        _ => part.split_whitespace().all(|word| {
                            let word = word.trim_matches(['(', ')']);
                            ["", "pieces", "names", ":", "*", "AND", "OR", "NOT"].contains(&word)
                        }),
                    };
                    proptest::prop_assert!(is_safe, "{}", expression);
                }
            }
        }
    }

    #[test]
    fn only_words_are_scored_not_phrases_or_prefixes() {
        for (text, words) in [
            ("fix", &[r#"(pieces : "fix" OR names : "fix")"#][..]),
            ("\"dead lock\"", &[r#"pieces : "dead""#, r#"pieces : "lock""#]),
            ("parseLine", &[r#"pieces : "parse""#, r#"pieces : "line""#, r#"names : "parseline""#]),
            ("fix*", &[]),
        ] {
            let query = Query::parse(text).unwrap();
            let scorers = query.wanted().flat_map(Term::scorers);
            assert_eq!(scorers.map(|scorer| scorer.word).collect::<Vec<_>>(), words, "{text}");
        }
    }

    #[test]
    fn an_invalid_query_is_rejected_with_a_reason() {
        for (text, error) in [
            ("", QueryError::Empty),
            ("-> \"\" *", QueryError::Empty),
            ("OR AND NOT", QueryError::Empty),
            ("NOT x", QueryError::OnlyExclusions),
            ("ab*", QueryError::ShortPrefix),
            ("src/a*", QueryError::ShortPrefix),
            ("a OR NOT x", QueryError::OnlyExclusions),
        ] {
            assert_eq!(Query::parse(text), Err(error), "{text}");
        }
        assert_eq!(Query::parse(&"w ".repeat(limits::QUERY_TERMS + 1)), Err(QueryError::TooLong));
        assert_eq!(Query::parse(&"w".repeat(limits::QUERY_BYTES + 1)), Err(QueryError::TooLong));
        let longest = ["w ".repeat(limits::QUERY_TERMS), "w".repeat(limits::QUERY_BYTES)];
        assert!(longest.iter().all(|text| Query::parse(text).is_ok()));
    }
}
