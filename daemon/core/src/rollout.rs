//! One transcript line, read into a closed model.
//!
//! Agents change their formats every few weeks, and one file can hold lines of several versions.
//! So each line is judged alone, by its own keys, never by the file or by the version it names.
//! What is not understood is [`Body::Unknown`] or [`Body::Malformed`]: counted and passed over,
//! never an error.

pub mod accept;
pub(crate) mod between_agents;
pub mod claude;
pub(crate) mod codex;
pub mod compose;
pub mod contextual;
pub mod continuation;
pub mod dialog;
pub(crate) mod gemini;
mod longhaul;
pub(crate) mod opencode;
#[cfg(test)]
mod outline;
pub mod output;
pub mod patch;
pub mod records;
pub mod responses;
pub mod shell;
pub mod source;
pub mod tool;
pub(crate) mod weigh;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use codex::continuation::{carries_context, context_of};

use crate::item::breakdown::Breakdown;
use crate::thread::{HistoryBase, Source, TurnFailure};
use source::SourceSpec;

/// Objects read from one line: a torn write can leave two, more is noise.
const OBJECTS_MAX: usize = 8;

/// Reads a line given without its newline and shows what it says to `visit`. `wants_meta`: also report
/// the thread's identity where every line repeats it.
pub fn read(source: Source, line: &[u8], wants_meta: bool, visit: &mut dyn FnMut(Entry<'_>)) {
    (source.spec().read)(line, wants_meta, visit);
}

/// The JSON object on a line, mended where only its text is damaged.
fn object_of(line: &[u8]) -> Option<Map<String, Value>> {
    let object = serde_json::from_slice(line).ok();
    object.or_else(|| serde_json::from_str(&codex::repair(line)?).ok())
}

/// The transcript that one beginning with `line` continues by reference, if it names one.
pub fn history_base(source: Source, line: &[u8]) -> Option<HistoryBase> {
    let mut base = None;
    let mut is_named = false;
    read(source, line, true, &mut |entry| {
        if let Body::Meta(meta) = entry.body
            && !is_named
        {
            // As in the fold: the first meta that names its thread counts.
            is_named = meta.id.is_some();
            base = meta.history_base;
        }
    });
    base
}

impl Source {
    /// What is particular to the source: the one list of them.
    pub fn spec(self) -> &'static SourceSpec {
        match self {
            Self::Codex => &codex::SPEC,
            Self::Claude => &claude::SPEC,
            Self::Gemini => &gemini::SPEC,
            Self::OpenCode => &opencode::SPEC,
            Self::Longhaul => &longhaul::SPEC,
        }
    }
}

/// What a turn's line of settings tells; a part that is absent is not told.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TurnSettings {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// When the person is asked, as `on-request`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_policy: Option<String>,
    /// Kind of the sandbox, as `workspace-write`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// Today, as `2026-11-21`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_date: Option<String>,
    /// As `Europe/Paris`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
    /// How the agent speaks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub personality: Option<String>,
    /// How the agent works with the person, as `plan`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
}

#[derive(Debug)]
pub struct Entry<'a> {
    /// Unix milliseconds of the line, when it is dated.
    pub at_ms: Option<i64>,
    pub body: Body<'a>,
}

/// Where the bodies of a line go.
type Show<'v> = dyn FnMut(Body<'_>) + 'v;

