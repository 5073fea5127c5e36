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

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::bounded::push_bounded;
use crate::briefing::Briefing;
use crate::limits;
use commands::Commands;
use files::Files;
use output_ref::OutputRef;
use plan::Plan;
use requests::Requests;

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Seq of the last line folded.
    pub seq: u64,
    /// Base of relative paths.
    pub cwd: Option<String>,
    /// The person's requests, oldest first; the last one is active.
    pub requests: Requests,
    pub plan: Plan,
    pub files: Files,
    pub commands: Commands,
    /// The latest failures, newest last.
    pub errors: VecDeque<Failure>,
    /// The agent's last messages, newest last.
    pub notes: VecDeque<Note>,
    pub briefing: Briefing,
    pub calls: u64,
    /// Compactions by the agent.
    pub compactions: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub seq: u64,
    /// Tokens that line takes; 0 unknown.
    pub tokens: u64,
    pub what: String,
    /// The most informative lines.
    pub text: String,
    /// Whether the same command has succeeded since.
    pub resolved: bool,
}

/// A message of the agent to the person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    pub seq: u64,
    /// The text, shortened in the middle.
    pub text: String,
}

impl Checkpoint {
    /// Records a failure; it replaces an earlier one of the same command.
    pub fn push_failure(&mut self, output: OutputRef, what: &str, text: &str) {
        self.errors.retain(|failure| failure.what != what);
        let text = crate::text::cut_middle(text, limits::ERROR_BYTES).into_owned();
        let OutputRef { seq, tokens } = output;
        let what = what.to_owned();
        push_bounded(
            &mut self.errors,
            Failure { seq, tokens, what, text, resolved: false },
            limits::ERRORS,
        );
    }

    /// Marks the failures of a command as resolved.
    pub fn resolve_failure(&mut self, what: &str) {
        for failure in self.errors.iter_mut().filter(|failure| failure.what == what) {
            failure.resolved = true;
        }
    }

    pub fn push_note(&mut self, seq: u64, text: &str) {
        let text = crate::text::cut_middle(text.trim(), limits::NOTE_BYTES).into_owned();
        push_bounded(&mut self.notes, Note { seq, text }, limits::NOTES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(seq: u64) -> OutputRef {
        OutputRef { seq, tokens: 7 }
    }

    #[test]
    fn the_latest_failure_of_each_command_is_kept_within_the_bound() {
        let mut state = Checkpoint::default();
        for seq in 0..20 {
            state.push_failure(output(seq), &format!("make {}", seq % 10), "error: x");
            assert!(state.errors.len() <= limits::ERRORS);
        }
        state.push_failure(output(20), "make 8", "error: y");
        state.resolve_failure("make 9");
        let kept: Vec<_> = state.errors.iter().map(|it| (&*it.what, it.seq, it.resolved)).collect();
        let expected = [("make 6", 16, false), ("make 7", 17, false), ("make 9", 19, true)];
        assert_eq!(kept[..kept.len() - 1], expected);
        assert_eq!(kept[kept.len() - 1], ("make 8", 20, false));
    }

    #[test]
    fn the_last_notes_are_kept_within_the_bound() {
        let mut state = Checkpoint::default();
        for seq in 0..20 {
            state.push_note(seq, " done ");
        }
        let seqs: Vec<_> = state.notes.iter().map(|note| note.seq).collect();
        assert_eq!(seqs, (20 - limits::NOTES as u64..20).collect::<Vec<_>>());
        assert_eq!(state.notes[0].text, "done");
    }

    #[test]
    fn a_saved_checkpoint_keeps_the_size_of_a_failures_output() {
        let mut state = Checkpoint::default();
        state.push_failure(output(3), "make", "error: x");
        state.push_failure(OutputRef { seq: 4, tokens: 0 }, "ls", "error: y");
        let saved = serde_json::to_string(&state).unwrap();
        assert_eq!(serde_json::from_str::<Checkpoint>(&saved).unwrap(), state);
    }
}
