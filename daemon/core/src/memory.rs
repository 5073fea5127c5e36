//! Long-term memory: what earlier threads teach the next one.
//!
//! Two phases. *Extraction* reads one idle thread line by line and keeps what a later thread can use:
//! [`extract`] without a model, [`input`] for one. *Consolidation* ([`consolidate`]) merges the extractions
//! of all threads into a handbook and the files of the memory folder. A model may maintain these files;
//! [`agent`] checks its work against the handbook. [`summary`] selects what to show to a thread in a
//! folder, [`cite`], [`usage`] and [`read_log`] record what it used, and [`edits`] preserves a person's
//! changes to the files.
//!
//! Everything is a function of its inputs: the same threads give the same bytes, on any machine, in any
//! order of arrival. [`own`] excludes text that the daemon itself put into a thread, so that memory never
//! learns from itself. Each learning has an [`Origin`]: text of tools and of the web can be evidence, never
//! an instruction.

pub mod agent;
pub mod cite;
pub mod consolidate;
pub(crate) mod day;
pub mod edits;
pub mod eligible;
pub mod extract;
pub mod input;
pub(crate) mod learning;
pub mod own;
pub mod place;
mod plain;
pub mod read_log;
mod span;
pub mod summary;
pub mod usage;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use crate::step::{Caller, Origin};
pub use eligible::{Skip, ThreadFacts, eligible};
pub use extract::names_hazard;
pub use learning::{Evidence, Learning, LearningKind, Outcome, RolloutMemory};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::Display, strum::IntoStaticStr, strum::EnumString)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Engine {
    /// Built-in rules, without a model.
    #[default]
    Deterministic,
    /// A language model whose output is verified.
    Model,
}

/// Files of a memory folder: relative path with `/`, and text.
pub type Files = BTreeMap<String, String>;
