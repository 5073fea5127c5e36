//! The rule table: which keyword starts which rule.

use std::ops::Range;
use std::sync::LazyLock;

use super::keywords::Keywords;
use super::vendor::{Pattern, VENDORS};
use super::{assignment, connection, flag, pem, phrase};

/// What a rule says about one hit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// These bytes are a secret.
    Secret(Range<usize>),
    /// No secret at this hit.
    Nothing,
    /// No secret, and nothing to look for before `resume`: keeps a long run from being read per hit.
    Passed { resume: usize },
}

/// A rule: from the place of its keyword to the place of a secret. `floor` is the end of the last
/// secret found; nothing before it may be taken again.
pub(super) enum SecretRule {
    Vendor(Pattern),
    Shape(fn(text: &[u8], hit: &Range<usize>, floor: usize) -> Verdict),
}

impl SecretRule {
    pub(super) fn judge(&self, text: &[u8], hit: &Range<usize>, floor: usize) -> Verdict {
        match self {
            Self::Vendor(pattern) => pattern.judge(text, hit, floor),
            Self::Shape(judge) => judge(text, hit, floor),
        }
    }
}

/// All rules, made ready once, at the first use.
pub(super) static RULES: LazyLock<RuleSet> = LazyLock::new(RuleSet::all);

pub(super) struct RuleSet {
    keywords: Keywords,
    rules: Vec<SecretRule>,
}

impl RuleSet {
    fn all() -> Self {
        let mut keywords = Vec::new();
        let mut rules = Vec::new();
        let vendors = VENDORS
            .iter()
            .map(|vendor| (vendor.all_keywords(), SecretRule::Vendor(Pattern::of(vendor))));
        let shapes = [
            (assignment::keywords(), SecretRule::Shape(assignment::judge)),
            (connection::owned(connection::URL), SecretRule::Shape(connection::judge_url)),
            (
                connection::owned(connection::AUTHORIZATION),
                SecretRule::Shape(connection::judge_header),
            ),
            (connection::owned(connection::BEARER), SecretRule::Shape(connection::judge_bearer)),
            (connection::owned(connection::COOKIE), SecretRule::Shape(connection::judge_cookie)),
            (connection::owned(connection::NETRC), SecretRule::Shape(connection::judge_netrc)),
            (connection::owned(connection::PGPASS), SecretRule::Shape(connection::judge_pgpass)),
            (
                connection::owned(connection::USER_FLAG),
                SecretRule::Shape(connection::judge_user_flag),
            ),
            (connection::owned(flag::PASSWORD_FLAG), SecretRule::Shape(flag::judge)),
            (connection::owned(phrase::WORDS), SecretRule::Shape(phrase::judge)),
            (connection::owned(pem::BEGIN), SecretRule::Shape(pem::judge_begin)),
            (connection::owned(pem::END), SecretRule::Shape(pem::judge_end)),
            (connection::owned(pem::PUTTY), SecretRule::Shape(pem::judge_putty)),
        ];
        for (words, rule) in vendors.chain(shapes) {
            keywords.extend(words.into_iter().map(|word| (word, rules.len())));
            rules.push(rule);
        }
        Self { keywords: Keywords::new(keywords), rules }
    }

    /// Finds the next keyword at or after `at`.
    pub(super) fn next_hit(&self, text: &[u8], at: usize) -> Option<(Range<usize>, &SecretRule)> {
        let (hit, owner) = self.keywords.find(text, at)?;
        Some((hit, self.rules.get(owner)?))
    }

    #[cfg(test)]
    pub(super) fn is_complete(&self) -> bool {
        self.rules.iter().all(|rule| match rule {
            SecretRule::Vendor(pattern) => pattern.regex().is_some(),
            SecretRule::Shape(_) => true,
        })
    }
}
