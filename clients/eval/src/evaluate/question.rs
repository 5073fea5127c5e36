//! One cut and the questions about it.

use crate::claims::{ClaimReader, ExitCodes};
use crate::cut::Cut;
use crate::fact::{Fact, Words, holds};
use crate::gold::Gold;
use crate::report::{CutScore, Miss, ScoreKey};
use crate::view::View;
use crate::words::{SpokenText, WordKind};

pub(super) struct Question<'a> {
    pub(super) repository: &'a str,
    pub(super) cut: Cut<'a>,
    pub(super) gold: Vec<Gold>,
    pub(super) facts: Vec<Fact>,
    pub(super) codes: ExitCodes,
    pub(super) spoken_text: SpokenText,
}

impl Question<'_> {
    /// Scores a view and lists what it lacks.
    pub(super) fn score(&self, text: &str, budget: u64, words: &Words) -> (CutScore, Vec<Miss>) {
        let view = View::new(text);
        let mut score = CutScore::default();
        let mut misses = Vec::new();
        for gold in &self.gold {
            let is_kept = view.names(&gold.entity);
            score.name(gold, is_kept);
            if !is_kept {
                misses.push(Miss::name(&self.cut, budget, gold));
            }
        }
        for fact in &self.facts {
            let is_kept = holds(&view, fact, budget, words);
            score.fact(fact.kind(), is_kept);
            if !is_kept {
                misses.push(Miss::fact(&self.cut, budget, fact));
            }
        }
        for (kind, kept, asked) in self.spoken_text.kept(text) {
            score.words(kind, kept, asked);
        }
        (score, misses)
    }

    /// The view's statements that the transcript contradicts.
    pub(super) fn contradicted(
        &self,
        text: &str,
        claims: &ClaimReader,
        score: &mut CutScore,
    ) -> Vec<String> {
        let counts = claims.check(text, &self.codes, &self.facts);
        let found = counts.contradicted;
        score.words(WordKind::FalseStatements, found.len() as u64, counts.statements);
        found
    }

    pub(super) fn key(&self, view: &'static str, budget_tokens: u64) -> ScoreKey<'_> {
        ScoreKey { session: self.cut.session, repository: self.repository, view, budget_tokens }
    }
}
