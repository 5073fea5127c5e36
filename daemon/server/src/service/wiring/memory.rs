//! The services of `memory/*`.

use std::path::PathBuf;
use std::sync::Arc;

use super::Wiring;
use crate::service::memory::{
    Citations, Curation, CuratorProcess, Extraction, MemoryNotes, MemoryOverview, MemoryReader,
    MemoryRuns, Publications, Publisher, Scanner, SourceReader, ThreadReader, Upkeep,
};

pub struct MemoryServices {
    pub reader: Arc<MemoryReader>,
    pub notes: Arc<MemoryNotes>,
    pub citations: Arc<Citations>,
    pub runs: Arc<MemoryRuns>,
    pub overview: Arc<MemoryOverview>,
    pub extraction: Arc<Extraction>,
    pub publisher: Arc<Publisher>,
    pub publications: Arc<Publications>,
    pub curation: Arc<Curation>,
    pub curator: Arc<CuratorProcess>,
    pub scanner: Arc<Scanner>,
    pub upkeep: Upkeep,
}

impl Wiring {
    /// `socket` is this daemon's socket.
    pub(in crate::service) fn memory(&self, socket: PathBuf) -> MemoryServices {
        let Self { config, clock, store, ingest, jobs, .. } = self;
        let (state_dir, events) = (&config.now().state_dir, self.events.clone());
        let (generations, notes) = (store.generations.clone(), store.notes.clone());
        let publications = Arc::new(Publications::new(generations, notes, state_dir, events));
        let scanner = Arc::new(Scanner {
            threads: store.threads.clone(),
            archive: self.archive.archive().clone(),
            extractions: store.extractions.clone(),
            notes: store.notes.clone(),
            config: config.clone(),
            clock: clock.clone(),
        });
        let citations = Arc::new(Citations {
            uses: store.uses.clone(),
            publications: publications.clone(),
            clock: clock.clone(),
        });
        let publisher = self.publisher(&publications);
        let curation = self.curation(&publisher);
        let program = config.now().program();
        let (of_curator, now) = (jobs.clone(), clock.clone());
        let curator = CuratorProcess::new(curation.clone(), of_curator, &program, socket, now);
        let runs = Arc::new(MemoryRuns {
            scanner: scanner.clone(),
            publications: publications.clone(),
            extractions: store.extractions.clone(),
            ingest: ingest.clone(),
            age: self.age(),
            jobs: jobs.clone(),
            config: config.clone(),
            clock: clock.clone(),
            events: self.events.clone(),
        });
        let upkeep = Upkeep {
            scanner: scanner.clone(),
            runs: runs.clone(),
            ingest: ingest.clone(),
            config: config.clone(),
        };
        MemoryServices {
            reader: Arc::new(MemoryReader {
                generations: store.generations.clone(),
                publications: publications.clone(),
                config: config.clone(),
                clock: clock.clone(),
            }),
            notes: self.notes(&publications, &publisher),
            overview: self.overview(&publications, &scanner),
            extraction: self.extraction(&publications, &citations),
            citations,
            runs,
            publisher,
            publications,
            curation,
            curator: Arc::new(curator),
            scanner,
            upkeep,
        }
    }

    fn publisher(&self, publications: &Arc<Publications>) -> Arc<Publisher> {
        let sources = SourceReader {
            extractions: self.store.extractions.clone(),
            notes: self.store.notes.clone(),
            curation: self.store.curation.clone(),
            config: self.config.clone(),
        };
        let (jobs, clock) = (self.jobs.clone(), self.clock.clone());
        Arc::new(Publisher::new(sources, publications.clone(), jobs, clock))
    }

    fn curation(&self, publisher: &Arc<Publisher>) -> Arc<Curation> {
        let (models, jobs) = (self.models.clone(), self.jobs.clone());
        let (config, clock) = (self.config.clone(), self.clock.clone());
        Arc::new(Curation::new(publisher.clone(), models, jobs, config, clock))
    }

    fn notes(
        &self,
        publications: &Arc<Publications>,
        publisher: &Arc<Publisher>,
    ) -> Arc<MemoryNotes> {
        Arc::new(MemoryNotes {
            threads: self.store.threads.clone(),
            extractions: self.store.extractions.clone(),
            notes: self.store.notes.clone(),
            publications: publications.clone(),
            publisher: publisher.clone(),
            archive: self.archive.clone(),
            clock: self.clock.clone(),
        })
    }

    fn overview(
        &self,
        publications: &Arc<Publications>,
        scanner: &Arc<Scanner>,
    ) -> Arc<MemoryOverview> {
        Arc::new(MemoryOverview {
            extractions: self.store.extractions.clone(),
            notes: self.store.notes.clone(),
            curation: self.store.curation.clone(),
            uses: self.store.uses.clone(),
            jobs: self.jobs.clone(),
            config: self.config.clone(),
            publications: publications.clone(),
            scanner: scanner.clone(),
        })
    }

    fn extraction(
        &self,
        publications: &Arc<Publications>,
        citations: &Arc<Citations>,
    ) -> Arc<Extraction> {
        let Self { store, .. } = self;
        let reader = ThreadReader {
            threads: store.threads.clone(),
            archive: self.archive.archive().clone(),
            publications: publications.clone(),
            extractions: store.extractions.clone(),
            clock: self.clock.clone(),
        };
        Arc::new(Extraction {
            reader,
            extractions: store.extractions.clone(),
            citations: citations.clone(),
            models: self.models.clone(),
            jobs: self.jobs.clone(),
            config: self.config.clone(),
        })
    }
}
