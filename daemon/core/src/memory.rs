//! Long-term memory: what earlier threads teach the next one.
//!
//! Two phases. *Extraction* reads one thread that has come to rest, line by line, and keeps what a later
//! thread can use: [`extract`] without a model, [`input`] for one. *Consolidation* ([`consolidate`]) puts
//! the extractions of all threads together into a handbook and the files of the memory folder. Then
//! [`summary`] answers what of it a thread in some folder should be told, [`cite`] and [`usage`] notice
//! what it used, and [`edits`] keeps what a person changed in the files.
//!
//! All of it is a function of its inputs: the same threads give the same bytes, on any machine, in any
//! order of arrival. What the daemon itself put into a thread is left out by [`own`], so that memory
//! never learns from itself. Each learning carries who said it ([`Origin`]): words of tools and of the
//! web can be evidence, never an instruction.

pub mod cite;
pub mod consolidate;
pub mod edits;
pub mod eligible;
pub mod extract;
pub mod input;
pub mod learning;
pub mod own;
pub mod place;
pub mod slug;
pub mod summary;
pub mod usage;

use std::collections::BTreeMap;

pub use eligible::{Skip, ThreadFacts, eligible};
pub use learning::{Evidence, Learning, LearningKind, Origin, Outcome, RolloutMemory};

/// Files of a memory folder: path below it, with `/`, and text.
pub type Files = BTreeMap<String, String>;
