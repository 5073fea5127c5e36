//! Long-term memory: what earlier threads teach the next one.
//!
//! Two phases. *Extraction* reads one thread that has come to rest, line by line, and keeps what a later
//! thread can use: [`extract`] without a model, [`input`] for one. *Consolidation* ([`consolidate`]) puts
//! the extractions of all threads together into a handbook and the files of the memory folder. A model may look
//! after these files: [`agent`] holds its work against what is known. Then [`summary`] answers what of it a thread in some folder should be told, [`cite`] and [`usage`] notice
//! what it used, and [`edits`] keeps what a person changed in the files.
//!
//! All of it is a function of its inputs: the same threads give the same bytes, on any machine, in any
//! order of arrival. What the daemon itself put into a thread is left out by [`own`], so that memory
//! never learns from itself. Each learning carries who said it ([`Origin`]): words of tools and of the
//! web can be evidence, never an instruction.

pub mod agent;
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
mod span;
pub mod summary;
pub mod usage;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use eligible::{Skip, ThreadFacts, eligible};
pub use learning::{Evidence, Learning, LearningKind, Origin, Outcome, RolloutMemory};

/// What makes memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    /// Rules of our own: nothing is asked of anybody.
    #[default]
    Deterministic,
    /// A language model, held to what it can prove.
    Model,
}

impl Engine {
    /// Stable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deterministic => "deterministic",
            Self::Model => "model",
        }
    }

    /// The engine of a stable name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Deterministic, Self::Model].into_iter().find(|engine| engine.name() == name)
    }
}

/// Files of a memory folder: path below it, with `/`, and text.
pub type Files = BTreeMap<String, String>;
