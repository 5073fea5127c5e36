//! Handlers for the methods of the protocol, by namespace, each with the services it needs.

use jsonrpsee::Methods;
use longhaul_protocol::{self as wire, Method};

use crate::service::{Deps, Services};

mod agent_params;
mod answer;
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
    let mut table = Table::new(&services.ingest, &services.daemon.state_check, &services.projects);
    let (contexts, texts) = (&services.context.contexts, &services.texts);
    daemon::register(&mut table, &services.daemon, counters, shutdown)?;
    event::register(&mut table, events)?;
    thread::register(&mut table, &services.thread, contexts)?;
    search::register(&mut table, &services.search.searcher)?;
    archive::register(&mut table, &services.archive)?;
    history::register(&mut table, &services.history)?;
    compaction::register(&mut table, &services.compaction, contexts, texts)?;
    checkpoint::register(&mut table, &services.checkpoint)?;
    context::register(&mut table, &services.context)?;
    job::register(&mut table, &services.job)?;
    memory::register(&mut table, &services.memory)?;
    message_history::register(&mut table, &services.prompts)?;
    policy::register(&mut table, &services.policy, texts, config)?;
    table.finish()
}

#[cfg(test)]
mod tests;
