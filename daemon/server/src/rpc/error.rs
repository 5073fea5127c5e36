//! A handler's failure: a code and a message for the client, and a cause for the log.
//!
//! The cause may hold paths, system messages or a query, and cannot reach the wire: [`Failure`] has no `Display`. It is
//! logged once, in full, when the failure is answered.

use std::error::Error;
use std::io;

use jsonrpsee::types::ErrorObjectOwned;
use longhaul_core::choice::ChoiceRefusal;
use longhaul_core::model::FaultKind;
use longhaul_core::redact::redact;
use longhaul_printable as printable;
use longhaul_protocol::text::gated;
use longhaul_protocol::{ErrorKind, WireError};
use longhaul_store::StoreError;
use serde_json::{Value, json};

use super::answer::redacted;
use crate::archive::ArchivedText;
use crate::config::ConfigError;
use crate::ingest::{FoldLoadError, SyncError};
use crate::jobs::JobError;
use crate::message_history::MessageHistoryError;
use crate::peer::{CallContext, Caller};
use crate::service::{ChoiceError, CurationEnd, ServiceError, preimage};

#[derive(Debug)]
pub struct Failure {
    // Boxed: every handler's result carries it.
    error: Box<WireError>,
    cause: Option<Box<dyn Error + Send + Sync>>,
}

