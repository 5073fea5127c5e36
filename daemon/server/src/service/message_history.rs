//! `message_history/*`: stores prompts for recall.

use longhaul_core::message_history::Message;
use longhaul_core::redact::redact;
use longhaul_protocol::limit::MESSAGE_BYTES_MAX;

use super::error::ServiceError;
use crate::message_history::{Filter, MessageHistory, Page, PromptEntry};

/// The prompts of all clients, in one file of the daemon next to the agents' own.
#[derive(Debug)]
pub struct Prompts {
    pub(super) history: MessageHistory,
}

impl Prompts {
    /// Stores a redacted prompt; returns its entry, unless prompts are not stored, and the number of secrets.
    ///
    /// # Errors
    /// The text is empty or too long, another process holds the lock, or the file cannot be written.
    pub async fn append(
        &self,
        message: Message,
    ) -> Result<(Option<PromptEntry>, u64), ServiceError> {
        let given = message.text.len();
        if message.text.trim().is_empty() {
            return Err(ServiceError::invalid("text", "must not be empty"));
        }
        if given > MESSAGE_BYTES_MAX {
            let (max, given) = (MESSAGE_BYTES_MAX as u64, given as u64);
            return Err(ServiceError::Limit { limit: "text", max, given });
        }
        let clean = redact(&message.text);
        let hits = u64::from(clean.hits);
        let text = clean.text.into_owned();
        let cwd = message.cwd.map(|cwd| redact(&cwd).text.into_owned());
        let thread_id = message.thread_id.map(|id| redact(&id).text.into_owned());
        let message = Message { text, cwd, thread_id, ..message };
        Ok((self.history.append(message).await?, hits))
    }

    /// Prompts, the newest first.
    pub async fn lookup(&self, filter: Filter) -> Result<Page, ServiceError> {
        Ok(self.history.lookup(filter).await?)
    }
}
