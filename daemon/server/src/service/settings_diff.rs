//! Compares the settings of a thread's next turn with those its model last saw.
//!
//! The transcript records settings by name; project instructions and memory are only in the history itself. A
//! caller that wants those compared need not read them: this module reads them as they are now, and as they last
//! appeared in the visible history.

use std::path::PathBuf;
use std::sync::Arc;

use longhaul_core::context::diff::{OptIn, ShownDocuments};
use longhaul_core::context::reference::Settings;
use longhaul_core::fold::{Fold, Source};

use super::error::ServiceError;
use super::history::{Histories, HistoryQuery, Position};
use super::memory::MemoryReader;
use super::snapshot::Snapshots;
use crate::config::Live;
use crate::project_instructions;

/// Bytes of the history read at a time.
const PAGE_BYTES: u64 = 4 << 20;

#[derive(Debug)]
pub struct SettingsPair {
    /// The settings the model last saw; `None` if it must get all of them.
    pub reference: Option<Settings>,
    pub current: Settings,
}

pub struct SettingsDiffs {
    pub(super) snapshots: Arc<Snapshots>,
    pub(super) histories: Arc<Histories>,
    pub(super) memory: Arc<MemoryReader>,
    pub(super) config: Live,
}

impl SettingsDiffs {
    /// Pairs `current` with the settings the model last saw. Requested documents that `current` omits are read as
    /// they are now.
    pub async fn compared(
        &self,
        thread_id: &str,
        mut current: Settings,
        also: OptIn,
    ) -> Result<SettingsPair, ServiceError> {
        let fold = self.snapshots.of(thread_id, None).await?.fold;
        let cwd = folder_of(&fold, &current);
        let reads_agents_md = fold.head().source.spec().reads_agents_md;
        if also.agents_md && current.agents_md.is_none() && reads_agents_md {
            current.agents_md = self.project_instructions(cwd.clone()).await?;
        }
        if also.memory && current.memory.is_none() {
            let text = self.memory.summary(cwd, None, false).await?.text.0;
            current.memory = Some(text).filter(|text| !text.trim().is_empty());
        }
        for text in [&mut current.agents_md, &mut current.memory] {
            *text = text.take().map(|text| text.trim_end().to_owned());
        }
        let mut reference =
            fold.reference().map(|shown_documents| Settings::of_turn(shown_documents, &current));
        if let Some(reference) = &mut reference
            && (also.agents_md || also.memory)
        {
            let shown_documents = self.shown_documents(thread_id).await?;
            (reference.agents_md, reference.memory) =
                (shown_documents.agents_md, shown_documents.memory);
        }
        Ok(SettingsPair { reference, current })
    }

    async fn project_instructions(
        &self,
        cwd: Option<String>,
    ) -> Result<Option<String>, ServiceError> {
        let Some(cwd) = cwd.map(PathBuf::from).filter(|cwd| cwd.is_absolute()) else {
            return Ok(None);
        };
        let home = self.config.now().home(Source::Codex).to_owned();
        let read = move || project_instructions::read(&home, &cwd);
        Ok(tokio::task::spawn_blocking(read).await?)
    }

    /// The documents as they last appeared in the visible history.
    async fn shown_documents(&self, thread_id: &str) -> Result<ShownDocuments, ServiceError> {
        let mut shown_documents = ShownDocuments::default();
        let mut from = Some(Position::default());
        while let Some(position) = from {
            let query = HistoryQuery::as_is(thread_id, None, PAGE_BYTES);
            let page = self.histories.visible(HistoryQuery { from: position, ..query }).await?;
            page.items.iter().for_each(|item| shown_documents.read(item.get()));
            from = page.next;
        }
        Ok(shown_documents)
    }
}

/// The folder of the next turn: from its settings, else from the thread.
fn folder_of(fold: &Fold, current: &Settings) -> Option<String> {
    let place = current.environment.as_ref().and_then(|environment| environment.places.first());
    place.map(|place| place.cwd.clone()).or_else(|| fold.checkpoint().cwd.clone())
}
