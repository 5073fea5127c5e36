//! The rules of the house that no compiler keeps: sizes, names, floors, and what documents promise.
//!
//! A rule that matters is a test; one that is only written down is forgotten by the third change.
#![expect(clippy::expect_used, reason = "a test that cannot read the source has failed")]

mod documents;
mod edges;
mod floors;
mod json;
mod modules;
mod names;
mod sample;
mod sizes;
mod source;
mod vocabulary;

/// Fails with all findings at once, so that one run shows all there is to mend.
fn assert_none(rule: &str, findings: &[String]) {
    assert!(findings.is_empty(), "{rule}:\n  {}", findings.join("\n  "));
}
