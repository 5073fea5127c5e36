//! Copies transcripts into the archive, and reads them back when they are gone.
//!
//! # Theory of operation
//!
//! *State*: the archive's folder, whose format is in [`crate::archive`]. One task, the `archiver`, works after
//! ingestion: a hint that a transcript has grown wakes it; it waits until ingestion is idle, reads the new text up to
//! ingestion's cursor (`reading`), cuts it into chunks, writes the new ones into a pack and then adds them to the index
//! (`publishing`). It compares the lines with ingestion's chain of digests, so the archive contains what was ingested.
//!
//! *A crash* leaves a pack that is not in the index. The next start removes it, and its text is archived again.
//!
//! *A transcript that was replaced* keeps its old text next to the new one, a few times. One that was moved, or that its
//! agent compressed, has the same text, so its chunks already exist.
//!
//! *Bounds* (`bounds`): evicts old threads if the archive exceeds the configured ones.
//!
//! *Upkeep* (`upkeep`): merges small packs, deletes what nothing refers to, and reads every pack once within 30 days. It replaces
//! the chunks of a damaged pack from the transcripts that still exist (`repair`); the others stay, as far as they can be
//! read.
//!
//! *Redaction*: with `archive.redact` text is redacted before it is stored. What was archived before that is redacted from the
//! archive itself, and its plain chunks are erased (`redacting`).
//!
//! *Forgetting* (`forgetting`) records that a thread must not be archived again, removes its texts, and rewrites every pack
//! that contained a chunk of them or names the thread. A start continues what a crash interrupted; until then, nothing of
//! the thread can be read.
//!
//! Readers use the archive only for what a transcript no longer contains.

mod archiver;
mod bounds;
mod description;
mod forgetting;
mod keeper;
mod known_text;
mod lookup;
mod publishing;
mod reading;
mod redacting;
mod repair;
mod restore;
mod shared;
mod status;
mod titles;
mod upkeep;

pub(super) use bounds::EvictionFacts;
pub use keeper::ArchiveKeeper;
pub use lookup::{ArchiveLookup, ArchivedLines};
pub(super) use shared::ArchiveShared;
pub use status::ArchivedThread;