impl Failure {
    /// A failure of a kind. The client sees `message`, so it must contain no transcript text and no secret.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { error: Box::new(WireError::new(kind, message)), cause: None }
    }

    /// A defect of the daemon; its cause is only logged.
    pub fn internal(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(ErrorKind::Internal, "a defect of the daemon").because(cause)
    }

    /// Replaces the kind's default hint.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { error: Box::new(self.error.with_hint(hint)), ..self }
    }

    #[must_use]
    pub fn with_detail(self, detail: Value) -> Self {
        Self { error: Box::new(self.error.with_detail(detail)), ..self }
    }

    /// Another error with the same cause.
    pub fn replaced_by(self, kind: ErrorKind, message: &str) -> Self {
        Self { error: Box::new(WireError::new(kind, message)), ..self }
    }

    /// Adds the cause, which is only logged.
    #[must_use]
    pub fn because(self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { cause: Some(cause.into()), ..self }
    }

    /// An invalid parameter; `expected` says what would be valid.
    pub fn invalid(field: &str, expected: &str) -> Self {
        Self::new(ErrorKind::InvalidParams, format!("params.{field}: {expected}"))
            .with_detail(json!({ "field": field }))
    }

    pub fn over(message: String, limit: &str, max: u64, given: u64) -> Self {
        Self::new(ErrorKind::LimitExceeded, message)
            .with_detail(json!({ "limit": limit, "max": max, "given": given }))
    }

    /// A prefix that several ids share; `message` says how many.
    fn ambiguous(message: &str, mut candidates: Vec<String>) -> Self {
        let is_cut = candidates.len() > CANDIDATES_SHOWN;
        candidates.truncate(CANDIDATES_SHOWN);
        let more = if is_cut { ", …" } else { "" };
        let hint = format!("give more of it: {}{more}", candidates.join(", "));
        Self::new(ErrorKind::Ambiguous, message)
            .with_hint(hint)
            .with_detail(json!({ "candidates": candidates }))
    }

    /// Text that is deleted, but may still be in a file.
    fn of_bytes_left(cause: StoreError, again: &str) -> Self {
        let failure = Self::from(cause);
        let (kind, why) = (failure.error.kind(), &failure.error.message);
        let message = format!("{}: {why}", ServiceError::BYTES_LEFT);
        failure.replaced_by(kind, &message).with_hint(format!("run again: {again}"))
    }

    /// A call that an agent may not make; `message` says which, the kind's hint who may.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Forbidden, message)
    }

    fn of_choice(error: &ChoiceError, message: String) -> Self {
        let not_found = |message| Self::new(ErrorKind::ChoiceNotFound, message);
        match error {
            ChoiceError::Refused(refusal) => Self::of_refused_choice(refusal, message),
            ChoiceError::NotFound(_) => not_found(message),
            ChoiceError::Inherited { thread_id, .. } => not_found(message)
                .with_hint(format!("it belongs to the thread {thread_id}: remove it there")),
        }
    }

    fn of_refused_choice(refusal: &ChoiceRefusal, message: String) -> Self {
        let over = |limit, given, max| Self::over(message.clone(), limit, max, given);
        let remove = "longhaul pin --list lists them, longhaul pin --remove ID removes one";
        match *refusal {
            ChoiceRefusal::TooLong { given, max } => over("choice_bytes", given, max)
                .with_hint("pin the sentence that matters, or the item by its handle"),
            ChoiceRefusal::TooMany { max } => over("choices", max + 1, max).with_hint(remove),
            ChoiceRefusal::PinsTooLarge { given, max } => {
                over("pinned_tokens", given, max).with_hint(remove)
            }
            ChoiceRefusal::ActiveRequest | ChoiceRefusal::Contradiction { .. } => {
                Self::new(ErrorKind::IllegalTransition, message).with_hint(remove)
            }
            ChoiceRefusal::Empty | ChoiceRefusal::TooShort => Self::invalid("text", &message),
        }
    }

    fn of_file(path: &str, source: io::Error) -> Self {
        if ArchivedText::is_damage(&source) {
            let message = format!("the archived text of {path} is damaged");
            return Self::new(ErrorKind::ArchiveDamaged, message).because(source);
        }
        let kind = match source.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                ErrorKind::PermissionDenied
            }
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => ErrorKind::DiskFull,
            io::ErrorKind::AlreadyExists => ErrorKind::FileExists,
            _ if source.raw_os_error() == Some(EIO) => ErrorKind::DiskFailed,
            _ => ErrorKind::Internal,
        };
        // The system's reason; other errors may quote what a file says.
        let reason = source.raw_os_error().map(|_| format!(": {source}")).unwrap_or_default();
        Self::new(kind, format!("the file {path} cannot be used{reason}")).because(source)
    }

    pub fn kind(&self) -> ErrorKind {
        self.error.kind()
    }

    pub(super) fn path(&self) -> Option<&str> {
        self.error.data.as_ref()?.detail.as_ref()?.get("path")?.as_str()
    }

    /// Converts the failure into the client's error, and logs it with its cause.
    pub(super) fn answer(
        mut self,
        method: &'static str,
        context: &CallContext,
    ) -> ErrorObjectOwned {
        let kind = self.error.kind();
        let request = context.number;
        if let Some(data) = &mut self.error.data {
            data.request_id = Some(context.request_id());
        }
        let cause = self.cause.as_deref().map(chain);
        match kind == ErrorKind::Internal {
            true => tracing::error!(method, request, kind = kind.name(), cause, "request failed"),
            false => tracing::debug!(method, request, kind = kind.name(), cause, "request refused"),
        }
        // The message may contain a path, a name or a key of a configuration.
        let mut message = printable::block(&self.error.message).into_owned();
        let mut data = self.error.data.and_then(|data| gated(&data).ok());
        if context.peer.caller == Caller::Agent {
            message = redact(&message).text.into_owned();
            data = data.and_then(|data| redacted(serde_json::from_str(data.get()).ok()?).ok());
        }
        ErrorObjectOwned::owned(self.error.code, message, data)
    }
}

