//! Starts the tasks that read transcripts, and those that follow them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use longhaul_core::thread::Source;
use longhaul_store::{OpenReport, Store};
use tokio::runtime::Handle;

use super::Deps;
use super::age::AgeClock;
use super::archive::{ArchiveKeeper, ArchiveShared, EvictionFacts};
use super::hints::Hints;
use super::ingest_reports::IngestReports;
use super::search::{FullText, IndexProgress};
use crate::archive::Archive;
use crate::clock::Clock;
use crate::config::Config;
use crate::config::tables::Persistence;
use crate::folder;
use crate::ingest::{Ingest, IngestDeps, IngestEvents as _, Limits, Root};
use crate::message_history::MessageHistory;

/// What reads transcripts, and what follows it.
pub(super) struct TranscriptTasks {
    pub(super) ingest: Arc<Ingest>,
    pub(super) full_text: Arc<FullText>,
    pub(super) archive: Arc<ArchiveKeeper>,
}

/// Starts ingestion, the indexer and the archiver. `own` is the folder of recorded threads.
pub(super) fn start(
    deps: &Deps,
    store: &Store,
    opened: &OpenReport,
    own: &Path,
) -> TranscriptTasks {
    let config = deps.config.now();
    let progress = Arc::<IndexProgress>::default();
    let (archive, hints) = (Arc::new(Archive::new(&config.state_dir)), Arc::<Hints>::default());
    let reports = IngestReports {
        events: deps.events.clone(),
        index: Arc::clone(&progress),
        archive: Arc::clone(&hints),
    };
    if let Some(moved_to) = &opened.moved_aside {
        reports.store_rebuilt(moved_to);
    }
    // Without this folder, ingestion would watch the folder above it, where every write to the store is an event.
    if let Err(error) = folder::make_synced(own) {
        tracing::warn!(%error, folder = %own.display(), "cannot create the folder of recorded threads");
    }
    let now = deps.clock.clone();
    let ingest = Arc::new(Ingest::start(IngestDeps {
        store: store.clone(),
        roots: roots(&config, own),
        events: Arc::new(reports),
        archive: Some(Arc::clone(&archive)),
        now_ms: Arc::new(move || now.now_ms()),
        limits: Limits {
            scan_period: Duration::from_secs(*config.ingest.scan_interval_s),
            ..Limits::default()
        },
    }));
    let [indexing, archiving] =
        deps.followers.clone().unwrap_or_else(|| [Handle::current(), Handle::current()]);
    let full_text = {
        let _entered = indexing.enter();
        let (files, pages) = (store.files.clone(), store.pages.clone());
        let readers = (ingest.clone(), Arc::clone(&archive));
        FullText::start(&config.state_dir, files, pages, readers, progress)
    };
    let facts = EvictionFacts {
        age: AgeClock { table: store.age.clone(), clock: deps.clock.clone() },
        compactions: store.compactions.clone(),
        updates: store.updates.clone(),
    };
    let shared = ArchiveShared::new(archive, hints, deps.config.clone(), deps.clock.clone());
    let archive = {
        let _entered = archiving.enter();
        let tables = (store.files.clone(), store.threads.clone());
        ArchiveKeeper::start(shared, tables, facts, ingest.clone())
    };
    TranscriptTasks { ingest, full_text: Arc::new(full_text), archive: Arc::new(archive) }
}

/// The folders to read: those of the enabled agents, and the daemon's own.
fn roots(config: &Config, own: &Path) -> Vec<Root> {
    let mut roots = Vec::new();
    for agent in config.sources.iter().filter(|agent| *agent.table.enabled) {
        roots.extend(Root::of(agent.source, &agent.home));
    }
    roots.push(Root { source: Source::Longhaul, path: own.to_owned(), archived: false });
    roots
}

pub(super) fn messages(config: &Config, clock: &Clock) -> MessageHistory {
    let max_bytes = match *config.message_history.persistence {
        Persistence::SaveAll => Some(*config.message_history.max_bytes),
        Persistence::None => None,
    };
    let codex = config.home(Source::Codex);
    let messages = MessageHistory::new(&config.state_dir, codex, max_bytes, clock.clone());
    messages.sweep();
    messages
}
