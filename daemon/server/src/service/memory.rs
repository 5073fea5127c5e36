//! Long-term memory: made in the background, read by everyone.
//!
//! # Theory of operation
//! *Owns* the memory folder (`folder`) and, in the store, what was extracted and published. Two kinds of job
//! make it: `extract` reads one thread that has come to rest (`extract`), `consolidate` puts all extractions
//! together and publishes the files (`publish`). [`MemoryRuns`] asks for them, for a client or by itself.
//!
//! *Order of a publication*: what a person changed in the files is read and merged → the new files are written
//! to a staging folder and synced → one transaction records the generation, if the one it was made from is
//! still the newest → the folder is renamed and the link switched → older folders go. A reader goes through the
//! link and sees one generation whole.
//!
//! *A crash* before the transaction leaves a staging folder, which the next publication removes. After it, the
//! folder is made from the store at the next start or publication ([`Publisher::settle`]). A run that was
//! taken over finds a newer generation and publishes nothing.
//!
//! *A model*, where the configuration asks for one, reads threads (`ask`); a worker outside edits the published
//! files with it (`curation`). Memory is made without it first, and stays so where it fails.
//!
//! *Forgetting* does not wait for a job: it publishes at once, and removes what is older.

mod ask;
mod baseline;
mod citations;
mod curation;
mod curator;
mod extract;
mod folder;
mod notes;
mod passages;
mod project;
mod publications;
mod publish;
mod reader;
mod reads;
mod runs;
mod scan;
mod status;
mod upkeep;
mod waves;

pub use citations::Citations;
pub use curation::{Curation, CurationTask, ModelMessage, ModelStep, Speaker, worker_failed};
pub use curator::CuratorProcess;
pub use extract::{ExtractWork, Extraction, ExtractionTask};
pub use notes::MemoryNotes;
pub(crate) use project::project_or_folder;
pub use publications::Publications;
pub use publish::Publisher;
pub use reader::{MemoryHit, MemoryReader, MemorySearch};
pub use reads::ReadCounter;
pub use runs::MemoryRuns;
pub use scan::{Scanner, SkippedThreads};
pub use status::MemoryOverview;
pub use upkeep::{ConsolidateWork, Upkeep};
pub use waves::{RunRequest, Waves};
