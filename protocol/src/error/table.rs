//! The error table: one row per kind.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Retry;

/// Makes the enum, its numbers, names, retry classes and hints from one table, so that no two of them
/// can disagree.
macro_rules! error_kinds {
    ($($(#[doc = $when:literal])+ $variant:ident = $code:literal $name:literal $retry:ident $hint:expr;)+) => {
        /// A row of the error table; the docs of a variant say when it is answered.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum ErrorKind {
            $($(#[doc = $when])+ $variant,)+
            /// A kind of a newer daemon; never sent. Its number is 0, and its retry class is `never`.
            Unrecognized,
        }

        /// Every kind that can be sent, in the order of the table.
        pub const ERROR_KINDS: &[ErrorKind] = &[$(ErrorKind::$variant,)+];

        impl ErrorKind {
            /// The number on the wire.
            #[must_use]
            pub const fn code(self) -> i32 {
                match self { $(Self::$variant => $code,)+ Self::Unrecognized => 0 }
            }

            /// The name on the wire.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ Self::Unrecognized => "unrecognized" }
            }

            /// What a caller should do next.
            #[must_use]
            pub const fn retry(self) -> Retry {
                match self { $(Self::$variant => Retry::$retry,)+ Self::Unrecognized => Retry::Never }
            }

            /// One sentence for a person, where the kind alone allows one. It names commands of `longhaul`, never methods.
            #[must_use]
            pub const fn default_hint(self) -> Option<&'static str> {
                match self { $(Self::$variant => $hint,)+ Self::Unrecognized => None }
            }

            /// When the kind is answered, in one sentence.
            #[must_use]
            pub const fn when(self) -> &'static str {
                match self {
                    $(Self::$variant => concat!($($when),+).trim_ascii(),)+
                    Self::Unrecognized => "a kind of a newer daemon",
                }
            }
        }
    };
}

