//! What an agent needs to go on: lines of the transcript itself, chosen for a budget.
//!
//! # Theory of operation
//! Folding a transcript collects *evidence*: single lines, each with where it stands and what kind of
//! line it is, such as a sentence of a report or an added line of code (`evidence`). Each kind has a bound in
//! bytes and evicts its weakest, oldest lines, so a briefing's size does not depend on the transcript's.
//! Nothing is ranked while folding: what matters is known only when somebody asks.
//!
//! A view asks. `gather` weighs what there is. `select` takes the lines that say the most, for their cost, about
//! what the last turns were about and that no chosen line says already, within the shares of `kinds`. `render`
//! puts them in the order in which a person would brief a colleague: what was asked, what was done and why, how
//! it was checked, what comes next.
//!
//! Everything is a quotation or a count; nothing is inferred from words. Text enters redacted.

mod chain;
mod checks;
mod collect;
mod documents;
mod effects;
mod evidence;
mod fold;
mod gather;
mod git;
mod kinds;
mod lines;
mod openapi;
mod outcome;
mod placeholders;
mod prompt;
mod render;
mod replaced;
mod select;
mod tasks;
mod telling;
mod terms;
mod warnings;
mod write;

pub use collect::Briefing;
pub use render::{ChangedFile, Extra, Rendered, ViewLine, render};

#[cfg(test)]
mod tests;
