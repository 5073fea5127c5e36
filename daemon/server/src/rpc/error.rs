//! What a handler answers when it cannot answer: outside a code and a message, inside the cause.
//!
//! The cause may hold paths, system texts or a query and has no way onto the wire: [`Failure`] has no
//! `Display`. It is logged, whole and once, where the failure is answered.

use std::error::Error;

use jsonrpsee::types::ErrorObjectOwned;
use longhaul_protocol::{ErrorKind, WireError};
use serde_json::Value;

use crate::socket::dispatch::CallContext;

/// A request that failed.
#[derive(Debug)]
pub struct Failure {
    // Boxed: every handler's result carries it.
    error: Box<WireError>,
    cause: Option<Box<dyn Error + Send + Sync>>,
}

impl Failure {
    /// A failure of a kind; `message` goes out, so it holds no transcript text and no secret.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { error: Box::new(WireError::new(kind, message)), cause: None }
    }

    /// A defect of ours, with what is known about it.
    #[must_use]
    pub fn internal(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(ErrorKind::Internal, "a defect of the daemon").because(cause)
    }

    /// Replaces the kind's own hint.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { error: Box::new(self.error.with_hint(hint)), ..self }
    }

    /// Adds the facts of this case, which go out.
    #[must_use]
    pub fn with_detail(self, detail: Value) -> Self {
        Self { error: Box::new(self.error.with_detail(detail)), ..self }
    }

    /// Adds the cause, which stays inside.
    #[must_use]
    pub fn because(self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { cause: Some(cause.into()), ..self }
    }

    /// The kind that goes out.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.error.kind()
    }

    /// Turns the failure into what goes out, and logs what does not.
    #[must_use]
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
        ErrorObjectOwned::owned(self.error.code, self.error.message, self.error.data)
    }
}

/// An error and what it was caused by, in one line.
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
