//! The functional core of longhaul: it makes the decisions and performs no effects.
//!
//! It has no file, socket, process, environment, clock, randomness or async; the time and the state of files on
//! disk are parameters. The floors, lowest first:
//!
//! 1. [`digest`], [`text`], [`tokens`], [`limits`], [`redact`], [`message_history`],
//!    [`paths`], [`template`]: values, arithmetic, text;
//! 2. [`thread`], [`item`]: a thread, and a row of the item index;
//! 3. [`rollout`]: parses one transcript line into a closed model;
//! 4. [`context`]: the context manager: estimates, windows, truncation, settings, normalization;
//! 5. [`choice`]: a person's pins and drops; [`step`]: typed steps, each call with its answer; above it
//!    [`checkpoint`]: the structured state of a thread and its view, and [`signal`]: signs of the end of a phase;
//! 6. [`fold`]: lines in order → checkpoint, totals, signs and index rows;
//! 7. [`compaction`]: history + checkpoint → replacement history and receipt; [`history`]: what replaces the
//!    items before a compaction; [`policy`]: when to compact, and the watcher that does it;
//! 8. [`memory`]: finished threads → learnings → the files of long-term memory;
//! 9. [`search`]: the searchable text of an item, the meaning of a query, the ranking of hits;
//!    [`archive`]: where to cut archived texts, and what to delete first.
#![forbid(unsafe_code)]
#![allow(
    rustdoc::private_intra_doc_links,
    reason = "for developers, who run `cargo doc` with private items"
)]

pub mod archive;
mod bounded;
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
