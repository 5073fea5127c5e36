//! All SQL of longhaul: the main SQLite database, which stores what the core decided, and in separate files the
//! full-text index ([`SearchIndex`]) and the index of the archive ([`ArchiveIndex`]).
//!
//! # Theory of operation
//!
//! *Owns* the database file, its connections and its schema. Transcripts are the source of truth;
//! `source_file`, `thread` and `item_page` are a projection that can be deleted and rebuilt.
//! Only here: updates and choices, compactions, notes and exclusions, published memory, decisions and watchers, jobs and the
//! model ledger, which are salvaged; observations of files, uses of memory, agents' reports of their windows, answers of models
//! and the log of jobs, which are not.
//!
//! *Handles.* [`Store`] has one for each group of tables; callers hold the few that they use. A transaction over
//! several tables is one method of one handle.
//!
//! *Writing.* One connection, one transaction per call; no transaction leaves the crate, so
//! a model call or a file read can never happen inside one. Statements write many rows, since a call costs
//! 50–70 µs regardless of size. [`ProjectionWriter::commit`] stores rows read from some files together with their
//! cursors: after a kill at any point the batch is complete or absent, and reading on from the cursor gives the
//! same rows. Writes are idempotent because every row has a natural key. Commits do not wait for the disk: a task
//! checkpoints the log a second later (`wal`).
//!
//! *Reading.* Two read-only connections on the write-ahead log: readers see a committed state and neither
//! block nor wait for the writer. Two calls may see two states; values that must agree are read in one call. A value
//! that is asked for more often than the database changes may be kept as long as its [`Revision`] lasts.
//!
//! *Generations.* A rewritten transcript is read again under the next generation, whose first batch deletes
//! the pages of all others in the same transaction.
//!
//! *Damage.* At the start, and when the owner calls [`Database::recover`] after [`StoreError::Corrupt`], a damaged file
//! is moved aside with its log and replaced by an empty one. What exists only here is copied into it as far as it is readable
//! (`salvage`), and ingestion fills the rest from the transcripts. A database of a version before the first migration is replaced
//! in the same way. A newer schema is rejected and left untouched.
//! On a full disk a call fails with [`StoreError::DiskFull`] and stores nothing.
//!
//! *Does not* choose what to read, read the clock (`now_ms` is a parameter), or know the wire protocol.
#![forbid(unsafe_code)]

mod age;
mod archive;
mod commit;
mod compaction;
mod current;
mod descriptor;
mod erase;
mod erased;
mod error;
mod file;
mod gauge;
mod job;
mod memory;
mod model;
mod observation;
mod open;
mod page;
mod path;
mod policy;
mod pool;
mod retention;
mod row;
mod salvage;
mod schema;
mod seal;
mod search;
mod session_database;
mod store;
mod thread;
mod update;
mod wal;

pub use age::AgeTable;
pub use archive::{
    ArchiveIndex, ArchivePackTable, ArchiveThreadTable, ArchiveTotals, ArchiveTranscriptTable,
    ArchivedPart, ArchivedTranscript, IndexSpace, LIVED_UNKNOWN, NewPack, NewPiece, PackRow, Piece,
    REPLACED_MAX, SOURCE_BYTES_UNKNOWN, SupersededText, TextProgress, ThreadAge,
};
pub use commit::{FileCommit, FileOutcome, ProjectionWriter};
pub use compaction::{CompactionCursor, CompactionRow, CompactionTable, CompactionTotals};
pub use erase::ThreadEraser;
pub use error::{RetryClass, StoreError};
pub use file::{BaseState, Cursor, FILES_AT_ONCE, FileId, FileRow, FileStat, FileState, FileTable};
pub use gauge::GaugeTable;
pub use job::{EVENTS_PER_JOB_MAX, JobEvent, JobFilter, JobTable, SCAN_MAX};
pub use memory::{
    AgentRow, CLAIMS_MAX, CurationTable, Exclusion, ExtractionRow, ExtractionTable,
    GENERATIONS_KEPT, Generation, GenerationTable, NOTES_MAX, NewGeneration, NoteOutcome, NoteRow,
    NoteTable, Passage, PassageMatch, PassageScope, UseRow, UseTable, Watermark,
};
pub use model::{ANSWERS_MAX, ModelTable, USAGE_DAYS_MAX, UsageRow};
pub use observation::{OBSERVATIONS_PER_THREAD_MAX, Observation};
pub use open::OpenReport;
pub use page::{ItemPage, PageHead, PageTable};
pub use policy::{
    DECISIONS_MAX, DECISIONS_PER_THREAD_MAX, DecisionEnd, DecisionRow, LogEntry, PolicyTable,
    WATCHERS_MAX,
};
pub use pool::{BUSY_TIMEOUT_MS, Revision};
pub use retention::RetentionRules;
pub use salvage::SalvageReport;
pub use schema::{SCHEMA_VERSION, check_version};
pub use search::{
    INDEX_VERSION, IndexItem, IndexPart, IndexedFile, Match, SearchFilter, SearchIndex,
};
pub use session_database::{DatabaseState, SessionContent, SessionDatabase, SessionState};
pub use store::{Database, RebuildReport, Store};
pub use thread::{ThreadCursor, ThreadFilter, ThreadRow, ThreadTable};
pub use update::{UPDATES_PER_THREAD_MAX, UpdateRow, UpdateTable};
