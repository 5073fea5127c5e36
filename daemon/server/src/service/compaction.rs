//! `compaction/*`: from a thread or given items to a replacement history, and back.
//!
//! # Theory of operation
//! *Steps.* Gather the input (the checkpoint was folded while the transcript was read, so a long thread costs no
//! more). If a caller in the middle of a turn gives no initial context, take it from the history. Try the ladder
//! of strategies until one yields a valid replacement, record it, and answer. Without a model, and outside the
//! mid-turn case, the only transcript lines read are those of the current request.
//!
//! *A crash* before the record: nothing happened; the caller asks again. After it: `compaction/get` returns the
//! answer. If the record of a thread's compaction cannot be written, the answer is returned with a warning, unless a
//! job or `install` needs the record. Transcripts of other programs are never written. Given items are stored first, so
//! that no record names missing items.

mod agent_steps;
mod attempt;
mod background;
mod compactor;
mod gather;
mod given_items;
mod input;
mod install;
mod ladder;
mod log;
mod loop_guard;
mod packet;
mod prepare;
mod preview;
mod progress;
mod record;
mod records;
mod replacement;
mod request;
mod spans;
mod texts;
mod undo;

pub use agent_steps::AgentSteps;
pub use background::CompactionJobs;
pub use compactor::Compactor;
pub use gather::Gatherer;
pub use given_items::GivenItems;
pub use install::Installer;
pub use ladder::Ladder;
pub use log::CompactionLog;
pub use loop_guard::LoopGuard;
pub use packet::Packets;
pub use prepare::Preparation;
pub use preview::Preview;
pub use record::{Compaction, Notice, Rung, TextSource, TextUsed};
pub use records::Records;
pub use request::{AgentStep, ModelRef, Reason, Request, Subject};
pub use spans::Spans;
pub use undo::{ReplacedHistories, Undo};
