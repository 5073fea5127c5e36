//! Every bound of the core in one table: value, unit, source.
//!
//! Chosen so that a saved fold stays within 256 KiB whatever the transcript, and near 140 KB for the
//! busiest thread measured.

/// Bytes of an index row's excerpt.
pub const EXCERPT_BYTES: usize = 160;

/// Bytes of text that are redacted to make an excerpt: enough that no secret is cut before it is
/// recognised.
pub const EXCERPT_WINDOW_BYTES: usize = 1_024;

/// Bytes kept of a user's request. A longer one is cut in its middle; its handle gives the rest.
pub const REQUEST_BYTES: usize = 16 * 1_024;

/// Requests kept: the active one and those before it.
pub const REQUESTS: usize = 24;

/// Bytes kept of each request that is no longer the active one.
pub const OLD_REQUEST_BYTES: usize = 400;

/// Bytes of a command line kept.
pub const COMMAND_BYTES: usize = 600;

/// Commands kept, newest use first.
pub const COMMANDS: usize = 96;

/// Files kept: read, searched, listed, edited.
pub const FILES: usize = 320;

/// Bytes of all files kept, as saved: reached before their number only by very long paths.
pub const FILES_BYTES: usize = 64 * 1_024;

/// Bytes of a path; a longer one is not taken for a path.
pub const PATH_BYTES: usize = 240;

/// Bytes of a name: a longer one is not taken for one.
pub const TERM_BYTES: usize = 80;

/// Errors kept, newest last.
pub const ERRORS: usize = 4;

/// Bytes of an error's text.
pub const ERROR_BYTES: usize = 400;

/// Bytes kept of an assistant message.
pub const NOTE_BYTES: usize = 600;

/// Assistant messages kept, newest last.
pub const NOTES: usize = 6;

pub const PENDING_CALLS: usize = 64;

/// Turns that a rollback can reach: more are rarely rolled back, and each keeps a copy of the plan.
pub const ROLLBACK_TURNS: usize = 32;

/// Turns whose plan a rollback can restore.
pub const ROLLBACK_PLANS: usize = 6;

/// Bytes of all calls awaiting their output.
pub const PENDING_BYTES: usize = 24 * 1_024;

/// Touched files reported to the host at once.
pub const TOUCHES: usize = 256;

pub const FACTS: usize = 64;

pub const DECISIONS: usize = 32;

pub const PLAN_STEPS: usize = 32;

pub const RECENT_ARTIFACTS: usize = 16;

/// Files and facts named each where a hand-over checks them.
pub const CHECKED_NAMES: usize = 32;

/// Characters of a fact's or decision's text.
pub const VALUE_CHARS: usize = 160;

pub const FACT_DEPENDENCIES: usize = 16;

/// Characters of a plan step.
pub const STEP_CHARS: usize = 240;

/// Bytes of a head or meta string (title, branch, model …).
pub const NAME_BYTES: usize = 200;

/// Compactions whose sizes are kept for the course of a thread, newest last.
pub const COMPACTION_POINTS: usize = 48;

/// Names of files read again that are kept of a compaction; all are counted.
pub const REREAD_NAMES: usize = 12;

/// Bytes of a message or of an agent's summary that can be searched.
pub const SEARCHED_MESSAGE_BYTES: usize = 32 * 1_024;

/// Bytes of a call's arguments that can be searched.
pub const SEARCHED_CALL_BYTES: usize = 16 * 1_024;

/// Bytes of a tool's output that can be searched: two thirds from its beginning, the rest from its end,
/// where errors stand.
pub const SEARCHED_OUTPUT_BYTES: usize = 12 * 1_024;

/// Bytes of instructions and context that can be searched; every thread repeats them.
pub const SEARCHED_CONTEXT_BYTES: usize = 8 * 1_024;

/// Extra bytes of text given to the redactor, so that no secret is cut before it is recognised.
pub const SEARCHED_MARGIN_BYTES: usize = 1_024;

/// Bytes of a run of letters and digits that are indexed: longer ones are data, found by their beginning.
pub const RUN_BYTES: usize = 64;

/// Bytes of a search query.
pub const QUERY_BYTES: usize = 1_024;

/// Words and phrases of a search query.
pub const QUERY_TERMS: usize = 32;

/// Bytes of a hit's snippet.
pub const SNIPPET_BYTES: usize = 280;

/// Bytes of the agent's last words that are kept to be read for signs of a phase's end.
pub const SIGNAL_MESSAGE_BYTES: usize = 2_000;

/// Signs of a thread that are kept, newest last.
pub const SIGNAL_EVENTS: usize = 64;

/// Pins and drops of a thread.
pub const CHOICES: usize = 64;

/// Bytes of a pinned or dropped text. Of a longer item its beginning is kept, and the view says so.
pub const CHOICE_BYTES: usize = 4 * 1_024;

/// Tokens that all pins of a thread may take of a view.
pub const PINNED_TOKENS: u64 = 1_500;

/// Letters and digits of a text that is dropped wherever it stands.
pub const DROP_LETTERS_MIN: usize = 3;
