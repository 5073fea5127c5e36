//! Bounds of a saved fold, of the search index and of a person's choices.
//!
//! Other bounds are next to the code that enforces them. Those of a fold keep it within 256 KiB for any transcript, and near 140 KB for
//! the busiest thread measured.

/// Milliseconds, the unit of bounds in time.
pub const HOUR_MS: i64 = 3_600_000;
pub const DAY_MS: i64 = 24 * HOUR_MS;

/// Bytes of an index row's excerpt.
pub const EXCERPT_BYTES: usize = 160;

/// Bytes of text to redact for an excerpt: enough that no secret is cut before it is recognized.
pub const EXCERPT_WINDOW_BYTES: usize = 1_024;

/// Bytes kept of a user's request. A longer one is cut in the middle; its handle returns the rest.
pub const REQUEST_BYTES: usize = 16 * 1_024;

/// Requests kept: the active one and those before it.
pub const REQUESTS: usize = 24;

/// Bytes kept of each request that is no longer the active one.
pub const OLD_REQUEST_BYTES: usize = 400;

/// Bytes of a command line kept.
pub const COMMAND_BYTES: usize = 600;

/// Commands kept, newest use first.
pub const COMMANDS: usize = 96;

/// Files kept: read, searched, listed or edited.
pub const FILES: usize = 320;

/// Bytes of all files kept, as saved: only very long paths reach this before [`FILES`].
pub const FILES_BYTES: usize = 64 * 1_024;

/// Bytes of a path; longer text does not count as a path.
pub const PATH_BYTES: usize = 240;

/// Bytes of a name; longer text does not count as a name.
pub const TERM_BYTES: usize = 80;

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

pub const PLAN_ITEMS: usize = 32;

pub const RECENT_ARTIFACTS: usize = 16;

/// Files and facts, each, that a hand-over checks.
pub const CHECKED_NAMES: usize = 32;

/// Characters of a fact's or decision's text.
pub const VALUE_CHARS: usize = 160;

pub const FACT_DEPENDENCIES: usize = 16;

pub const PLAN_ITEM_CHARS: usize = 240;

/// Bytes of a head or meta string (title, branch, model …).
pub const NAME_BYTES: usize = 200;

/// Compactions whose sizes are kept for a thread's history, newest last.
pub const COMPACTION_POINTS: usize = 48;

/// Names kept of the files that were read again after a compaction; all are counted.
pub const REREAD_NAMES: usize = 12;

/// Bytes to index of a message or of an agent's summary.
pub const SEARCHED_MESSAGE_BYTES: usize = 32 * 1_024;

/// Bytes to index of a call's arguments.
pub const SEARCHED_CALL_BYTES: usize = 16 * 1_024;

/// Bytes to index of a tool's output: two thirds from its beginning, the rest from its end, where errors are.
pub const SEARCHED_OUTPUT_BYTES: usize = 12 * 1_024;

/// Bytes to index of instructions and context, which every thread repeats.
pub const SEARCHED_CONTEXT_BYTES: usize = 8 * 1_024;

/// Extra bytes of text passed to the redactor, so that no secret is cut before it is recognized.
pub const SEARCHED_MARGIN_BYTES: usize = 1_024;

/// Bytes to index of a run of letters and digits: longer ones are data, found by their beginning.
pub const RUN_BYTES: usize = 64;

pub const QUERY_BYTES: usize = 1_024;

/// Words and phrases of a search query.
pub const QUERY_TERMS: usize = 32;

pub const SNIPPET_BYTES: usize = 280;

/// Bytes kept of the agent's last message, from which signs of a phase's end are read.
pub const SIGNAL_MESSAGE_BYTES: usize = 2_000;

/// Signs kept of a thread, newest last.
pub const SIGNAL_EVENTS: usize = 64;

/// Pins and drops of a thread.
pub const CHOICES: usize = 64;

/// Bytes of a pinned or dropped text. A longer item keeps its beginning, and the view says so.
pub const CHOICE_BYTES: usize = 4 * 1_024;

/// Tokens of a view that all pins of a thread may take.
pub const PINNED_TOKENS: u64 = 1_500;

/// Minimum letters and digits of a text to drop everywhere.
pub const DROP_LETTERS_MIN: usize = 3;
