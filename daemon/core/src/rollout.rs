//! Parses one transcript line into a closed model.
//!
//! Agents change their formats every few weeks, and one file can hold lines of several versions. So each line
//! is parsed by its own keys, never by the file or the version it names. What we do not understand becomes
//! [`Body::Unknown`] or [`Body::Malformed`]: counted and skipped, never an error.

pub mod accept;
pub(crate) mod between_agents;
mod body;
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
pub mod program;
pub mod records;
pub(crate) mod repair;
pub mod responses;
pub mod shell;
pub mod source;
pub mod tool;
pub(crate) mod weigh;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

pub use codex::continuation::{carries_context, context_of};

use crate::item::breakdown::Breakdown;
use crate::thread::{HistoryBase, Source, TurnFailure};
use source::SourceSpec;

/// Objects to read from one line: a torn write can leave two; more is noise.
const OBJECTS_MAX: usize = 8;

/// Passes each object on a line to `read`, until that returns false. Reports text after the first object, even if the
/// objects before it are valid. Returns whether there was any object.
fn each_object(
    line: &str,
    visit: &mut dyn FnMut(Entry<'_>),
    mut read: impl FnMut(&str, &mut dyn FnMut(Entry<'_>)) -> bool,
) -> bool {
    let mut objects = serde_json::Deserializer::from_str(line).into_iter::<&RawValue>();
    let mut count = 0;
    while count < OBJECTS_MAX
        && let Some(Ok(object)) = objects.next()
        && read(object.get(), visit)
    {
        count += 1;
    }
    if count > 1 || (count > 0 && objects.byte_offset() < line.len()) {
        visit(Entry { at_ms: None, body: Body::Malformed });
    }
    count > 0
}

/// Parses a line given without its newline and passes its entries to `visit`. `wants_meta`: also report the
/// thread's identity where every line repeats it.
pub fn read(source: Source, line: &[u8], wants_meta: bool, visit: &mut dyn FnMut(Entry<'_>)) {
    (source.spec().read)(line, wants_meta, visit);
}

/// The text of a line. What is no Unicode (bytes that are not UTF-8, halves of surrogate pairs where an agent cut a text)
/// becomes replacement characters: clients could not parse it.
#[must_use]
pub fn text_of(line: &[u8]) -> Cow<'_, str> {
    match repair::intact(line) {
        Some(text) => Cow::Borrowed(text),
        None => repair::repair(line).map_or_else(|| String::from_utf8_lossy(line), Cow::Owned),
    }
}

type Object = Map<String, Value>;

/// The JSON object on a line, repaired if only its text is damaged. Reports a line that has none, unless it is blank.
fn object_of(line: &[u8], visit: &mut dyn FnMut(Entry<'_>)) -> Option<Object> {
    if line.trim_ascii().is_empty() {
        return None;
    }
    let object = serde_json::from_slice(line).ok();
    let object = object.or_else(|| serde_json::from_str(&repair::repair(line)?).ok());
    if object.is_none() {
        visit(Entry { at_ms: None, body: Body::Malformed });
    }
    object
}

fn text<'a>(object: &'a Object, key: &str) -> Option<&'a str> {
    object.get(key)?.as_str()
}

/// The transcript that one beginning with `line` continues by reference, if any.
pub fn history_base(source: Source, line: &[u8]) -> Option<HistoryBase> {
    let mut base = None;
    let mut is_named = false;
    read(source, line, true, &mut |entry| {
        if let Body::Meta(meta) = entry.body
            && !is_named
        {
            // As in the fold, the first meta that names its thread counts.
            is_named = meta.id.is_some();
            base = meta.history_base;
        }
    });
    base
}

impl Source {
    /// The table of the source. This is the only list of them.
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

/// Settings on a turn's line; an absent one is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TurnSettings {
    pub cwd: Option<String>,
    pub model: Option<String>,
    /// When to ask the person, such as `on-request`.
    pub approval_policy: Option<String>,
    /// Kind of the sandbox, such as `workspace-write`.
    pub sandbox: Option<String>,
    /// The date, such as `2026-11-21`.
    pub current_date: Option<String>,
    /// Such as `Europe/Paris`.
    pub timezone: Option<String>,
    /// The agent's style.
    pub personality: Option<String>,
    /// The agent's way of working with the person, such as `plan`.
    pub mode: Option<String>,
}

#[derive(Debug)]
pub struct Entry<'a> {
    /// Unix milliseconds of the line, if it has a time.
    pub at_ms: Option<i64>,
    pub body: Body<'a>,
}

/// Receives the bodies of a line.
type Show<'v> = dyn FnMut(Body<'_>) + 'v;

