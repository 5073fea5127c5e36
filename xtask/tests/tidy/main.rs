//! House rules that no compiler enforces: sizes, names, floors, and promises of documents.
//!
//! A rule that matters is a test; one that is only written down is soon forgotten.
#![expect(clippy::expect_used, reason = "a test that cannot read the source has failed")]

mod documents;
mod edges;
mod floors;
mod json;
mod messages;
mod modules;
mod names;
mod sample;
mod services;
mod sizes;
mod source;
mod vocabulary;

/// Fails with all findings at once, so that one run shows everything to fix.
fn assert_none(rule: &str, findings: &[String]) {
    assert!(findings.is_empty(), "{rule}:\n  {}", findings.join("\n  "));
}
