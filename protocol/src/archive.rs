//! `archive/*`: compressed copies of transcripts, for when the originals are gone.
//!
//! Only the person may call these; an agent reads the archive through the methods that read a thread's items.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

/// `archive/status`: the archive's contents and state.
pub struct Overview;

/// No params.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ArchiveStatusParams")]
pub struct OverviewParams {}

/// The archive in numbers.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ArchiveStatusResult")]
pub struct OverviewResult {
    /// What it does now.
    pub state: ArchiveState,
    /// Why it cannot be written, while that is so.
    pub problem: Option<String>,
    /// The archive's folder, an absolute path.
    pub path: String,
    /// Its bytes on the disk.
    pub bytes: u64,
    /// Bytes of the texts it can restore.
    pub text_bytes: u64,
    /// Bytes that are stored of these; chunks that texts share count once.
    pub stored_text_bytes: u64,
    /// Threads with at least one archived transcript.
    pub threads: u64,
    /// Archived transcripts; a thread may have several.
    pub transcripts: u64,
    /// Archived transcripts whose files are gone.
    pub gone: u64,
    /// Existing transcripts of which nothing is archived any more: they were evicted because of the limits.
    #[serde(default)]
    pub evicted: u64,
    /// Threads that a person had removed: their transcripts are never archived again.
    #[serde(default)]
    pub forgotten: u64,
    /// Transcripts that are not completely archived yet.
    pub files_behind: u64,
    /// When the longest idle thread last grew; absent for an empty archive.
    pub oldest_at: Option<i64>,
    /// Oldest verification of any file (read whole, compared with its digest); absent if one was never verified.
    pub verified_at: Option<i64>,
    /// Files whose content does not match its digest.
    pub damaged: u64,
    /// Maximum bytes on disk.
    pub max_bytes: u64,
    /// Days after which an idle thread is evicted; time in which the machine was off hardly counts. 0: never.
    pub max_age_days: u64,
    /// Whether secrets are replaced before a text is archived.
    pub redacts: bool,
    /// Archived texts with their secrets, earlier states of a transcript included. With `redacts` they are being redacted.
    #[serde(default)]
    pub unredacted: u64,
    /// Whether no file of the archive has text that was archived with its secrets.
    #[serde(default)]
    pub all_redacted: bool,
}

/// What the archive does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ArchiveState {
    /// Everything ingested is archived.
    Idle,
    /// Some texts are not archived yet.
    Archiving,
    /// It cannot be written; the daemon retries.
    Stalled,
    /// `archive.enabled` is false: nothing is added; existing texts can be read.
    Off,
    /// A value of a newer daemon.
    #[serde(other)]
    Other,
}

/// `archive/list`: the archived threads, those that grew last first.
///
/// # Errors
/// `thread_not_found`.
pub struct ArchiveList;

/// Which threads.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArchiveListParams {
    /// Only the transcripts of this thread; absent: of all.
    pub thread_id: Option<String>,
    /// Only those whose transcript is gone.
    pub gone: Option<bool>,
    /// Only those with all these words, or parts of words, in title or folder, in small or capital letters.
    pub words: Option<String>,
    /// Rows, at most `limit::PAGE_ROWS_MAX`; absent: `limit::PAGE_ROWS_DEFAULT`.
    pub limit: Option<u32>,
    /// `next_cursor` of the previous page.
    pub cursor: Option<String>,
}

/// A page of archived threads.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArchiveListResult {
    /// One row for each transcript.
    pub threads: Vec<ArchivedThread>,
    /// Present when there are more.
    pub next_cursor: Option<String>,
}

/// An archived transcript of a thread.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArchivedThread {
    /// Id of the thread.
    pub thread_id: String,
    /// The program that wrote it.
    pub source: String,
    /// Where the transcript is, or was.
    pub path: String,
    /// The folder it works in.
    pub cwd: Option<String>,
    /// The name a person gave it, else its first request in short, secrets replaced.
    pub title: Option<String>,
    /// Bytes of its text.
    pub bytes: u64,
    /// When it last grew.
    pub updated_at: i64,
    /// Whether the transcript is gone.
    pub gone: bool,
    /// Whether its secrets were replaced.
    pub redacted: bool,
}

/// `archive/verify`: reads all files of the archive and compares them with their digests.
///
/// Damaged chunks are stored again from the transcripts that still exist.
///
/// # Errors
/// `not_archived`.
pub struct Verify;

/// Which files.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ArchiveVerifyParams")]
pub struct VerifyParams {
    /// Only those that this thread needs.
    pub thread_id: Option<String>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ArchiveVerifyResult")]
pub struct VerifyResult {
    /// Files that were read.
    pub files: u64,
    /// Bytes of the checked files.
    pub bytes: u64,
    /// Files whose content does not match its digest.
    pub damaged: u64,
    /// Threads that lost data: their transcripts are gone, too.
    pub damaged_threads: Vec<String>,
}

/// `archive/restore`: writes a thread's missing transcripts back to where its agent looks, or all of them to other files;
/// never overwrites.
///
/// # Errors
/// `not_archived`, `file_exists`, `archive_damaged`.
pub struct Restore;

/// Which thread, and where to write it.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ArchiveRestoreParams")]
pub struct RestoreParams {
    /// Id of the thread, or a unique prefix of it.
    pub thread_id: String,
    /// A file to write, an absolute path; absent: where its agent looks. Of a thread with several transcripts, the longest
    /// is written here, and the others next to it: `NAME.2.jsonl`, `NAME.3.jsonl`.
    pub to: Option<String>,
}

/// The files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ArchiveRestoreResult")]
pub struct RestoreResult {
    /// Id of the thread.
    pub thread_id: String,
    /// The files that were written, the longest first; at least one.
    pub files: Vec<RestoredFile>,
    /// Whether secrets were replaced when it was archived.
    pub redacted: bool,
    /// The command that resumes the thread, as arguments; empty if the files are not where an agent looks.
    pub command: Vec<String>,
}

/// A file that was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RestoredFile {
    /// An absolute path.
    pub path: String,
    /// Its length.
    pub bytes: u64,
}

/// `archive/forget`: removes a thread from the archive for good; it is not archived again.
///
/// Its transcript, if there is one, stays. A thread that does not exist yet can be named by its id if that is a UUID.
///
/// # Errors
/// `thread_not_found`.
pub struct Forget;

/// Which thread.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ArchiveForgetParams")]
pub struct ForgetParams {
    /// Id of the thread, or a unique prefix of it.
    pub thread_id: String,
}

/// What was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ArchiveForgetResult")]
pub struct ForgetResult {
    /// Bytes of the removed texts; 0 if there were none.
    pub removed_bytes: u64,
    /// Whether they were the only copy: no transcript of the thread existed any more.
    #[serde(default)]
    pub only_copy: bool,
}