/// The kinds of line that matter to a thread's state.
#[derive(Debug)]
pub enum Body<'a> {
    /// Identity of the thread; several may stand in one file, the first one counts.
    Meta(Box<Meta>),
    /// Settings of the turn that follows.
    Settings(Box<TurnSettings>),
    /// Where the agent's shell stands now: relative paths of the calls that follow start there.
    Folder {
        /// The folder, absolute.
        path: Cow<'a, str>,
    },
    /// A history item and its estimated tokens.
    Item(Item<'a>, u64),
    /// The agent compacted its history.
    Compacted(Compacted<'a>),
    /// The compaction on `line` was taken back, what came after it stays.
    CompactionUndone {
        line: u64,
    },
    /// The person took back the last turns.
    RolledBack {
        turns: u64,
    },
    /// Where the request on the same line goes on from: a place that an earlier request went on from
    /// means that the person took that one back.
    Branch {
        /// Id of the line before it; `None` when it begins anew.
        parent: Option<Cow<'a, str>>,
    },
    /// A call or an answer of a sub-agent that speaks inside this transcript: what it did counts, but
    /// it is no item of the history.
    Aside(Item<'a>),
    /// What to call the thread.
    Title {
        words: Cow<'a, str>,
        by: TitleBy,
    },
    /// A turn ended by itself.
    TurnComplete,
    TurnAborted,
    /// A request could not be answered.
    TurnFailed(TurnFailure),
    /// The harness reports files it changed.
    FilesChanged {
        call_id: Cow<'a, str>,
        success: bool,
        /// Path and what became of it.
        changes: Vec<patch::FileOp>,
    },
    /// The harness reports a finished command, perhaps one no call shows (nested in code).
    CommandDone {
        /// Call or nested call that ran it.
        call_id: Cow<'a, str>,
        command: String,
        /// Its exit status, if it ended.
        exit_code: Option<i64>,
    },
    /// The harness reports what the provider counted.
    Usage(Usage),
    /// Known, and nothing to keep: counters, duplicates of items, settings echoes.
    Passed,
    /// An object of a kind this version does not know.
    Unknown,
    /// No JSON object.
    Malformed,
}

/// Who gave a thread its title, weakest first: a stronger one's stays.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize
)]
#[serde(rename_all = "snake_case")]
pub enum TitleBy {
    /// Nobody: it is the first request.
    #[default]
    Request,
    /// A summary of the session.
    Summary,
    /// A model that was asked for one.
    Model,
    Person,
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Meta {
    pub id: Option<String>,
    /// Unix milliseconds of creation.
    pub created_at_ms: Option<i64>,
    pub cwd: Option<String>,
    /// What to call it, where its program says so.
    pub title: Option<String>,
    pub originator: Option<String>,
    pub cli_version: Option<String>,
    /// How it came to be.
    pub kind: crate::thread::ThreadKind,
    /// Thread that spawned it.
    pub parent_thread_id: Option<String>,
    /// Thread it was forked from.
    pub forked_from: Option<String>,
    /// Its program wants nothing of it remembered.
    pub is_ephemeral: bool,
    /// Transcript continued by reference.
    pub history_base: Option<HistoryBase>,
    /// Branch at the start.
    pub git_branch: Option<String>,
}

/// A history item in the Responses API form.
#[derive(Debug)]
pub enum Item<'a> {
    /// A message; parts joined by newlines, images left out.
    Message {
        role: Role,
        text: Cow<'a, str>,
        /// Base64 bytes of inline images and how many there are.
        images: Images,
    },
    /// Reasoning: in words, summarised, or encrypted.
    Reasoning {
        /// Length of the encrypted payload, in characters.
        encrypted: Option<u64>,
        /// Empty where the transcript does not tell it.
        text: Cow<'a, str>,
    },
    Call(tool::Call<'a>),
    Output {
        /// Pairs it with its call.
        call_id: Cow<'a, str>,
        /// Its text parts, joined by newlines.
        text: Cow<'a, str>,
        images: Images,
    },
    /// An opaque compaction of `encrypted` characters.
    Opaque {
        /// Length of the encrypted payload, in characters.
        encrypted: u64,
    },
    /// A call whose output is part of itself, such as a web search.
    Other {
        /// Words worth an excerpt.
        text: Cow<'a, str>,
    },
    /// Kept by some versions, never shown to the model.
    Invisible,
}

/// Inline images of an item.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Images {
    pub count: u64,
    /// Bytes of their base64 text.
    pub bytes: u64,
    /// Bytes they are counted as instead ([`crate::tokens::image`]).
    pub cost: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The person, or the harness in their name.
    User,
    Assistant,
    Developer,
}

/// A compaction that the agent made.
#[derive(Debug)]
pub struct Compacted<'a> {
    /// The summary; empty when it is opaque.
    pub message: Cow<'a, str>,
    /// Estimated tokens and items of the history that replaces everything before, when it is given.
    pub replacement: Option<Replacement>,
    /// What only a provider could read in it is a view of ours, as our gateway seals it.
    pub is_sealed_view: bool,
}

/// Size of a replacement history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replacement {
    pub items: u64,
    /// Estimated tokens, by what they are spent on.
    pub tokens: Breakdown,
}

/// What the provider counted, as the harness reports it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the last request and its answer; `None` when the report is the harness's own
    /// estimate, which is no better than ours.
    pub total_tokens: Option<u64>,
    /// Window of the model as the harness states it: the whole one, or its effective part.
    pub context_window: Option<u64>,
    /// Of `total_tokens`, those of the request.
    pub input_tokens: Option<u64>,
    /// Tokens the window held when the harness compacted by itself.
    pub compacted_at: Option<u64>,
    /// What a compaction took.
    pub compaction: Option<CompactionReport>,
    /// How long the provider keeps what it cached of the request, where the report tells.
    pub cache_lifetime_ms: Option<u64>,
}

/// What a harness reports of a compaction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionReport {
    /// Tokens in the window before, in a report that comes ahead of the compaction; `None` in one that follows it.
    pub tokens_before: Option<u64>,
    pub duration_ms: Option<u64>,
}
