//! Reads everything that memory is built from.

use longhaul_core::memory::agent::Baseline;
use longhaul_core::memory::consolidate::{
    Bounds, Consolidation, Exclusions, ExtractedThread, Inputs, Note, consolidate,
};
use longhaul_core::memory::edits::Edits;
use longhaul_core::memory::{Engine, place};
use longhaul_store::{
    CurationTable, Exclusion, ExtractionRow, ExtractionTable, NoteRow, NoteTable,
};

use crate::config::Live;
use crate::service::error::ServiceError;

/// Maximum extractions for one consolidation to choose from.
const EXTRACTIONS_MAX: u32 = 4_096;

pub struct SourceReader {
    pub(in crate::service) extractions: ExtractionTable,
    pub(in crate::service) notes: NoteTable,
    pub(in crate::service) curation: CurationTable,
    pub(in crate::service) config: Live,
}

impl SourceReader {
    pub(super) async fn read(&self) -> Result<MemorySources, ServiceError> {
        let settings = self.config.now().memory.clone();
        let takes_outside = !settings.rules().excludes_outside;
        let mut threads = self.extractions.list(EXTRACTIONS_MAX).await?;
        threads.retain(|row| {
            takes_outside || row.memory.as_ref().is_none_or(|memory| !memory.reached_outside)
        });
        Ok(MemorySources {
            threads,
            notes: self.notes.list().await?,
            exclusions: self.notes.exclusions().await?,
            bounds: settings.bounds(),
            engine: *settings.engine,
        })
    }

    /// What the agent last saw and published, if a model edits the files.
    pub(super) async fn agent_baseline(&self) -> Result<Option<Baseline>, ServiceError> {
        if *self.config.now().memory.engine != Engine::Model {
            return Ok(None);
        }
        let row = self.curation.get().await?;
        let baseline = row.and_then(|row| row.baseline);
        // A baseline of another version does not parse: the agent then gets everything.
        Ok(baseline.and_then(|json| serde_json::from_str(&json).ok()))
    }

    /// Deletes the wording of models, which may contain the text to forget.
    pub(super) async fn purge_baseline(&self) -> Result<(), ServiceError> {
        Ok(self.curation.purge().await?)
    }
}

/// Everything that memory is built from.
pub(super) struct MemorySources {
    pub(super) threads: Vec<ExtractionRow>,
    pub(super) notes: Vec<NoteRow>,
    pub(super) exclusions: Vec<Exclusion>,
    pub(super) bounds: Bounds,
    pub(super) engine: Engine,
}

impl MemorySources {
    /// What the rules make of it.
    pub(super) fn consolidated(&self, edits: &Edits, now_ms: i64) -> Consolidation {
        let bounds = self.bounds;
        let threads: Vec<ExtractedThread<'_>> = self
            .threads
            .iter()
            .filter_map(|row| {
                let memory = row.memory.as_ref()?;
                Some(ExtractedThread {
                    memory,
                    uses: row.uses,
                    last_used_ms: last_used(row, &bounds, now_ms),
                })
            })
            .collect();
        let note = |NoteRow { note_id, project, at_ms, text, origin }| Note {
            id: note_id,
            text,
            origin,
            project: project.as_deref().map(place::project),
            at_ms,
        };
        let notes: Vec<Note> = self.notes.iter().cloned().map(note).collect();
        let mut exclusions = Exclusions::default();
        for exclusion in self.exclusions.iter().cloned() {
            match exclusion {
                Exclusion::Thread(id) => exclusions.threads.insert(id),
                Exclusion::Project(project) => exclusions.projects.insert(place::project(&project)),
                Exclusion::Entry(id) => exclusions.entries.insert(id),
                Exclusion::Note(_) => false,
            };
        }
        let inputs = Inputs { threads: &threads, notes: &notes, edits, exclusions: &exclusions };
        consolidate(&inputs, &bounds, now_ms)
    }
}

/// When a thread was last used. An old thread that a person had extracted is kept as long as unused ones, and ranks
/// below them.
fn last_used(row: &ExtractionRow, bounds: &Bounds, now_ms: i64) -> Option<i64> {
    let since_ms = now_ms.saturating_sub(bounds.max_unused_ms);
    let updated_ms = row.memory.as_ref().map_or(0, |memory| memory.updated_at_ms);
    let is_old = updated_ms.max(row.last_used_ms.unwrap_or(0)) < since_ms;
    let is_fresh = row.extracted_at_ms >= since_ms;
    if is_old && is_fresh { Some(since_ms) } else { row.last_used_ms }
}
