//! Errors in the format that agents get.

use longhaul_client::ClientError;
use longhaul_protocol::Retry;
use rmcp::model::CallToolResult;
use serde::Serialize;
use serde_json::json;

#[derive(Debug, Serialize)]
pub(crate) struct Fault {
    /// A stable name: the daemon's own kinds, and those of the connection.
    kind: String,
    /// What to do: `never`, `refresh`, `reconnect` or `backoff`, as in the daemon's protocol.
    retry: Retry,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl Fault {
    pub(crate) fn new(kind: &str, message: impl Into<String>, hint: &str) -> Self {
        let (kind, message) = (kind.to_owned(), message.into());
        Self { kind, retry: Retry::Never, message, hint: Some(hint.to_owned()) }
    }

    /// As a tool result that the agent can act on.
    pub(crate) fn result(&self) -> CallToolResult {
        CallToolResult::structured_error(json!({ "error": self }))
    }

    pub(crate) fn sentence(&self) -> String {
        let hint = self.hint.as_ref().map_or_else(String::new, |hint| format!(" ({hint})"));
        format!("{}{hint}", self.message)
    }
}

impl From<ClientError> for Fault {
    fn from(error: ClientError) -> Self {
        let kind = match &error {
            ClientError::Refused(wire) => wire.kind().name(),
            ClientError::NotRunning { .. } | ClientError::NoSocket => "daemon_not_running",
            ClientError::Unusable { .. } | ClientError::PathTooLong { .. } => "socket_unusable",
            ClientError::TooOld(_) | ClientError::TooNew(_) => "version_unsupported",
            ClientError::Timeout { .. } => "deadline_exceeded",
            ClientError::TooLarge { .. } => "limit_exceeded",
            _ => "connection_broken",
        };
        let (retry, hint) = (error.retry(), error.hint());
        Self { kind: kind.to_owned(), retry, message: error.to_string(), hint }
    }
}
