//! Requests to language models and their answers in each provider's format.
//!
//! Pure conversions between bytes and values: request bodies, streamed answers, and which failures to retry when.
//! The server sends the bytes, waits, and records the cost.
//!
//! [`WireApi::Responses`] gets history items unchanged. Other APIs get them as plain turns ([`turns`]), since they
//! reject calls of tools that the request does not offer.

pub mod answer;
pub mod ask;
pub mod backoff;
pub mod budget;
mod chat;
pub mod fault;
mod messages;
mod responses;
mod sse;
pub mod turns;

use serde::{Deserialize, Serialize};

pub use answer::{Answer, AnswerReader, Usage};
pub use ask::{Ask, Endpoint, Schema};
pub use fault::{Fault, FaultKind};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WireApi {
    /// OpenAI's Responses API: history items pass unchanged.
    Responses,
    /// Chat Completions: OpenAI's older API, supported by nearly every local server.
    Chat,
    Messages,
}

impl WireApi {
    /// Path of the request below the provider's base URL.
    pub fn path(self, endpoint: Endpoint) -> &'static str {
        match (self, endpoint) {
            (Self::Responses, Endpoint::Answer | Endpoint::StreamedCompact) => "responses",
            (Self::Responses, Endpoint::Compact) => "responses/compact",
            (Self::Chat, _) => "chat/completions",
            (Self::Messages, _) => "messages",
        }
    }

    /// The request body as JSON. The input must be valid for the API.
    pub fn body(self, ask: &Ask<'_>) -> Vec<u8> {
        match self {
            Self::Responses => responses::body(ask),
            Self::Chat => chat::body(ask),
            Self::Messages => messages::body(ask),
        }
    }
}
