//! The rule table: the rules of each keyword.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use super::form::{self, TokenRule};
use super::keywords::Keywords;
use super::{assignment, connection, flag, pem, phrase};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// These bytes are secrets: in order, not overlapping.
    Secrets(Vec<Range<usize>>),
    Nothing,
    /// No secret before `resume`: prevents reading a long run again for each hit.
    Passed {
        resume: usize,
    },
}

impl From<Option<Range<usize>>> for Verdict {
    fn from(secret: Option<Range<usize>>) -> Self {
        secret.map_or(Self::Nothing, |secret| Self::Secrets(vec![secret]))
    }
}

/// Finds the secret at a keyword's position. `floor` is the end of the previous secret; bytes before it must not be
/// used again.
type Judge<T> = fn(text: &[u8], hit: &Range<usize>, floor: usize) -> T;

enum SecretRule {
    Token(TokenRule),
    One(Judge<Option<Range<usize>>>),
    Any(Judge<Verdict>),
}

/// All rules, built at the first use.
pub(super) static RULES: LazyLock<RuleSet> = LazyLock::new(RuleSet::all);

pub(super) struct RuleSet {
    keywords: Keywords,
    /// The rules of each keyword by its number, those of longer keywords first.
    owners: Vec<Vec<usize>>,
    rules: Vec<SecretRule>,
}

impl RuleSet {
    fn all() -> Self {
        let mut rules = Vec::new();
        let mut by_keyword: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let mut add = |keywords: Vec<String>, rule: SecretRule| {
            for keyword in keywords {
                by_keyword.entry(keyword).or_default().push(rules.len());
            }
            rules.push(rule);
        };
        for form in form::all() {
            add(form.all_keywords(), SecretRule::Token(form));
        }
        let shapes: [(&[&str], SecretRule); 12] = [
            (connection::URL, SecretRule::One(connection::judge_url)),
            (connection::AUTHORIZATION, SecretRule::One(connection::judge_header)),
            (connection::BEARER, SecretRule::One(connection::judge_bearer)),
            (connection::COOKIE, SecretRule::One(connection::judge_cookie)),
            (connection::NETRC, SecretRule::One(connection::judge_netrc)),
            (connection::PGPASS, SecretRule::One(connection::judge_pgpass)),
            (connection::ESCAPED, SecretRule::One(|_, _, _| None)),
            (flag::PASSWORD_FLAG, SecretRule::One(flag::judge)),
            (phrase::WORDS, SecretRule::One(phrase::judge)),
            (pem::BEGIN, SecretRule::Any(pem::judge_begin)),
            (pem::END, SecretRule::One(pem::judge_end)),
            (pem::PUTTY, SecretRule::One(pem::judge_putty)),
        ];
        for (keywords, rule) in shapes {
            add(keywords.iter().map(|&word| word.to_owned()).collect(), rule);
        }
        add(assignment::keywords(), SecretRule::Any(assignment::judge));
        let begun_by = |keyword: &String| {
            let shorter = (1..=keyword.len()).rev().filter_map(|end| keyword.get(..end));
            shorter.filter_map(|word| by_keyword.get(word)).flatten().copied().collect()
        };
        let owners = by_keyword.keys().map(begun_by).collect();
        let keywords = by_keyword.into_keys().zip(0..).collect();
        Self { keywords: Keywords::new(keywords), owners, rules }
    }

    /// The next keyword at or after `at`, and its number.
    pub(super) fn next_hit(&self, text: &[u8], at: usize) -> Option<(Range<usize>, usize)> {
        self.keywords.find(text, at)
    }

    /// The first verdict of the keyword's rules other than [`Verdict::Nothing`].
    pub(super) fn judge(
        &self,
        text: &[u8],
        (hit, keyword): &(Range<usize>, usize),
        floor: usize,
    ) -> Verdict {
        let owners = self.owners.get(*keyword).into_iter().flatten();
        let mut verdicts =
            owners.filter_map(|owner| self.rules.get(*owner)).map(|rule| match rule {
                SecretRule::Token(form) => form.judge(text, hit, floor),
                SecretRule::One(judge) => Verdict::from(judge(text, hit, floor)),
                SecretRule::Any(judge) => judge(text, hit, floor),
            });
        verdicts.find(|verdict| *verdict != Verdict::Nothing).unwrap_or(Verdict::Nothing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_table_compiles() {
        for rule in &RULES.rules {
            if let SecretRule::Token(form) = rule {
                assert!(form.regex().is_some());
            }
        }
    }
}
