//! Errors on the wire: one table, and the shape of `error`.
//!
//! A caller branches on [`Retry`] first and on [`ErrorKind`] if it knows it, never on text. The thousands of
//! our own numbers say *who must act*: 1xxx the caller changes the request, 2xxx the state is not what the
//! caller thought, 3xxx the same request works later, 4xxx the model failed, 5xxx a person must act.
//! Negative numbers keep their meaning in JSON-RPC and jsonrpsee.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with_macros::skip_serializing_none;

mod table;

pub use table::{ERROR_KINDS, ErrorKind};

/// What a caller should do with a rejected request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Retry {
    /// The same request will fail again.
    Never,
    /// Read the state again and make a new request from it.
    Refresh,
    /// The same request may work later: wait, longer each time, or as `retry_after_ms` says.
    Backoff,
    /// Open a new connection and send the same request there.
    Reconnect,
}

/// `error.data`: what a program needs to react, and a hint for a person.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorData {
    /// The row of the error table. A kind of a newer daemon reads as [`ErrorKind::Unrecognized`].
    pub kind: ErrorKind,
    /// What to do next; valid even if the kind is unknown.
    pub retry: Retry,
    /// One sentence for a person: what to do about it.
    pub hint: Option<String>,
    /// Milliseconds to wait before the same request is worth sending, with [`Retry::Backoff`].
    pub retry_after_ms: Option<u64>,
    /// Facts of this case (the field, the limit and its value, the current seq …); the shape depends on the kind.
    pub detail: Option<Value>,
    /// Identifies the request in the daemon's log.
    pub request_id: Option<String>,
}

/// The `error` member of a JSON-RPC answer.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WireError {
    /// The number of the error table.
    pub code: i32,
    /// What went wrong, without transcript text or secrets.
    pub message: String,
    /// Present on every error of the daemon; another server may omit it.
    pub data: Option<ErrorData>,
}

impl WireError {
    /// An error of a kind, with the kind's own retry class and hint.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let data = ErrorData {
            kind,
            retry: kind.retry(),
            hint: kind.default_hint().map(str::to_owned),
            retry_after_ms: None,
            detail: None,
            request_id: None,
        };
        Self { code: kind.code(), message: message.into(), data: Some(data) }
    }

    /// Replaces the kind's own hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        if let Some(data) = &mut self.data {
            data.hint = Some(hint.into());
        }
        self
    }

    /// Adds the facts of this case.
    #[must_use]
    pub fn with_detail(mut self, detail: Value) -> Self {
        if let Some(data) = &mut self.data {
            data.detail = Some(detail);
        }
        self
    }

    /// The kind, by `data` or else by the number.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match &self.data {
            Some(data) if data.kind != ErrorKind::Unrecognized => data.kind,
            _ => ErrorKind::from_code(self.code),
        }
    }

    /// What to do next: what the answer says, else what the kind says.
    #[must_use]
    pub fn retry(&self) -> Retry {
        self.data.as_ref().map_or_else(|| self.kind().retry(), |data| data.retry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_a_newer_daemon_is_read_by_its_retry_class() {
        let newer =
            r#"{"code":3999,"message":"m","data":{"kind":"moon_phase","retry":"backoff","new":1}}"#;
        let error: WireError = serde_json::from_str(newer).unwrap();
        assert_eq!((error.kind(), error.retry()), (ErrorKind::Unrecognized, Retry::Backoff));
    }

    #[test]
    fn a_bare_error_is_read_by_its_number() {
        let error: WireError = serde_json::from_str(r#"{"code":2001,"message":"m"}"#).unwrap();
        assert_eq!((error.kind(), error.retry()), (ErrorKind::ThreadNotFound, Retry::Never));
    }

    #[test]
    fn an_error_says_what_its_kind_says_unless_told_otherwise() {
        let error = WireError::new(ErrorKind::StoreBusy, "busy");
        assert_eq!((error.code, error.retry()), (3001, Retry::Backoff));
        let error =
            error.with_hint("wait a minute").with_detail(serde_json::json!({"waited_ms": 5}));
        let data = error.data.unwrap();
        assert_eq!(data.hint.as_deref(), Some("wait a minute"));
        assert_eq!(data.detail.unwrap()["waited_ms"], 5);
    }
}
