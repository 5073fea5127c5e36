//! Starts the tasks that read transcripts, and those that follow them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use longhaul_core::thread::Source;
use longhaul_store::{OpenReport, Store};
use tokio::runtime::Handle;

use super::Deps;
use super::archive::ArchiveKeeper;
use super::hints::Hints;
use super::notices::Notices;
use super::search::{FullText, IndexProgress};
use crate::archive::Archive;
use crate::clock::Clock;
use crate::config::Config;
use crate::config::tables::Persistence;
use crate::folder;
use crate::ingest::{Ingest, IngestDeps, IngestEvents as _, Limits, Root};
use crate::message_history::MessageHistory;

/// Starts ingestion, the indexer and the archiver.
pub(super) fn reading(
    deps: &Deps,
    (store, opened): (&Store, &OpenReport),
    own: &Path,
) -> (Arc<Ingest>, Arc<FullText>, Arc<ArchiveKeeper>) {
    let config = deps.config.now();
    let progress = Arc::<IndexProgress>::default();
    let (archive, hints) = (Arc::new(Archive::new(&config.state_dir)), Arc::<Hints>::default());
    let notices = Notices::new(deps.events.clone(), Arc::clone(&progress), Arc::clone(&hints));
    if let Some(moved_to) = &opened.moved_aside {
        notices.store_rebuilt(moved_to);
    }
    // Without this folder, ingestion would watch the folder above it, where every write to the store is an event.
    if let Err(error) = folder::make_synced(own) {
        tracing::warn!(%error, folder = %own.display(), "cannot create the folder of recorded threads");
    }
    let now = deps.clock.clone();
    let ingest = Arc::new(Ingest::start(IngestDeps {
        store: store.clone(),
        roots: roots(&config, own),
        events: Arc::new(notices),
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
        FullText::start(&config.state_dir, store.clone(), ingest.clone(), progress)
    };
    let read = (store.clone(), ingest.clone());
    let (config, clock) = (deps.config.clone(), deps.clock.clone());
    let _entered = archiving.enter();
    let archive = ArchiveKeeper::start((archive, hints), read, config, clock);
    (ingest, Arc::new(full_text), Arc::new(archive))
}

/// The folders to read: those of the enabled agents, and the daemon's own.
fn roots(config: &Config, own: &Path) -> Vec<Root> {
    let mut roots = Vec::new();
    for agent in config.sources.iter().filter(|agent| *agent.enabled) {
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
