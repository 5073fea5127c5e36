//! `checkpoint/choose`: texts that a person wants in every later view of a thread, or in none.
//!
//! A choice stores its own text, redacted, in the table of accepted updates. It exists nowhere else, so it
//! survives a rebuild from the transcripts. As for updates, the number of the newest update guards the step
//! between judging and storing.

use std::sync::Arc;

use longhaul_core::choice::{self, Choice, ChoiceAction, ChosenItems};
use longhaul_core::compaction::handle::Handle;
use longhaul_core::redact::redact;
use longhaul_core::{limits, text};
use longhaul_store::{UpdateRow, UpdateTable};

use super::error::{ChoiceError, ServiceError};
use super::history::HandleReader;
use super::snapshot::{Snapshots, StoredChoice};
use crate::clock::Clock;

/// Attempts to judge a choice while other updates interfere.
const ATTEMPTS: usize = 4;

/// Maximum bytes of items read for a choice, of which the beginning is kept.
const ITEM_BYTES: u64 = 1 << 20;

#[derive(Debug, Clone)]
pub enum ChoiceSubject {
    Text(String),
    Items(Handle),
}

#[derive(Debug)]
pub struct ChoiceOutcome {
    pub stored: StoredChoice,
    pub already_active: bool,
}

pub struct PersonChoices {
    pub(crate) updates: UpdateTable,
    pub(super) snapshots: Arc<Snapshots>,
    pub(super) handles: Arc<HandleReader>,
    pub(super) clock: Clock,
}

impl PersonChoices {
    /// Pins or drops; a repeated choice is stored once.
    ///
    /// # Errors
    /// [`ChoiceError::Refused`]; those of [`Snapshots::of`] and of a handle.
    pub async fn choose(
        &self,
        thread_id: &str,
        action: ChoiceAction,
        subject: &ChoiceSubject,
    ) -> Result<ChoiceOutcome, ServiceError> {
        let choice = match subject {
            ChoiceSubject::Text(text) => {
                let text = redact(text.trim()).text.into_owned();
                Choice { action, text, items: None }
            }
            ChoiceSubject::Items(handle) => self.of_items(thread_id, action, handle).await?,
        };
        for _ in 0..ATTEMPTS {
            let snapshot = self.snapshots.of(thread_id, None).await?;
            let mut known = snapshot.choices.iter();
            if let Some(stored) = known.find(|stored| stored.choice.is_same(&choice)) {
                self.updates.sync().await?;
                return Ok(ChoiceOutcome { stored: stored.clone(), already_active: true });
            }
            let active = snapshot.fold.checkpoint().requests.active().map(|active| active.seq);
            choice::admit(&choice, &snapshot.semantics.choices, active)
                .map_err(ChoiceError::Refused)?;
            let body =
                serde_json::to_string(&choice).map_err(ServiceError::undecodable("choice"))?;
            let (created_at_ms, seq) = (self.clock.now_ms(), snapshot.seq());
            let row = UpdateRow { update_id: 0, seq, created_at_ms, body };
            let inserted = self.updates.insert(thread_id, snapshot.last_update, &row).await?;
            if let Some(update_id) = inserted {
                let thread_id = thread_id.to_owned();
                let stored = StoredChoice { update_id, thread_id, created_at_ms, choice };
                return Ok(ChoiceOutcome { stored, already_active: false });
            }
        }
        Err(ServiceError::Busy)
    }

    /// The active choices, in the order they were made.
    pub async fn list(&self, thread_id: &str) -> Result<Vec<StoredChoice>, ServiceError> {
        Ok(self.snapshots.of(thread_id, None).await?.choices)
    }

    /// Removes a choice.
    ///
    /// # Errors
    /// [`ChoiceError::NotFound`], [`ChoiceError::Inherited`]; those of [`Snapshots::of`].
    pub async fn remove(&self, thread_id: &str, id: &str) -> Result<StoredChoice, ServiceError> {
        let not_found = || ServiceError::from(ChoiceError::NotFound(id.to_owned()));
        let found = self.list(thread_id).await?.into_iter().find(|stored| stored.choice.id() == id);
        let stored = found.ok_or_else(not_found)?;
        if stored.thread_id != thread_id {
            let StoredChoice { thread_id, choice, .. } = stored;
            return Err(ChoiceError::Inherited { id: choice.id(), thread_id }.into());
        }
        match self.updates.remove(stored.update_id).await? {
            true => Ok(stored),
            false => Err(not_found()),
        }
    }

    async fn of_items(
        &self,
        thread_id: &str,
        action: ChoiceAction,
        handle: &Handle,
    ) -> Result<Choice, ServiceError> {
        if handle.of != thread_id {
            let reason = format!("{handle} does not belong to thread {thread_id}");
            return Err(ServiceError::invalid("handle", reason));
        }
        let found = self.handles.history_items(handle, ITEM_BYTES).await?;
        let whole = choice::text_of(&found.items);
        let whole = redact(&whole).text.into_owned();
        let kept = text::prefix(&whole, limits::CHOICE_BYTES).to_owned();
        let items = ChosenItems {
            handle: handle.to_string(),
            first: handle.first,
            last: handle.last,
            bytes: whole.len() as u64,
        };
        Ok(Choice { action, text: kept, items: Some(items) })
    }
}

#[cfg(test)]
mod tests;
