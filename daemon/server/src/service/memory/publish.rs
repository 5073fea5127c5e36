//! The job `consolidate`: builds the files of a new generation from all extractions.

use std::sync::Arc;

use longhaul_core::digest::Digest128;
use longhaul_core::memory::agent::{
    Baseline, CheckInputs, carry_over, removed_texts, without_dropped,
};
use longhaul_core::memory::consolidate::{
    Bounds, Consolidation, Exclusions, ExtractedThread, Handbook, Inputs, Note, consolidate,
};
use longhaul_core::memory::edits::Edits;
use longhaul_core::memory::{Engine, Files, place};
use longhaul_core::redact::redact;
use longhaul_protocol::event::EventKind;
use longhaul_store::{
    CurationTable, Exclusion, ExtractionRow, ExtractionTable, Generation, GenerationTable,
    NewGeneration, NoteRow, NoteTable, Store,
};
use serde_json::json;
use tokio::sync::{Mutex, MutexGuard, watch};

use super::baseline;
use super::extract::EXTRACT_VERSION;
use super::folder::Folder;
use super::passages::passages;
use super::publications::Publications;
use crate::clock::Clock;
use crate::config::Live;
use crate::events::EventHub;
use crate::jobs::{Jobs, Owner};
use crate::service::error::ServiceError;

/// Maximum extractions for one consolidation to choose from.
const EXTRACTIONS_MAX: u32 = 4_096;

const DAY_MS: i64 = 86_400_000;

/// Whether to delete older generations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Purge {
    /// Keep the previous generation as usual.
    No,
    /// Delete them, because they contain text to forget; also drop the person's version of this file.
    Yes(Option<String>),
}

/// The state before a publication.
pub(super) struct Base {
    /// Number of the newest generation, 0 before the first.
    pub(super) number: u64,
    pub(super) input: String,
    pub(super) files: Files,
    /// Its files with the person's changes.
    pub(super) found: Files,
    pub(super) edits: Edits,
}

/// Builds memory from everything known and publishes it.
pub struct Publisher {
    publications: Arc<Publications>,
    extractions: ExtractionTable,
    notes: NoteTable,
    generations: GenerationTable,
    curation: CurationTable,
    jobs: Jobs,
    config: Live,
    clock: Clock,
    events: EventHub,
    /// Locked during a publication.
    making: Mutex<()>,
    /// Notified when something is to be forgotten; work on older files stops.
    purged: watch::Sender<()>,
}

impl Publisher {
    pub fn new(
        (publications, Store { extractions, notes, generations, curation, .. }): (
            Arc<Publications>,
            Store,
        ),
        jobs: Jobs,
        config: Live,
        clock: Clock,
        events: EventHub,
    ) -> Self {
        let (making, (purged, _)) = (Mutex::new(()), watch::channel(()));
        Self {
            publications,
            extractions,
            notes,
            generations,
            curation,
            jobs,
            config,
            clock,
            events,
            making,
            purged,
        }
    }