error_kinds! {
    /// A line is not JSON.
    ParseError = -32700 "parse_error" Never Some("send one complete JSON-RPC message per line");
    /// JSON, but no JSON-RPC 2.0 request: no `jsonrpc`, or an id that is no string or whole number ≥ 0.
    InvalidRequest = -32600 "invalid_request" Never None;
    /// No such method in this version.
    MethodNotFound = -32601 "method_not_found" Never Some("initialize lists the methods of this daemon");
    /// Params of the wrong shape, or with a value that cannot be used; the message names the field.
    InvalidParams = -32602 "invalid_params" Never None;
    /// A defect of the daemon; `request_id` names the entry in its log.
    Internal = -32603 "internal" Never Some("please report it with the log lines of this request_id");
    /// More subscriptions on one connection than allowed.
    TooManySubscriptions = -32006 "too_many_subscriptions" Never Some("unsubscribe first, or use one subscription for several kinds");
    /// A message is longer than a frame may be.
    OversizedRequest = -32007 "oversized_request" Never Some("name the thread instead of sending its items");
    /// The answer would be longer than a frame may be.
    OversizedResponse = -32008 "oversized_response" Never Some("ask for a smaller page");
    /// Too many connections; or this one was idle the longest, did not complete a message in time, or was closed because all together held too many bytes.
    ServerBusy = -32009 "server_busy" Backoff Some("close unused connections");

    /// The two ends have no protocol revision in common.
    VersionUnsupported = 1001 "version_unsupported" Never Some("update the older of client and daemon");
    /// The method needs a capability that `initialize` did not grant.
    CapabilityMissing = 1002 "capability_missing" Never Some("ask for the capability in initialize");
    /// A value is over its limit, which the detail names with its value and the value given; or a job's budget is spent.
    LimitExceeded = 1004 "limit_exceeded" Never None;
    /// A search query cannot be read; the message says why.
    QueryInvalid = 1005 "query_invalid" Never None;
    /// A configuration is invalid; the previous one stays in use.
    ConfigInvalid = 1007 "config_invalid" Never None;
    /// A path is outside the folders the daemon reads.
    PathOutside = 1008 "path_outside" Never Some("only transcripts under a configured source can be named");
    /// The agents' socket does not allow this; the person's does.
    Forbidden = 1009 "forbidden" Never Some("the person can do this on the command line or in an editor");

    /// Several ids match the given prefix; the detail lists them.
    Ambiguous = 1010 "ambiguous" Never None;

    /// The thread's transcript belongs to another program, and only that writes it.
    ThreadReadOnly = 1011 "thread_read_only" Never Some("send the history of the answer yourself, or begin a new thread: longhaul continue THREAD");

    /// No such thread.
    ThreadNotFound = 2001 "thread_not_found" Never Some("longhaul thread list shows the known threads");
    /// No item of the thread is ingested yet.
    CheckpointNotFound = 2002 "checkpoint_not_found" Never None;
    /// No such job.
    JobNotFound = 2003 "job_not_found" Never None;
    /// What the request was made from has changed since: the thread, its transcript or the memory.
    StaleBase = 2004 "stale_base" Refresh Some("read it again and make the request from that");
    /// The lease is lost: discard the result and claim again.
    LeaseLost = 2005 "lease_lost" Refresh None;
    /// The state does not allow this; the message says why.
    IllegalTransition = 2006 "illegal_transition" Never None;
    /// Compaction would not shrink the history enough.
    NotWorthwhile = 2007 "not_worthwhile" Refresh Some("nothing needs to be done: the history is short already");
    /// No such handle.
    HandleNotFound = 2009 "handle_not_found" Never Some("handles are in the receipt of a compaction and in its view");
    /// No such compaction.
    CompactionNotFound = 2010 "compaction_not_found" Never Some("longhaul compaction list shows the known ones");
    /// The bytes behind a handle have changed, or the transcript is gone.
    SourceChanged = 2011 "source_changed" Never Some("the transcript was rewritten or removed by its own program, and the archive does not have it");

    /// The archive has nothing of the thread.
    NotArchived = 2012 "not_archived" Never Some("longhaul archive list shows what is archived, longhaul archive status the limits");
    /// The file exists already and is not overwritten.
    FileExists = 2013 "file_exists" Never Some("name another file, or move that one away");
    /// The archived text of the thread is damaged: what is behind the damage cannot be read, and the thread not restored.
    ArchiveDamaged = 2014 "archive_damaged" Never Some("put the transcript back from a backup, then longhaul archive verify repairs the archive; items before the damage can still be expanded; longhaul archive forget gives the thread up");
    /// No such pin or drop.
    ChoiceNotFound = 2015 "choice_not_found" Never Some("longhaul pin --list shows the pins and drops of a thread");

    /// The store is busy: its writer, an index that is still opened, a locked file, or the thread's other updates.
    StoreBusy = 3001 "store_busy" Backoff None;
    /// The transcript is not ingested up to the requested position, or cannot be read.
    IngestBehind = 3002 "ingest_behind" Backoff None;
    /// The model cannot be reached.
    ModelUnavailable = 3003 "model_unavailable" Backoff None;
    /// The model's provider asks to wait.
    ModelRateLimited = 3004 "model_rate_limited" Backoff None;
    /// The request's own time limit ran out.
    DeadlineExceeded = 3005 "deadline_exceeded" Backoff None;
    /// Codex has the thread open.
    ThreadBusy = 3007 "thread_busy" Backoff Some("close the session in its agent, then run it again; another agent can continue it meanwhile");
    /// The daemon is stopping, or is replacing a damaged database.
    Draining = 3006 "draining" Reconnect Some("connect again: the next daemon starts on the first connection");

    /// The model's answer has the wrong shape or size.
    ModelOutputInvalid = 4001 "model_output_invalid" Never None;

    /// The database is damaged.
    StoreCorrupt = 5001 "store_corrupt" Never Some("longhaul doctor says what to do");
    /// No space is left on the disk.
    DiskFull = 5002 "disk_full" Never Some("free some space; nothing that was stored is lost");
    /// The database was written by a newer daemon.
    SchemaTooNew = 5003 "schema_too_new" Never Some("start the newer longhauld, or move the state folder away");
    /// The state folder or the database was removed under the daemon: the request is not stored, and the daemon ends.
    StateLost = 5005 "state_lost" Reconnect Some("start the daemon again with longhaul up: it reads the transcripts anew");
    /// The disk failed to read or write.
    DiskFailed = 5006 "disk_failed" Backoff Some("try again; if it stays so, look at the disk's health and the system's journal");
    /// A file or folder cannot be read or written; the message names it.
    PermissionDenied = 5004 "permission_denied" Never None;
}

impl ErrorKind {
    /// The kind of a number; [`ErrorKind::Unrecognized`] when no row has it.
    #[must_use]
    pub fn from_code(code: i32) -> Self {
        Self::find(|kind| kind.code() == code)
    }

    /// The kind of a name; [`ErrorKind::Unrecognized`] when no row has it.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        Self::find(|kind| kind.name() == name)
    }

    fn find(wanted: impl Fn(Self) -> bool) -> Self {
        ERROR_KINDS.iter().copied().find(|kind| wanted(*kind)).unwrap_or(Self::Unrecognized)
    }
}

impl Serialize for ErrorKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for ErrorKind {
    /// Never refuses a name: a client must be able to read the errors of a newer daemon.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from_name(&String::deserialize(deserializer)?))
    }
}

impl JsonSchema for ErrorKind {
    fn schema_name() -> Cow<'static, str> {
        "ErrorKind".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<_> = ERROR_KINDS.iter().map(|kind| kind.name()).collect();
        json_schema!({ "type": "string", "description": "A row of the error table.", "examples": names })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn numbers_and_names_are_unique_and_found_again() {
        let codes: BTreeSet<_> = ERROR_KINDS.iter().map(|kind| kind.code()).collect();
        let names: BTreeSet<_> = ERROR_KINDS.iter().map(|kind| kind.name()).collect();
        assert_eq!((codes.len(), names.len()), (ERROR_KINDS.len(), ERROR_KINDS.len()));
        for kind in ERROR_KINDS {
            assert_eq!(ErrorKind::from_code(kind.code()), *kind);
            assert_eq!(ErrorKind::from_name(kind.name()), *kind);
        }
        assert_eq!(ErrorKind::from_code(0), ErrorKind::Unrecognized);
    }
}
