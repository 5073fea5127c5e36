//! The rule table: the rules of each keyword.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use super::form::{self, TokenRule};
use super::keywords::Keywords;
use super::{assignment, connection, flag, pem, phrase};

/// A rule's result for one hit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// These bytes are secrets: in order, not overlapping.
    Secrets(Vec<Range<usize>>),
    /// No secret at this hit.
    Nothing,
    /// No secret before `resume`: prevents reading a long run again for each hit.
    Passed { resume: usize },
}

impl From<Option<Range<usize>>> for Verdict {
    fn from(secret: Option<Range<usize>>) -> Self {
        secret.map_or(Self::Nothing, |secret| Self::Secrets(vec![secret]))
    }
}

/// Finds the secret at a keyword's position. `floor` is the end of the previous secret; bytes before it must not be
/// used again.
type Judge = fn(text: &[u8], hit: &Range<usize>, floor: usize) -> Verdict;

enum SecretRule {
    Token(TokenRule),
    Shape(Judge),
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
        let shapes: [(&[&str], Judge); 12] = [
            (connection::URL, connection::judge_url),
            (connection::AUTHORIZATION, connection::judge_header),
            (connection::BEARER, connection::judge_bearer),
            (connection::COOKIE, connection::judge_cookie),
            (connection::NETRC, connection::judge_netrc),
            (connection::PGPASS, connection::judge_pgpass),
            (connection::ESCAPED, connection::judge_escaped),
            (flag::PASSWORD_FLAG, flag::judge),
            (phrase::WORDS, phrase::judge),
            (pem::BEGIN, pem::judge_begin),
            (pem::END, pem::judge_end),
            (pem::PUTTY, pem::judge_putty),
        ];
        for (keywords, judge) in shapes {
            add(keywords.iter().map(|&word| word.to_owned()).collect(), SecretRule::Shape(judge));
        }
        add(assignment::keywords(), SecretRule::Shape(assignment::judge));
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
        let verdicts = owners.filter_map(|owner| self.rules.get(*owner)).map(|rule| match rule {
            SecretRule::Token(form) => form.judge(text, hit, floor),
            SecretRule::Shape(judge) => judge(text, hit, floor),
        });
        verdicts
            .into_iter()
            .find(|verdict| *verdict != Verdict::Nothing)
            .unwrap_or(Verdict::Nothing)
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