    /// Locks out other publications.
    pub(super) async fn lock(&self) -> MutexGuard<'_, ()> {
        self.making.lock().await
    }

    /// Changes when something is to be forgotten.
    pub(super) fn purges(&self) -> watch::Receiver<()> {
        self.purged.subscribe()
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

    /// Restores the folder from the store, for example after a crash.
    pub async fn settle(&self) -> Result<(), ServiceError> {
        let _making = self.making.lock().await;
        let generations = self.generations.newest().await?;
        let kept: Vec<u64> = generations.iter().map(|generation| generation.generation).collect();
        let newest = generations.into_iter().next();
        let settling = move |folder: &Folder| {
            newest.map_or(Ok(()), |newest| settle(folder, &newest))?;
            folder.sweep(&kept);
            Ok(())
        };
        self.publications.in_folder(settling).await
    }

    /// Publishes what is known now; returns the current generation's number, and whether it is new.
    ///
    /// # Errors
    /// If it fails, the previous generation stays current.
    pub(super) async fn publish(
        &self,
        purge: Purge,
        owner: Option<&Owner>,
    ) -> Result<(u64, bool), ServiceError> {
        let _making = self.making.lock().await;
        let now_ms = self.clock.steady_ms();
        let mut base = self.base(now_ms).await?;
        if let Purge::Yes(Some(path)) = &purge {
            base.edits.files.remove(path);
        }
        if purge != Purge::No {
            // The agent's wording may contain the text to forget.
            self.curation.purge_baseline().await?;
            self.purged.send_replace(());
        }
        let sources = self.sources().await?;
        let baseline = self.agent_baseline().await?;
        let engine = *self.config.now().memory.engine;
        let summed = json!([
            sources.threads.iter().map(input_of).collect::<Vec<_>>(),
            sources.notes.iter().map(|note| (&note.note_id, note.origin)).collect::<Vec<_>>(),
            format!("{:?} {:?}", sources.exclusions, sources.bounds),
            base.edits,
            [u64::from(EXTRACT_VERSION), u64::from(Handbook::VERSION)],
            now_ms.div_euclid(DAY_MS),
            engine,
        ]);
        let input = Digest128::of(summed.to_string().as_bytes()).to_string();
        if input == base.input && purge == Purge::No {
            return Ok((base.number, false));
        }
        let edits = base.edits.clone();
        let made = tokio::task::spawn_blocking(move || {
            let mut made = consolidated(&sources, &edits, now_ms);
            if let Some(baseline) = baseline {
                let (draft, book) = (&made.files, &made.handbook);
                let summary_tokens = sources.bounds.summary_tokens;
                let files = carry_over(&baseline, CheckInputs { draft, book, summary_tokens });
                made.files = edits.apply(files);
                made.handbook = without_dropped(made.handbook, &made.files);
            }
            made
        });
        let made = made.await?;
        let is_same = made.files == base.files && base.found == base.files;
        if is_same && purge == Purge::No && base.number > 0 {
            return Ok((base.number, false));
        }
        self.publish_generation((base, input), made, purge, owner).await
    }

    /// Loads everything that memory is built from.
    async fn sources(&self) -> Result<MemorySources, ServiceError> {
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
        })
    }

    /// What the rules make of everything known.
    pub(super) async fn consolidated_by_rules(
        &self,
        edits: &Edits,
    ) -> Result<Consolidation, ServiceError> {
        let (sources, edits) = (self.sources().await?, edits.clone());
        let now_ms = self.clock.steady_ms();
        Ok(tokio::task::spawn_blocking(move || consolidated(&sources, &edits, now_ms)).await?)
    }

    pub(super) async fn publish_generation(
        &self,
        (base, input): (Base, String),
        made: Consolidation,
        purge: Purge,
        owner: Option<&Owner>,
    ) -> Result<(u64, bool), ServiceError> {
        let number = base.number + 1;
        let generation = Generation {
            generation: number,
            at_ms: self.clock.now_ms(),
            input,
            threads: made.selected.len() as u64,
            handbook: made.handbook.to_json(),
            edits: base.edits,
            files: made.files,
            found: None,
        };
        let passages = passages(&generation.files, &made.handbook, generation.at_ms);
        let files = generation.files.clone();
        let staging =
            self.publications.in_folder(move |folder| folder.stage(number, &files)).await?;
        baseline::commit(&staging, generation.at_ms).await;
        let fence = owner.map(|owner| self.jobs.fence(owner));
        let new = NewGeneration {
            generation: &generation,
            found: &base.found,
            passages: &passages,
            fence: fence.as_ref(),
        };
        if !self.generations.put(new).await? {
            return Err(ServiceError::Busy);
        }
        let is_purge = purge != Purge::No;
        if is_purge {
            self.generations.purge(number).await?;
        }
        let kept = if is_purge { vec![number] } else { vec![base.number, number] };
        let switched = self.publications.in_folder(move |folder| {
            folder.switch(number, &staging)?;
            folder.sweep(&kept);
            Ok(())
        });
        switched.await?;
        let published = self.publications.set(&generation);
        let data = json!({ "generation": number, "threads": published.threads });
        self.events.publish(EventKind::MemoryPublished, data);
        Ok((number, true))
    }

    /// The newest generation with the person's changes to it and to the one before, which may have been open in an
    /// editor when the newest was published.
    pub(super) async fn base(&self, now_ms: i64) -> Result<Base, ServiceError> {
        let mut generations = self.generations.newest().await?.into_iter();
        let Some(newest) = generations.next() else {
            return Ok(Base {
                number: 0,
                input: String::new(),
                files: Files::new(),
                found: Files::new(),
                edits: Edits::default(),
            });
        };
        let before = generations.next();
        let reading = self.publications.in_folder(move |folder| {
            settle(folder, &newest)?;
            let mut edits = newest.edits.clone();
            if let Some(Generation { generation, found: Some(seen), .. }) = before
                && let Some(now) = folder.found(generation)?
            {
                edits.merge(&seen, &redacted(now), now_ms);
            }
            let found = folder.found(newest.generation)?.map(redacted);
            let found = found.unwrap_or_else(|| newest.files.clone());
            edits.merge(&newest.files, &found, now_ms);
            let book = Handbook::read(&newest.handbook).unwrap_or_default();
            for text in removed_texts(&newest.files, &found, &book) {
                edits.take_out("MEMORY.md", text);
            }
            let Generation { generation: number, input, files, .. } = newest;
            Ok(Base { number, input, files, found, edits })
        });
        reading.await
    }
}

fn settle(folder: &Folder, newest: &Generation) -> std::io::Result<()> {
    if folder.of(newest.generation).is_dir() {
        return folder.point_at(newest.generation);
    }
    let staging = folder.stage(newest.generation, &newest.files)?;
    folder.switch(newest.generation, &staging)
}

/// A secret that a person wrote into a file of memory stays there, and is copied nowhere.
fn redacted(files: Files) -> Files {
    let clean = |text: String| redact(&text).text.into_owned();
    files.into_iter().map(|(path, text)| (path, clean(text))).collect()
}

fn input_of(row: &ExtractionRow) -> serde_json::Value {
    json!([row.thread_id, row.next_seq, row.version, row.extracted_at_ms, row.uses])
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

/// Everything that memory is built from.
struct MemorySources {
    threads: Vec<ExtractionRow>,
    notes: Vec<NoteRow>,
    exclusions: Vec<Exclusion>,
    bounds: Bounds,
}

fn consolidated(sources: &MemorySources, edits: &Edits, now_ms: i64) -> Consolidation {
    let bounds = sources.bounds;
    let threads: Vec<ExtractedThread<'_>> = sources
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
    let notes: Vec<Note> = sources.notes.iter().cloned().map(note).collect();
    let mut exclusions = Exclusions::default();
    for exclusion in sources.exclusions.iter().cloned() {
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
