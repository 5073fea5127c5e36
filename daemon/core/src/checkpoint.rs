//! The structured state of a thread, folded from its items: what an agent needs to continue.
//!
//! Measurements showed that an agent needs the files with their state, commands with their exit status, tests
//! with their counts, plan steps with their state, and the request verbatim. Every list is bounded and evicts
//! deterministically; every text is redacted before it enters.
//!
//! The state holds only what the transcript says. Knowledge of the host (files on disk, updates proposed by
//! the model) is added when it is served: [`file_standing`], [`semantic`]. So deleting the database and folding
//! again gives the same bytes.

pub(crate) mod commands;
pub mod disk_check;
pub mod document;
pub mod file_standing;
pub mod files;
pub mod output_ref;
pub mod plan;
pub(crate) mod reduce;
pub mod requests;
pub mod semantic;
pub mod view;

use serde::{Deserialize, Serialize};

use crate::briefing::Briefing;
use crate::{redact, text};
use commands::Commands;
use files::Files;
use plan::Plan;
use requests::Requests;

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Seq of the last line folded.
    pub seq: u64,
    /// Base of relative paths.
    pub cwd: Option<String>,
    /// The branch that the harness saw last.
    pub git_branch: Option<String>,
    /// The person's requests, oldest first; the last one is active.
    pub requests: Requests,
    pub plan: Plan,
    pub files: Files,
    pub commands: Commands,
    pub briefing: Briefing,
    pub calls: u64,
    /// Compactions by the agent.
    pub compactions: u64,
}

/// One redacted line of at most so many characters.
fn clean(text: &str, chars: usize) -> String {
    let redacted = redact::redact(text);
    text::cut_chars(&text::one_line(&redacted.text), chars).into_owned()
}
