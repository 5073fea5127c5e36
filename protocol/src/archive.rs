//! `archive/*`: compressed copies of what transcripts said, for the day on which these are gone.
//!
//! They are for the person alone: an agent reaches the archive through `history/expand` and `history/get` only.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `archive/status`: what the archive has, and how it is.
#[derive(Debug, Clone, Copy)]
pub struct Overview;

/// Nothing to say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ArchiveStatusParams")]
pub struct OverviewParams {}

/// The archive in numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ArchiveStatusResult")]
pub struct OverviewResult {
    /// What it does now.
    pub state: ArchiveState,
    /// Why it cannot be written, while that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Its folder.
    pub path: String,
    /// Its bytes on the disk.
    pub bytes: u64,
    /// Bytes of the texts it can give back.
    pub text_bytes: u64,
    /// Of these, bytes that are stored: what several texts share counts once.
    pub stored_text_bytes: u64,
    /// Threads it has.
    pub threads: u64,
    /// Transcripts it has, of some threads several.
    pub transcripts: u64,
    /// Transcripts it has whose files are gone.
    pub gone: u64,
    /// Transcripts with something that is not archived yet.
    pub files_behind: u64,
    /// When the thread that rests for longest last grew; absent: it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest_at: Option<i64>,
    /// When the file that waits for longest was last read whole and compared with its digest; absent where one never was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified_at: Option<i64>,
    /// Files that are not what was written.
    pub damaged: u64,
    /// Bytes it may have.
    pub max_bytes: u64,
    /// Days of use after which a thread that did not grow goes; 0: never.
    pub max_age_days: u64,
    /// Whether secrets are replaced before a text is archived.
    pub redacts: bool,
}

/// What the archive does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ArchiveState {
    /// All that is ingested is archived.
    Idle,
    /// Something is not archived yet.
    Archiving,
    /// It cannot be written; it is tried again.
    Stalled,
    /// `archive.enabled` is false: nothing is added, what is there is read.
    Off,
    /// What a newer daemon may add.
    #[serde(other)]
    Other,
}

/// `archive/list`: the archived threads, those that grew last first.
#[derive(Debug, Clone, Copy)]
pub struct List;

/// Which threads.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ArchiveListParams")]
pub struct ListParams {
    /// Only this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// Only those whose transcript is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone: Option<bool>,
    /// Only those with all these words, or parts of words, in title or folder, in small or capital letters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    /// Rows, at most `limit::PAGE_ROWS_MAX`; absent: `limit::PAGE_ROWS_DEFAULT`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// `next_cursor` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// A page of archived threads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ArchiveListResult")]
pub struct ListResult {
    /// One row for each transcript.
    pub threads: Vec<ArchivedThread>,
    /// Present when there are more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// An archived transcript of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArchivedThread {
    /// The thread.
    pub thread_id: String,
    /// The program that wrote it.
    pub source: String,
    /// Where the transcript is, or was.
    pub path: String,
    /// The folder it works in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The name a person gave it, else its first request in short, secrets replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Bytes of its text.
    pub bytes: u64,
    /// When it last grew.
    pub updated_at: i64,
    /// Whether the transcript is not there any more.
    pub gone: bool,
    /// Whether its secrets were replaced.
    pub redacted: bool,
}

/// `archive/verify`: reads the files of the archive whole, and compares them with their digests.
///
/// What is damaged is stored again from the transcripts that are there.
///
/// # Errors
/// `not_archived`.
#[derive(Debug, Clone, Copy)]
pub struct Verify;

/// Which files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ArchiveVerifyParams")]
pub struct VerifyParams {
    /// Only those that this thread needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ArchiveVerifyResult")]
pub struct VerifyResult {
    /// Files that were read.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Files that are not what was written.
    pub damaged: u64,
    /// Threads that have lost something by it: their transcripts are gone, too.
    pub damaged_threads: Vec<String>,
}

/// `archive/restore`: writes the text of a thread back to where its agent looks, or to another file; never over one that
/// is there.
///
/// # Errors
/// `not_archived`, `file_exists`, `archive_damaged`.
#[derive(Debug, Clone, Copy)]
pub struct Restore;

/// What, and where to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ArchiveRestoreParams")]
pub struct RestoreParams {
    /// The thread.
    pub thread_id: String,
    /// A file to write, an absolute path; absent: where its agent looks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

/// The file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ArchiveRestoreResult")]
pub struct RestoreResult {
    /// The thread.
    pub thread_id: String,
    /// The file that was written.
    pub path: String,
    /// Its bytes.
    pub bytes: u64,
    /// Whether its secrets were replaced when it was archived.
    pub redacted: bool,
    /// What resumes the thread, word by word; empty where the file is not where an agent looks.
    pub command: Vec<String>,
}

/// `archive/forget`: removes a thread from the archive for good; it is not archived again.
///
/// Its transcript, if there is one, stays.
#[derive(Debug, Clone, Copy)]
pub struct Forget;

/// Which thread.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ArchiveForgetParams")]
pub struct ForgetParams {
    /// The thread.
    pub thread_id: String,
}

/// What went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ArchiveForgetResult")]
pub struct ForgetResult {
    /// Bytes of the texts that were removed; 0: there were none.
    pub removed_bytes: u64,
}
