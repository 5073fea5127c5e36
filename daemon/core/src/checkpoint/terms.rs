//! Names in play: paths, identifiers, hashes and URLs, each beside the file or command it was seen
//! with.
//!
//! Half of what an agent needs after a compaction are names it has seen but not yet used: a
//! function in a file it read, a path in a listing. They cannot all be kept; those used by the model
//! itself, seen often and seen lately are the ones needed next.

mod extract;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::limits;

pub use extract::{Found, find};

/// Terms by text.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Terms {
    map: BTreeMap<String, Term>,
}

/// One name in play.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Term {
    /// What it looks like.
    #[serde(rename = "k")]
    pub kind: TermKind,
    /// What it was last seen with.
    #[serde(rename = "a")]
    pub anchor: Anchor,
    /// Lines in which the model or the person wrote it.
    #[serde(rename = "u")]
    pub uses: u32,
    /// Lines in which a tool printed it.
    #[serde(rename = "n")]
    pub sights: u32,
    /// Last line that holds it.
    #[serde(rename = "s")]
    pub seq: u64,
}

/// What a term looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum TermKind {
    /// A file or folder.
    #[serde(rename = "p")]
    Path,
    /// An identifier of code or configuration.
    #[serde(rename = "n")]
    Name,
    /// A hash, UUID or URL.
    #[serde(rename = "i")]
    Id,
}

/// What a term was seen with.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Anchor {
    /// In this file (its key).
    #[serde(rename = "f")]
    File(String),
    /// In the command at this seq, or in its output.
    #[serde(rename = "c")]
    Command(u64),
    /// In words of the person or the model.
    #[serde(rename = "t")]
    Talk,
}

/// Who wrote the text a term stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Voice {
    /// The model or the person.
    Used,
    /// A tool.
    Printed,
}

/// Lines after which a term counts half, in [`Term::score`].
const HALF_LIFE_LINES: u64 = 60;

impl Term {
    /// How likely the term is needed next, seen from line `now`: use before sight, lately before
    /// long ago. Integers, so that every machine agrees.
    pub fn score(&self, now: u64) -> u64 {
        let weight = 2 + 4 * u64::from(self.uses.min(5)) + u64::from(self.sights.min(6));
        weight * 1_000_000 / (HALF_LIFE_LINES + now.saturating_sub(self.seq))
    }
}

impl Terms {
    /// Notes every term of `text`, which must be redacted.
    pub fn note(&mut self, text: &str, anchor: &Anchor, voice: Voice, seq: u64) {
        find(text, voice == Voice::Used, &mut |found| self.insert(found, anchor, voice, seq));
        if self.map.len() > limits::TERMS * 2 {
            self.evict(seq);
        }
    }

    fn insert(&mut self, found: Found<'_>, anchor: &Anchor, voice: Voice, seq: u64) {
        let count = |term: &mut Term| match voice {
            Voice::Used => term.uses = term.uses.saturating_add(1),
            Voice::Printed => term.sights = term.sights.saturating_add(1),
        };
        if let Some(term) = self.map.get_mut(found.text) {
            if term.seq != seq || (voice == Voice::Used && term.uses == 0) {
                count(term);
            }
            term.seq = seq;
            // A file tells more about a name than the command that happened to print it.
            if !matches!(
                (&term.anchor, anchor),
                (Anchor::File(_), Anchor::Command(_) | Anchor::Talk)
            ) {
                term.anchor.clone_from(anchor);
            }
            return;
        }
        let mut term = Term { kind: found.kind, anchor: anchor.clone(), uses: 0, sights: 0, seq };
        count(&mut term);
        self.map.insert(found.text.to_owned(), term);
    }

    /// Text and term of all, in the order of texts.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Term)> {
        self.map.iter().map(|(text, term)| (text.as_str(), term))
    }

    /// The term with this text.
    pub fn get(&self, text: &str) -> Option<&Term> {
        self.map.get(text)
    }

    /// All by score as of `now`, best first, ties by text.
    pub fn ranked(&self, now: u64) -> Vec<(&str, &Term)> {
        let mut terms: Vec<_> = self.iter().collect();
        terms.sort_by(|(text_a, a), (text_b, b)| {
            b.score(now).cmp(&a.score(now)).then(text_a.cmp(text_b))
        });
        terms
    }

    /// Keeps the best. In batches: the sort is shared by as many insertions.
    fn evict(&mut self, now: u64) {
        let mut ranked: Vec<(u64, String)> =
            self.iter().map(|(text, term)| (term.score(now), text.to_owned())).collect();
        ranked.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        for (_, text) in &ranked[limits::TERMS..] {
            self.map.remove(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn used_and_recent_terms_survive() {
        let mut terms = Terms::default();
        terms.note("grep parse_header", &Anchor::Talk, Voice::Used, 0);
        for seq in 1..300 {
            let printed: String = (0..20).map(|n| format!("seen_name_{seq}_{n} ")).collect();
            terms.note(&printed, &Anchor::Command(seq), Voice::Printed, seq);
            terms.note("grep parse_header", &Anchor::Talk, Voice::Used, seq);
        }
        assert!(terms.get("parse_header").is_some());
        assert!(terms.get("seen_name_299_3").is_some());
        assert!(terms.get("seen_name_1_3").is_none());
        assert!(terms.iter().count() <= 2 * limits::TERMS);
    }

    #[test]
    fn a_file_holds_on_to_its_names() {
        let mut terms = Terms::default();
        terms.note("fn parse_header()", &Anchor::File("/w/a.rs".into()), Voice::Printed, 1);
        terms.note("parse_header failed", &Anchor::Command(2), Voice::Printed, 2);
        let term = terms.get("parse_header").cloned();
        assert_eq!(term.map(|t| (t.anchor, t.sights)), Some((Anchor::File("/w/a.rs".into()), 2)));
    }
}
