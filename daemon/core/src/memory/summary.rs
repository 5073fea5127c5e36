//! What a thread in some folder should be told, under a budget.

use super::consolidate::Handbook;

/// Whom it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Scope<'a> {
    /// Its project, where the caller knows it.
    pub project: Option<&'a str>,
    /// Its working folder.
    pub cwd: Option<&'a str>,
}

/// Tokens of an injected summary, by default (document 000).
pub const SUMMARY_TOKENS: u64 = 5_000;

/// The text, at most `max_tokens` tokens (bytes/4); empty when nothing is known that concerns the scope.
/// Nothing of another project is in it.
pub fn summary(handbook: &Handbook, scope: Scope<'_>, max_tokens: u64) -> String {
    let _ = (handbook, scope, max_tokens);
    String::new()
}

/// The text framed for injection, with a line on how to read and cite memory, at most `max_tokens`
/// tokens; empty when there is nothing to tell. The frame lets extraction leave it out again.
pub fn injection(handbook: &Handbook, scope: Scope<'_>, max_tokens: u64) -> String {
    let frame = format!("{}\n{}\n", super::own::OPENING, super::own::CLOSING);
    let text = summary(handbook, scope, max_tokens.saturating_sub(crate::tokens::of_text(&frame)));
    if text.is_empty() {
        return text;
    }
    format!("{}\n{}\n{}\n", super::own::OPENING, text.trim_end(), super::own::CLOSING)
}