/// An error and its causes in one line.
fn chain(error: &(dyn Error + Send + Sync)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

/// The system's error for a failing disk.
const EIO: i32 = rustix::io::Errno::IO.raw_os_error();

/// Maximum ids in the error of an ambiguous one.
const CANDIDATES_SHOWN: usize = 8;

const PRUNED: &str = "longhaul compaction list shows the kept ones; a started one exists when its job is done, see \
                      longhaul job list; old ones are deleted by compaction.keep_days and \
                      compaction.keep_per_thread of the configuration";

fn curation_kind(end: &CurationEnd) -> ErrorKind {
    match end {
        CurationEnd::Overtaken => ErrorKind::StaleBase,
        CurationEnd::Spent(..) => ErrorKind::LimitExceeded,
        CurationEnd::OutOfTime(_) => ErrorKind::DeadlineExceeded,
        CurationEnd::Unreadable(_) | CurationEnd::Refused(_) => ErrorKind::ModelOutputInvalid,
        CurationEnd::Fault(fault) => match fault.kind {
            FaultKind::BudgetSpent => ErrorKind::LimitExceeded,
            FaultKind::Timeout => ErrorKind::DeadlineExceeded,
            FaultKind::RateLimited => ErrorKind::ModelRateLimited,
            _ => ErrorKind::ModelUnavailable,
        },
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        let failure = Self::new(ErrorKind::ConfigInvalid, error.to_string());
        failure.with_hint("correct the file and reload; the settings in use did not change")
    }
}

impl From<ServiceError> for Failure {
    fn from(error: ServiceError) -> Self {
        let message = error.to_string();
        let failure = |kind| Self::new(kind, message.clone());
        match error {
            ServiceError::ThreadNotFound(_) => failure(ErrorKind::ThreadNotFound),
            ServiceError::ThreadBusy { others, .. } => {
                failure(ErrorKind::ThreadBusy).with_detail(json!({ "agents": others }))
            }
            ServiceError::ThreadReadOnly(_) => failure(ErrorKind::ThreadReadOnly),
            ServiceError::Superseded(_) => failure(ErrorKind::IllegalTransition)
                .with_hint("undo the later ones first, starting with the newest"),
            ServiceError::CheckpointNotFound(_) => failure(ErrorKind::CheckpointNotFound),
            // Of given items, not of a thread.
            ServiceError::HandleNotFound(handle) if handle.starts_with(preimage::PREFIX) => {
                failure(ErrorKind::HandleNotFound).with_hint(PRUNED)
            }
            ServiceError::HandleNotFound(_) => failure(ErrorKind::HandleNotFound),
            ServiceError::CompactionNotFound(_) => {
                failure(ErrorKind::CompactionNotFound).with_hint(PRUNED)
            }
            ServiceError::SourceChanged { path, .. } => {
                failure(ErrorKind::SourceChanged).with_detail(json!({ "path": path }))
            }
            ServiceError::StaleBase { present, expected } => failure(ErrorKind::StaleBase)
                .with_detail(json!({ "present": present, "expected": expected })),
            ServiceError::Choice(error) => Self::of_choice(&error, message),
            ServiceError::NotArchived(_) => failure(ErrorKind::NotArchived),
            ServiceError::ArchiveDamaged(_) => failure(ErrorKind::ArchiveDamaged),
            ServiceError::FileExists(_) => failure(ErrorKind::FileExists),
            ServiceError::TranscriptExists(path) => failure(ErrorKind::IllegalTransition)
                .with_hint("delete that file first: longhaul deletes no file of another program")
                .with_detail(json!({ "path": path })),
            ServiceError::BytesLeft { again, cause } => Self::of_bytes_left(cause, &again),
            ServiceError::NotWorthwhile { .. } => failure(ErrorKind::NotWorthwhile),
            ServiceError::Job(JobError::NotFound(_)) => failure(ErrorKind::JobNotFound),
            ServiceError::Job(JobError::Lost(_)) => failure(ErrorKind::LeaseLost),
            ServiceError::Invalid { field, reason } => Self::invalid(field, &reason),
            ServiceError::Ambiguous { candidates, .. } => Self::ambiguous(&message, candidates),
            ServiceError::Handle(_) => Self::invalid("handle", &message),
            ServiceError::Query(_) => failure(ErrorKind::QueryInvalid).with_hint(
                "give a word, a \"phrase in quotes\" or a prefix*; OR and NOT combine them",
            ),
            ServiceError::SearchDeadline => failure(ErrorKind::DeadlineExceeded)
                .with_hint("give a longer prefix*, or a folder or time"),
            ServiceError::Busy | ServiceError::IndexNotOpen => failure(ErrorKind::StoreBusy),
            ServiceError::Sync(error) => error.into(),
            ServiceError::Store(error) | ServiceError::Job(JobError::Store(error)) => error.into(),
            ServiceError::Fold(error) => Self::of_fold(error, message),
            ServiceError::Limit { limit, max, given } => Self::over(message, limit, max, given),
            ServiceError::BadItem { index, client_item_id, reason } => {
                failure(ErrorKind::InvalidParams).with_detail(json!({
                    "index": index, "client_item_id": client_item_id, "reason": reason
                }))
            }
            ServiceError::ItemTooLong { index, client_item_id, max, given } => {
                failure(ErrorKind::LimitExceeded).with_detail(json!({
                    "limit": "item_bytes", "max": max, "given": given,
                    "index": index, "client_item_id": client_item_id, "reason": message
                }))
            }
            ServiceError::CurationEnded(end) => failure(curation_kind(&end)),
            ServiceError::MessageHistory(error) => Self::of_message_history(error, message),
            ServiceError::StateLost(_) => failure(ErrorKind::StateLost),
            ServiceError::File { path, source } => Self::of_file(&path, source),
            ServiceError::MemoryFailed { may_pass: true, .. } => failure(ErrorKind::DiskFailed),
            ServiceError::Undecodable { .. }
            | ServiceError::MemoryFailed { .. }
            | ServiceError::Task(_) => Self::internal(error),
        }
    }
}

impl Failure {
    fn of_fold(error: FoldLoadError, message: String) -> Self {
        match error {
            FoldLoadError::Store(error) => error.into(),
            FoldLoadError::Transcript { path, cause } if ArchivedText::is_damage(&cause) => {
                Self::of_file(&path, cause)
            }
            FoldLoadError::Gone { path } => {
                Self::new(ErrorKind::SourceChanged, message).with_detail(json!({ "path": path }))
            }
            error => Self::new(ErrorKind::IngestBehind, message).because(error),
        }
    }

    fn of_message_history(error: MessageHistoryError, message: String) -> Self {
        match error {
            MessageHistoryError::Busy => Self::new(ErrorKind::StoreBusy, message),
            MessageHistoryError::File { path, source } => {
                Self::of_file(&path.display().to_string(), source)
            }
            error => Self::internal(error),
        }
    }
}

impl From<SyncError> for Failure {
    fn from(error: SyncError) -> Self {
        let kind = match &error {
            SyncError::NotFound(_) => ErrorKind::ThreadNotFound,
            SyncError::Outside(_) => ErrorKind::PathOutside,
            SyncError::Deadline => ErrorKind::IngestBehind,
            SyncError::Failed(_) => ErrorKind::IngestBehind,
            SyncError::DiskFull(_) => ErrorKind::DiskFull,
            SyncError::Stopping => ErrorKind::Draining,
        };
        Self::new(kind, error.to_string())
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let (kind, message) = match &error {
            StoreError::Busy { .. } => (ErrorKind::StoreBusy, "the database is busy"),
            StoreError::DiskFull { .. } => {
                (ErrorKind::DiskFull, "no space is left for the database")
            }
            StoreError::Corrupt { .. } => (ErrorKind::StoreCorrupt, "the database is damaged"),
            StoreError::SchemaTooNew { .. } => {
                (ErrorKind::SchemaTooNew, "the database is of a newer longhauld")
            }
            StoreError::Access { .. } => {
                (ErrorKind::PermissionDenied, "the database cannot be used")
            }
            StoreError::Fenced(_) => (ErrorKind::LeaseLost, "the run no longer owns its job"),
            StoreError::Erased { .. } => {
                (ErrorKind::ThreadNotFound, "the thread was forgotten in the meantime")
            }
            StoreError::Closed { .. } => {
                (ErrorKind::Draining, "the daemon is stopping, or replacing a damaged database")
            }
            StoreError::Io { .. } => {
                (ErrorKind::DiskFailed, "the database could not be read or written")
            }
            StoreError::SchemaTooOld { .. }
            | StoreError::Undecodable { .. }
            | StoreError::Internal { .. } => return Self::internal(error),
        };
        Self::new(kind, message).because(error)
    }
}
