//! The functional core of longhaul: what is decided, never what is done.
//!
//! There is no file, socket, process, environment, clock, randomness or async here; `now` and the
//! state of files on disk are parameters. The floors, lowest first:
//!
//! 1. [`digest`], [`text`], [`tokens`], [`limits`], [`redact`], [`message_history`],
//!    [`paths`], [`template`]: values, arithmetic, text;
//! 2. [`thread`], [`item`]: what a thread and an index row are;
//! 3. [`rollout`]: one transcript line, read into a closed model;
//! 4. [`context`]: the context manager: estimates, windows, truncation, settings, normalisation;
//! 5. [`choice`]: what a person wants in every view, or in none; [`step`]: what happened, each call with its answer; over it [`checkpoint`]: the structured state of
//!    a thread and its view, and [`signal`]: signs that a phase of the work ends;
//! 6. [`fold`]: lines in order → checkpoint, totals, signs and index rows;
//! 7. [`compaction`]: history + checkpoint → replacement history and receipt; [`history`]: which
//!    items the history has that a model sees;
//!    [`policy`]: when to compact, and the watcher that does it;
//! 8. [`memory`]: finished threads → learnings → the files of long-term memory;
//! 9. [`search`]: what of an item can be found, what a query means, which hits come first;
//!    [`archive`]: where archived texts are cut, and what goes first.
#![forbid(unsafe_code)]
#![allow(
    rustdoc::private_intra_doc_links,
    reason = "read by who works on it: `cargo doc` with private items"
)]

pub mod archive;
mod briefing;
pub mod checkpoint;
pub mod choice;
pub mod compaction;
pub mod context;
pub mod digest;
pub mod fold;
pub mod history;
pub mod item;
pub mod job;
pub mod limits;
pub mod memory;
pub mod message_history;
pub mod model;
pub mod paths;
mod phrases;
pub mod policy;
pub mod quote;
pub mod redact;
pub mod rollout;
pub mod search;
pub mod signal;
mod step;
pub mod template;
pub mod text;
pub mod thread;
pub mod tokens;
