//! Tokens of a history by kind of content.

use serde::{Deserialize, Serialize};
use strum::VariantArray as _;

/// What fills a context window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(usize)]
#[derive(strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum ContextKind {
    /// Instructions of the harness that are not part of the initial context.
    System,
    User,
    Assistant,
    ToolCalls,
    ToolOutputs,
    Reasoning,
    Images,
    /// Initial context of the harness: permissions, environment, AGENTS.md.
    InitialContext,
    Summary,
    Other,
}

impl ContextKind {
    /// All kinds in display order.
    pub const ALL: &'static [Self] = Self::VARIANTS;
}

/// Tokens for each [`ContextKind`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Breakdown([u64; ContextKind::ALL.len()]);

impl Breakdown {
    pub fn of(kind: ContextKind, tokens: u64) -> Self {
        let mut breakdown = Self::default();
        breakdown.0[kind as usize] = tokens;
        breakdown
    }

    pub fn get(&self, kind: ContextKind) -> u64 {
        self.0[kind as usize]
    }

    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine = mine.saturating_add(theirs);
        }
    }

    /// The difference, per kind and never below zero.
    #[must_use]
    pub fn without(mut self, other: &Self) -> Self {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine = mine.saturating_sub(theirs);
        }
        self
    }

    pub fn total(&self) -> u64 {
        self.0.iter().fold(0, |sum, tokens| sum.saturating_add(*tokens))
    }

    pub fn entries(&self) -> impl Iterator<Item = (ContextKind, u64)> {
        ContextKind::ALL.iter().copied().zip(self.0).filter(|(_, tokens)| *tokens > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_breakdown_adds_up_and_names_each_kind_once() {
        let mut sum = Breakdown::of(ContextKind::User, 3);
        sum.add(&Breakdown::of(ContextKind::Images, 4));
        sum.add(&Breakdown::of(ContextKind::User, 5));
        assert_eq!(sum.total(), 12);
        let of = [ContextKind::User, ContextKind::Images, ContextKind::Other];
        assert_eq!(of.map(|kind| sum.get(kind)), [8, 4, 0]);
        assert_eq!(
            sum.entries().collect::<Vec<_>>(),
            [(ContextKind::User, 8), (ContextKind::Images, 4)]
        );
        for (index, kind) in ContextKind::ALL.iter().copied().enumerate() {
            assert_eq!(kind as usize, index, "{}", kind.into_str());
        }
    }
}
