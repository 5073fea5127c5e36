//! The functional core of longhaul: what is decided, never what is done.
//!
//! There is no file, socket, process, environment, clock, randomness or async here; `now` and the
//! state of files on disk are parameters. The floors, lowest first:
//!
//! 1. [`digest`], [`text`], [`tokens`], [`limits`]: values and arithmetic;
//! 2. [`redact`]: secrets out of text;
//! 3. [`rollout`]: one transcript line, read into a closed model;
//! 4. [`item`]: the index row of a history item;
//! 5. [`checkpoint`]: the structured state of a thread and its view;
//! 6. [`fold`]: lines in order → checkpoint, totals and index rows;
//! 7. [`compaction`]: history + checkpoint → replacement history and receipt.
#![forbid(unsafe_code)]

pub mod digest;
pub mod fold;
pub mod item;
pub mod limits;
pub mod rollout;
pub mod text;
pub mod thread;
pub mod tokens;
