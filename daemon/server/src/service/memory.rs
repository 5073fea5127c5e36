//! Long-term memory: made in the background, read by everyone.
//!
//! # Theory of operation
//! *Owns* the memory folder (`folder`) and, in the store, what was extracted and published. Two kinds of job
//! make it: `extract` reads one thread that has come to rest (`extract`), `consolidate` puts all extractions
//! together and publishes the files (`publish`). [`run`] asks for them, for a client or by itself.
//!
//! *Order of a publication*: what a person changed in the files is read and merged → the new files are written
//! to a staging folder and synced → one transaction records the generation, if the one it was made from is
//! still the newest → the folder is renamed and the link switched → older folders go. A reader goes through the
//! link and sees one generation whole.
//!
//! *A crash* before the transaction leaves a staging folder, which the next publication removes. After it, the
//! folder is made from the store at the next start or publication ([`Services::settle_memory`](super::Services::settle_memory)). A run that was
//! taken over finds a newer generation and publishes nothing.
//!
//! *A model*, where the configuration asks for one, reads threads (`ask`) and then looks after the published
//! files (`agent`); memory is made without it first, and stays so where it fails.
//!
//! *Forgetting* does not wait for a job: it publishes at once, and removes what is older.

mod agent;
mod ask;
mod baseline;
mod change;
mod extract;
mod folder;
mod passages;
mod project;
mod publish;
mod read;
mod reads;
pub mod run;
mod scan;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use longhaul_core::memory::consolidate::Handbook;
use longhaul_core::memory::own::Own;
use tokio::sync::Mutex as AsyncMutex;

use folder::Folder;

pub use change::{Cited, Forgotten, Remembered};
pub use extract::ExtractWork;
pub use publish::ConsolidateWork;
pub use read::{FileEntry, FileLines, MemoryHit, MemorySearch, Told};
pub use run::{Ran, RunRequest};
pub use scan::{MemoryStatus, Skipped};

/// Version of what is made of a thread: another one extracts all threads again.
pub const EXTRACT_VERSION: u32 = 3;

/// The memory of one daemon.
#[derive(Debug)]
pub(super) struct Memory {
    folder: Folder,
    /// Held while a generation is made: one at a time in this process.
    making: AsyncMutex<()>,
    /// Held while the agent works in its folder.
    staged: AsyncMutex<()>,
    /// Told when something is forgotten; its value is not read.
    purged: tokio::sync::watch::Sender<()>,
    published: Mutex<Option<Arc<Published>>>,
    pub(super) wake: tokio::sync::Notify,
}

/// What is in force.
#[derive(Debug, Default)]
struct Published {
    generation: u64,
    at_ms: i64,
    threads: u64,
    handbook: Handbook,
    own: Own,
}

impl Memory {
    pub(super) fn new(state_dir: &Path) -> Self {
        Self {
            folder: Folder::new(state_dir),
            making: AsyncMutex::new(()),
            staged: AsyncMutex::new(()),
            purged: tokio::sync::watch::Sender::new(()),
            published: Mutex::new(None),
            wake: tokio::sync::Notify::new(),
        }
    }

    fn cached(&self) -> Option<Arc<Published>> {
        self.published.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, published: Published) -> Arc<Published> {
        let published = Arc::new(published);
        let mut held = self.published.lock().unwrap_or_else(PoisonError::into_inner);
        *held = Some(Arc::clone(&published));
        published
    }
}
