//! A new transcript that begins with the compacted history of another thread, of any agent.
//!
//! Each agent that can resume one composes it in its own format. A mark of ours in the first line names the
//! thread that it continues; the fold starts from that thread's checkpoint.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::thread::HistoryBase;

/// Key of our mark in a first line.
pub const MARK: &str = "longhaul";

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Mark {
    pub(super) continues: HistoryBase,
}

#[derive(Debug, Clone)]
pub struct Continuation<'a> {
    /// Its own id, a UUID.
    pub thread_id: &'a str,
    /// The first line of the transcript it continues, if that is one of Codex.
    pub first_line: Option<&'a str>,
    /// Absolute working folder, if the first line names none.
    pub cwd: Option<&'a str>,
    /// Its title, that of the thread it continues.
    pub title: Option<&'a str>,
    /// Position that it continues from; its fold starts from the checkpoint there.
    pub base: &'a HistoryBase,
    /// Time it begins, Unix milliseconds.
    pub at_ms: i64,
    /// The same time on the local clock, for names.
    pub local_ms: i64,
    /// The text that replaces the history for agents that do not read replacement items.
    pub view: &'a str,
    /// The items of the Responses API that replace the history, the view first.
    pub history: &'a [Value],
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTranscript {
    /// Its folder, relative to the agent's home.
    pub folder: String,
    pub name: String,
    /// All lines, each with its newline.
    pub text: String,
}
