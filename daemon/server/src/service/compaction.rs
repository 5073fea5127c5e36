//! `compaction/*`: from a thread or given items to a replacement history, and back.
//!
//! # Theory of operation
//! *Steps.* Gather what is known (the checkpoint was folded while the transcript was read, so this
//! costs no more for a long thread), take the initial context from the history where a caller in the middle of a
//! turn gives none, go down the ladder of strategies until one has made a replacement
//! that holds, record it, answer. Without a model and outside of that case the only lines read are those of the
//! request being worked on.
//!
//! *A crash* before the record: nothing happened, the caller asks again. After it: `compaction/get`
//! has the answer. A record that cannot be written (a full disk) does not keep a thread's answer back. The transcript is never written; given items are stored first, so that no record
//! names items that are not there.

mod agent_steps;
mod attempt;
mod background;
mod compactor;
mod gather;
mod given;
mod input;
mod install;
mod ladder;
mod log;
mod loop_guard;
mod packet;
mod preview;
mod progress;
mod record;
mod replacement;
mod request;
mod spans;
mod texts;
mod undo;

pub use agent_steps::AgentSteps;
pub use background::{CompactWork, CompactionJobs};
pub use compactor::{Compactor, Steps};
pub use gather::Gatherer;
pub use given::GivenItems;
pub use install::Installer;
pub use ladder::{Ladder, Question};
pub use log::CompactionLog;
pub use loop_guard::LoopGuard;
pub use packet::Packets;
pub use preview::{Preview, line_tokens};
pub use record::{Compaction, Notice, Rung, TextSource, TextUsed};
pub use request::{AgentStep, ModelRef, Reason, Request, Subject};
pub use spans::Spans;
pub use undo::Undo;
