//! The briefing: lines of the transcript, chosen for a budget, that an agent needs to continue its work.
//!
//! # Theory of operation
//! Folding a transcript collects *evidence*: single lines with their position and kind, such as a sentence of
//! a report or an added line of code (`evidence`). Each kind has a limit in bytes and evicts its weakest,
//! oldest lines, so a briefing's size does not depend on the transcript's. Folding ranks nothing, because
//! what matters depends on the view that is requested.
//!
//! A view is built in three steps. `gather` weighs the evidence. `select` picks the lines that say the most
//! per token about the subject of the last turns and repeat no line already picked, within the shares of
//! `kinds`. `render` puts them in the order in which a person would brief a colleague: what was requested,
//! what was done and why, how it was checked, what comes next.
//!
//! Everything is a quotation or a count; nothing is inferred from words. Text is redacted before it gets
//! here.

mod agents;
mod answer;
mod chain;
mod checks;
mod code;
mod collect;
mod coverage;
mod documents;
mod effects;
mod evidence;
mod file_edit;
mod finished;
mod fold;
mod gather;
mod git;
mod host_facts;
mod inline_program;
mod kinds;
mod lines;
mod listing;
mod marks;
mod names;
mod openapi;
mod outcome;
mod placeholders;
mod prompt;
mod render;
mod replacements;
mod result;
mod select;
mod spot;
mod strength;
mod tasks;
mod terms;
mod warnings;
mod write;

pub use checks::Failure;
pub use collect::{Briefing, TurnOutcome};
pub use host_facts::{ChangedFile, HostFacts};
pub use render::{Rendered, ViewLine, render};

#[cfg(test)]
mod tests;
