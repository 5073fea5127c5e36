//! All SQL of longhaul: one SQLite database, its tables, and nothing that decides; and beside it the
//! full-text index ([`SearchIndex`]), a file of its own.
//!
//! # Theory of operation
//!
//! *Owns* the database file, its connections and its schema. The transcripts are the truth of what
//! happened; `source_file`, `thread` and `item_page` are a projection of them that may be thrown
//! away and made again. `semantic_update`, `compaction` and `file_observation` are known only here.
//!
//! *Writing.* One connection, one `BEGIN IMMEDIATE` transaction a call, no transaction given out: a
//! model call or a file read can never happen inside one. Rows go in many to a statement, since a
//! call costs 50–70 µs whatever it carries. [`Store::commit_batch`] stores what was read from some
//! files together with the cursors that say how far: after a kill at any point the batch is whole
//! or absent, and reading on from the cursor gives the same rows. Writing the same batch twice
//! leaves what writing it once leaves, because every row has a natural key. A commit waits for no disk: a task
//! writes the log into the database a second later (`wal`).
//!
//! *Reading.* Two read-only connections on the write-ahead log: a reader sees a committed state and
//! neither waits for the writer nor makes it wait. Two calls may see two states; what must agree is
//! read in one call.
//!
//! *Generations.* A transcript that was rewritten is read again under the next generation. The
//! first batch of it deletes the pages of all others in the same transaction.
//!
//! *Damage.* At the start, and when a call reports [`StoreError::Corrupt`] and the owner calls
//! [`Store::recover`], the file is moved aside with its log and an empty one made, which takes over
//! what can still be read of updates and compactions (`salvage`); ingesting then fills it from the
//! transcripts. A newer schema is refused and left untouched. A full disk is
//! [`StoreError::DiskFull`], with nothing of the call stored.
//!
//! *Does not*: choose what to read, keep time (`now_ms` is a parameter), or know the wire.
#![forbid(unsafe_code)]

mod commit;
mod compaction;
mod current;
mod error;
mod file;
mod job;
mod memory;
mod meta;
mod model;
mod observation;
mod open;
mod page;
mod policy;
mod pool;
mod retention;
mod row;
mod salvage;
mod schema;
mod search;
mod store;
mod thread;
mod update;
mod wal;

pub use commit::{Batch, Committed, FileCommit};
pub use compaction::{CompactionBody, CompactionCursor, CompactionRow};
pub use error::{RetryClass, StoreError};
pub use file::{BaseState, Cursor, FileId, FileRow, FileStat};
pub use job::{EVENTS_PER_JOB_MAX, JobEvent, JobFilter, SCAN_MAX};
pub use memory::{
    AgentRow, Exclusion, ExtractionRow, GENERATIONS_KEPT, Generation, NOTES_MAX, NewGeneration,
    NoteRow, Passage, PassageMatch, UseRow, Watermark,
};
pub use meta::Totals;
pub use model::{ANSWERS_MAX, USAGE_DAYS_MAX, UsageRow};
pub use observation::{OBSERVATIONS_PER_THREAD_MAX, Observation};
pub use open::Opened;
pub use page::{ItemPage, PageHead};
pub use policy::{DECISIONS_MAX, DECISIONS_PER_THREAD_MAX, DecisionRow, WATCHERS_MAX};
pub use pool::BUSY_TIMEOUT_MS;
pub use retention::Keep;
pub use salvage::Salvaged;
pub use schema::SCHEMA_VERSION;
pub use search::{
    INDEX_VERSION, IndexItem, IndexPart, IndexedFile, Match, SearchFilter, SearchIndex,
};
pub use store::{Rebuilt, Store};
pub use thread::{ThreadCursor, ThreadFilter, ThreadRow};
pub use update::{UPDATES_PER_THREAD_MAX, UpdateRow};