/// The kinds of line that matter to a thread's state.
#[derive(Debug)]
pub enum Body<'a> {
    /// Identity of the thread; several may stand in one file, the first one counts.
    Meta(Box<Meta>),
    /// Settings of the turn that follows.
    Settings(Box<TurnSettings>),
    /// The folder of the agent's shell: relative paths of the following calls start there.
    Folder {
        /// Absolute.
        path: Cow<'a, str>,
    },
    /// A history item and its estimated tokens.
    Item(Item<'a>, u64),
    Compacted(Compacted<'a>),
    /// The compaction on `line` was undone; what came after it stays.
    CompactionUndone {
        line: u64,
    },
    /// The person took back the last turns.
    RolledBack {
        turns: u64,
    },
    /// The parent of the request on the same line. If an earlier request has the same parent, the person took
    /// that one back.
    Branch {
        /// Id of the line before the request; `None` if it begins a new conversation.
        parent: Option<Cow<'a, str>>,
    },
    /// A call or answer of a sub-agent inside this transcript: its effects count, but it is not an item of the
    /// history.
    Aside(Item<'a>),
    Title {
        words: Cow<'a, str>,
        by: TitleBy,
    },
    TurnComplete,
    TurnAborted,
    TurnFailed(TurnFailure),
    /// The text of a command or skill that the harness put before the model.
    Instructions {
        text: Cow<'a, str>,
    },
    /// The branch of git that is checked out.
    OnBranch {
        name: Cow<'a, str>,
    },
    /// The harness reports files it changed.
    FilesChanged {
        call_id: Cow<'a, str>,
        success: bool,
        /// Each path and what happened to it.
        changes: Vec<patch::FileOp>,
    },
    /// The harness reports a finished command, perhaps one that has no call (nested in code).
    CommandDone {
        /// The call or nested call that ran it.
        call_id: Cow<'a, str>,
        /// Empty if the report does not say.
        command: String,
        /// Its exit status, if it ended.
        exit_code: Option<i64>,
    },
    Usage(Usage),
    /// Known and not needed: counters, duplicates of items, repeated settings.
    Passed,
    /// An object of a kind that this version does not know.
    Unknown,
    /// Not a JSON object.
    Malformed,
}

/// Origin of a thread's title, weakest first: a weaker one never replaces a stronger one.
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
    /// The first request.
    #[default]
    Request,
    Summary,
    /// A model that was asked for a title.
    Model,
    Person,
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Meta {
    pub id: Option<String>,
    pub created_at_ms: Option<i64>,
    pub cwd: Option<String>,
    /// Its title, if its program states one.
    pub title: Option<String>,
    pub originator: Option<String>,
    pub cli_version: Option<String>,
    pub kind: crate::thread::ThreadKind,
    /// The thread that spawned it.
    pub parent_thread_id: Option<String>,
    pub forked_from: Option<String>,
    /// Its program asks not to remember it.
    pub is_ephemeral: bool,
    /// The transcript it continues by reference.
    pub history_base: Option<HistoryBase>,
    /// Branch at the start.
    pub git_branch: Option<String>,
}

/// A history item in the Responses API form.
#[derive(Debug)]
pub enum Item<'a> {
    /// A message; its parts joined by newlines, without images.
    Message {
        role: Role,
        text: Cow<'a, str>,
        images: Images,
    },
    /// Reasoning: as text, summarized, or encrypted.
    Reasoning {
        /// Length of the encrypted payload, in characters.
        encrypted: Option<u64>,
        /// Empty if the transcript does not have it.
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
    /// An encrypted compaction.
    Opaque {
        /// Length of the encrypted payload, in characters.
        encrypted: u64,
    },
    /// A call that includes its output, such as a web search.
    Other {
        /// Text for an excerpt.
        text: Cow<'a, str>,
    },
    /// Stored by some versions, never shown to the model.
    Invisible,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Images {
    pub count: u64,
    /// Bytes of their base64 text.
    pub bytes: u64,
    /// Bytes to count for them instead ([`crate::tokens::image`]).
    pub cost: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The person, or the harness in their name.
    User,
    Assistant,
    Developer,
}

#[derive(Debug)]
pub struct Compacted<'a> {
    /// The summary; empty if it is encrypted.
    pub message: Cow<'a, str>,
    /// The history that replaces everything before, if the line has it.
    pub replacement: Option<Replacement>,
    /// The encrypted part is a view of ours, sealed by our gateway.
    pub is_sealed_view: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replacement {
    pub items: u64,
    /// Estimated tokens, by kind of content.
    pub tokens: Breakdown,
}

/// The provider's token counts, as the harness reports them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the last request and its answer; `None` if the report is the harness's own estimate, which is
    /// no better than ours.
    pub total_tokens: Option<u64>,
    /// The model's window as the harness states it: the whole window, or its effective part.
    pub context_window: Option<u64>,
    /// The part of `total_tokens` that is the request.
    pub input_tokens: Option<u64>,
    /// Tokens in the window when the harness compacted by itself.
    pub compacted_at: Option<u64>,
    pub compaction: Option<CompactionReport>,
    /// How long the provider keeps what it cached of the request, if the report says so.
    pub cache_lifetime_ms: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionReport {
    /// Tokens in the window before. Only in a report that precedes the compaction; `None` in one that follows
    /// it.
    pub tokens_before: Option<u64>,
    pub duration_ms: Option<u64>,
}
