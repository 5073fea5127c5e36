//! A new transcript that begins with the compacted history of another thread, of any agent.
//!
//! Each agent that can go on from one composes it in its own form. A mark of ours in its first line names the thread that
//! it goes on from, whose checkpoint is gone on with.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::thread::HistoryBase;

/// Key of our mark in a first line.
pub const MARK: &str = "longhaul";

/// What the mark says.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Mark {
    pub(super) continues: HistoryBase,
}

/// All that a continuation is made of.
#[derive(Debug, Clone)]
pub struct Continuation<'a> {
    /// Its own id, a UUID.
    pub thread_id: &'a str,
    /// The first line of the transcript it goes on from, when that is one of Codex.
    pub first_line: Option<&'a str>,
    /// Absolute folder it works in, where the first line names none.
    pub cwd: Option<&'a str>,
    /// What to call it: as the thread it goes on from.
    pub title: Option<&'a str>,
    /// The place it goes on from: its checkpoint is gone on with.
    pub base: &'a HistoryBase,
    /// When it begins, Unix milliseconds.
    pub at_ms: i64,
    /// The same on the clock of the wall, for names.
    pub local_ms: i64,
    /// The text that stands for the history where replacements are not read.
    pub view: &'a str,
    /// What stands for the history, as items of the Responses API: the view first.
    pub history: &'a [Value],
}

/// A transcript to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTranscript {
    /// Its folder, below the agent's home.
    pub folder: String,
    pub name: String,
    /// Every line with its newline.
    pub text: String,
}
