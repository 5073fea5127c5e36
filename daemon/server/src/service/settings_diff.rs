//! The settings of a thread's next turn, and those its model was last told.
//!
//! Names of settings stand in the transcript's own records; the project's instructions and memory stand
//! nowhere but in the history itself. Whoever wants them compared, too, need not have read either: they are
//! read here as they are now, and as the visible history told them last.

use std::path::PathBuf;
use std::sync::Arc;

use longhaul_core::context::diff::{OptIn, ShownDocuments};
use longhaul_core::context::reference::Settings;
use longhaul_core::fold::{Fold, Source};

use super::error::ServiceError;
use super::history::{Histories, HistoryQuery, Opaque, Position};
use super::memory::MemoryReader;
use super::snapshot::Snapshots;
use crate::config::Live;
use crate::project_instructions;

/// Bytes of the history that are read at a time.
const PAGE_BYTES: u64 = 4 << 20;

#[derive(Debug)]
pub struct SettingsPair {
    /// What the model was last told; `None` when it has to be told everything.
    pub reference: Option<Settings>,
    /// What holds for the next turn.
    pub current: Settings,
}

/// Compares settings with what a thread's model was last told.
pub struct SettingsDiffs {
    snapshots: Arc<Snapshots>,
    histories: Arc<Histories>,
    memory: Arc<MemoryReader>,
    config: Live,
}

impl SettingsDiffs {
    #[must_use]
    pub fn new(
        snapshots: Arc<Snapshots>,
        histories: Arc<Histories>,
        memory: Arc<MemoryReader>,
        config: Live,
    ) -> Self {
        Self { snapshots, histories, memory, config }
    }

    /// `current` beside what the thread's model was last told. Of what is compared besides the five
    /// dimensions, that which `current` leaves open is filled in as it is now.
    ///
    /// # Errors
    /// There is no such thread, it holds nothing, or reading failed.
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
            let text = self.memory.summary(cwd, None, false).await?.text;
            current.memory = Some(text).filter(|text| !text.trim().is_empty());
        }
        for text in [&mut current.agents_md, &mut current.memory] {
            *text = text.take().map(|text| text.trim_end().to_owned());
        }
        let mut reference = fold.reference().map(|told| Settings::of_turn(told, &current));
        if let Some(reference) = &mut reference
            && (also.agents_md || also.memory)
        {
            let told = self.told(thread_id).await?;
            (reference.agents_md, reference.memory) = (told.agents_md, told.memory);
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

    /// What the visible history told last of that which only its words tell.
    async fn told(&self, thread_id: &str) -> Result<ShownDocuments, ServiceError> {
        let mut told = ShownDocuments::default();
        let mut from = Some(Position::default());
        while let Some(position) = from {
            let query = HistoryQuery {
                thread_id: thread_id.to_owned(),
                as_of: None,
                from: position,
                max_bytes: PAGE_BYTES,
                opaque: Opaque::AsIs,
            };
            let page = self.histories.visible(query).await?;
            page.items.iter().for_each(|item| told.read(item.get()));
            from = page.next;
        }
        Ok(told)
    }
}

/// Where the next turn works: where its settings say, else where the thread did.
fn folder_of(fold: &Fold, current: &Settings) -> Option<String> {
    let place = current.environment.as_ref().and_then(|environment| environment.places.first());
    place.map(|place| place.cwd.clone()).or_else(|| fold.checkpoint().cwd.clone())
}
