//! The structured state of a thread: what an agent must know to go on, folded from its items.
//!
//! It holds what measurement showed an agent needs next:
//! files bound to what became of them, commands to their exit status, tests to their counts, plan
//! steps to their state, the request verbatim. Every list is bounded and evicts deterministically;
//! every text is redacted before it enters.
//!
//! The state holds only what the transcript says. What the host knows besides (the files on disk,
//! updates the model proposed) is laid over it when it is served: [`staleness`], [`semantic`]. So
//! deleting the database and folding again gives the same bytes.

pub mod checked;
pub(crate) mod commands;
pub mod document;
pub mod files;
pub mod plan;
pub mod printed;
pub(crate) mod reduce;
pub mod requests;
pub mod semantic;
pub mod staleness;
pub mod view;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::briefing::Briefing;
use crate::limits;
use commands::Commands;
use files::Files;
use plan::Plan;
use printed::Printed;
use requests::Requests;

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Seq of the last line folded.
    pub seq: u64,
    /// Folder that relative paths start from.
    pub cwd: Option<String>,
    /// What the person asked, oldest first; the last one is active.
    pub requests: Requests,
    pub plan: Plan,
    pub files: Files,
    pub commands: Commands,
    /// What failed last, newest last.
    pub errors: VecDeque<Failure>,
    /// The agent's last words, newest last.
    pub notes: VecDeque<Note>,
    /// The thread's own lines, to brief whoever goes on.
    #[serde(default)]
    pub briefing: Briefing,
    /// Calls made so far.
    pub calls: u64,
    /// Compactions the agent made so far.
    pub compactions: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub seq: u64,
    /// Tokens that line takes; 0 unknown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tokens: u64,
    pub what: String,
    /// Its most telling lines.
    pub text: String,
    /// Whether the same command has succeeded since.
    pub resolved: bool,
}

/// Words of the agent to the person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    pub seq: u64,
    /// The words, middle cut.
    pub text: String,
}

impl Checkpoint {
    /// Keeps a failure; one of the same command replaces the earlier.
    pub fn push_failure(&mut self, printed: Printed, what: &str, text: &str) {
        self.errors.retain(|failure| failure.what != what);
        if self.errors.len() >= limits::ERRORS {
            self.errors.pop_front();
        }
        let text = crate::text::cut_middle(text, limits::ERROR_BYTES).into_owned();
        let Printed { seq, tokens } = printed;
        let what = what.to_owned();
        self.errors.push_back(Failure { seq, tokens, what, text, resolved: false });
    }

    /// Marks the failure of a command that now succeeds.
    pub fn resolve_failure(&mut self, what: &str) {
        for failure in self.errors.iter_mut().filter(|failure| failure.what == what) {
            failure.resolved = true;
        }
    }

    /// Keeps words of the agent.
    pub fn push_note(&mut self, seq: u64, text: &str) {
        if self.notes.len() >= limits::NOTES {
            self.notes.pop_front();
        }
        let text = crate::text::cut_middle(text.trim(), limits::NOTE_BYTES).into_owned();
        self.notes.push_back(Note { seq, text });
    }
}

fn is_zero(tokens: &u64) -> bool {
    *tokens == 0
}
