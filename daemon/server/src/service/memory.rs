//! Long-term memory: built in the background, readable by all clients.
//!
//! # Theory of operation
//! *State*: the memory folder (`folder`) and, in the store, the extractions and published generations. Two kinds
//! of job build it: `extract` reads one idle thread (`extract`), `consolidate` merges all extractions and
//! publishes the files (`publish`). [`MemoryRuns`] requests them, for a client or in the background.
//!
//! *Order of a publication*: read and merge the person's edits of the files → write the new files to a staging
//! folder and sync them → record the generation in one transaction, if its base is still the newest → rename the
//! folder and switch the link → remove older folders. A reader follows the link and sees one complete generation.
//!
//! *A crash* before the transaction leaves a staging folder, which the next publication removes. After it, the
//! next start or publication writes the folder from the store ([`Publisher::settle`]). A run that lost its job
//! finds a newer generation and publishes nothing.
//!
//! *A lost store* is replaced by an empty one, which takes over what the folder's `journal` has, before anything is
//! learned or forgotten.
//!
//! *A model*, if configured, reads threads (`ask`), and an external worker edits the published files with it
//! (`curation`). Memory is always built without the model first; if the model fails, that version remains.
//!
//! *Forgetting* does not wait for a job: it publishes immediately and removes older generations.

mod ask;
mod baseline;
mod citations;
mod curation;
mod curator;
mod extract;
mod folder;
mod journal;
mod notes;
mod passages;
mod project;
mod publications;
mod publish;
mod reader;
mod runs;
mod scan;
mod sources;
mod status;
mod thread_reader;
mod upkeep;

pub use citations::Citations;
pub use curation::{Curation, CurationTask, ModelAnswer, ModelMessage, Speaker, worker_failed};
pub use curator::CuratorProcess;
pub use extract::{ExtractWork, Extraction, ExtractionTask};
pub use notes::MemoryNotes;
pub(crate) use project::project_or_folder;
pub use publications::Publications;
pub use publish::Publisher;
pub use reader::{LinesQuery, MemoryReader, MemorySearch};
pub use runs::MemoryRuns;
pub use scan::{RunRequest, Scanner};
pub use sources::SourceReader;
pub use status::MemoryOverview;
pub use thread_reader::ThreadReader;
pub use upkeep::{ConsolidateWork, Upkeep};
