//! Handlers for the methods of the protocol, by namespace, each with the services it needs.

use std::sync::Arc;

use jsonrpsee::Methods;
use longhaul_protocol::{self as wire, Method};

use crate::service::{Deps, Services};

mod agent_params;
mod archive;
mod checkpoint;
mod compaction;
mod context;
mod convert;
mod cursor;
mod daemon;
pub mod error;
mod event;
mod history;
mod job;
mod memory;
mod message_history;
mod params;
mod policy;
mod references;
mod search;
mod table;
mod texts;
mod thread;

pub use table::{Table, TableError};

/// Methods whose answers may have megabytes. Each takes only milliseconds, so calls of them can queue for their turn.
pub const LARGE: &[&str] = &[
    wire::checkpoint::CheckpointGet::NAME,
    wire::compaction::CompactionGet::NAME,
    wire::context::Normalize::NAME,
    wire::context::Truncate::NAME,
    wire::history::Expand::NAME,
    wire::history::HistoryGet::NAME,
];

pub fn table(services: &Services, deps: &Deps) -> Result<Methods, TableError> {
    let Deps { config, events, counters, shutdown, .. } = deps;
    let stored = (services.ingest.clone(), services.keeping.clone());
    let mut table = Table::new(stored, services.projects.clone());
    let (contexts, texts) = (&services.contexts, &services.texts);
    let status = (&services.status, contexts);
    daemon::register(&mut table, status, &services.reload, counters, shutdown)?;
    event::register(&mut table, events)?;
    thread::register(&mut table, &services.threads, &services.contexts)?;
    thread::continuation::register(&mut table, &services.continuations)?;
    thread::write::register(&mut table, &services.recordings)?;
    search::register(&mut table, &services.searcher)?;
    archive::register(&mut table, &services.archive)?;
    history::register(&mut table, &services.handle_reader, &services.histories)?;
    compaction::register(&mut table, &services.compaction, contexts, texts)?;
    checkpoint::register(&mut table, &services.checkpoints, &services.choices)?;
    thread::bill::register(&mut table, contexts)?;
    context::register(&mut table, contexts, &services.settings_diffs)?;
    let jobs = Arc::new(services.jobs.clone());
    job::register(&mut table, &jobs, &services.job_states, &services.workers)?;
    memory::register(&mut table, &services.memory, config)?;
    message_history::register(&mut table, &services.prompts)?;
    policy::register(&mut table, &services.policy, texts, config)?;
    table.finish()
}

#[cfg(test)]
mod tests;
