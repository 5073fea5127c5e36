//! What is asked of a language model and what it answers, in the words of each provider.
//!
//! Everything here is bytes to values and back: what a request's body is, what a stream of answer
//! bytes means, which failure is worth another try and when. Who sends the bytes, waits and counts
//! the cost is the shell's.
//!
//! History items pass through byte for byte where a provider takes them in their own form
//! ([`Wire::Responses`]); for the others they are told as plain turns ([`turns`]), since those
//! providers refuse calls of tools that a request does not offer.

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

/// The forms in which providers are spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    /// OpenAI's Responses API: history items as they are.
    Responses,
    /// Chat Completions: OpenAI's older form, spoken by nearly every local server.
    Chat,
    /// Anthropic's Messages API.
    Messages,
}

impl Wire {
    /// Path of the request below the provider's base URL.
    #[must_use]
    pub fn path(self, endpoint: Endpoint) -> &'static str {
        match (self, endpoint) {
            (Self::Responses, Endpoint::Answer) => "responses",
            (Self::Responses, Endpoint::Compact) => "responses/compact",
            (Self::Chat, _) => "chat/completions",
            (Self::Messages, _) => "messages",
        }
    }

    /// Body of the request, as JSON.
    #[must_use]
    pub fn body(self, ask: &Ask<'_>) -> Vec<u8> {
        match self {
            Self::Responses => responses::body(ask),
            Self::Chat => chat::body(ask),
            Self::Messages => messages::body(ask),
        }
    }
}
