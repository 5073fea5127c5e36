//! The use-cases behind the methods, and what they work with.
//!
//! [`Deps`] is what every part of the shell may have: configuration, time, events, the switch that stops
//! the daemon. [`Services`] is what method handlers get.

use std::path::PathBuf;
use std::sync::Arc;

use longhaul_protocol::daemon::{IngestState, IngestStatus, SourceStatus, StoreStatus};
use tokio::sync::Semaphore;

use crate::clock::Clock;
use crate::config::Config;
use crate::events::EventHub;
use crate::shutdown::Shutdown;
use crate::socket::link::Counters;

/// Handles every part of the shell may have; clones are the same handles.
#[derive(Debug, Clone)]
pub struct Deps {
    /// The values in force.
    pub config: Arc<Config>,
    /// Time and ids.
    pub clock: Clock,
    /// Where to tell what happened.
    pub events: EventHub,
    /// The switch that stops the daemon.
    pub shutdown: Shutdown,
    /// Counts of the socket server.
    pub counters: Arc<Counters>,
}

impl Deps {
    /// The handles of one daemon.
    #[must_use]
    pub fn new(config: Config, clock: Clock) -> Self {
        Self {
            config: Arc::new(config),
            events: EventHub::new(clock.clone()),
            clock,
            shutdown: Shutdown::default(),
            counters: Arc::default(),
        }
    }
}

/// This run of the daemon.
#[derive(Debug, Clone)]
pub struct Instance {
    /// Differs for each start.
    pub id: String,
    /// When it started, Unix milliseconds.
    pub started_at: i64,
    /// Its process.
    pub pid: u32,
    /// Where clients find it.
    pub socket: PathBuf,
}

/// What method handlers work with.
#[derive(Debug)]
pub struct Services {
    /// The shell's handles.
    pub deps: Deps,
    /// This run of the daemon.
    pub instance: Instance,
    /// Permits for work that keeps a processor busy; see `rpc::Table::on_blocking`.
    pub blocking: Arc<Semaphore>,
}

/// Calls that may keep a thread of the blocking pool busy at the same time.
///
/// # Source
/// Chosen: more than the processors of a laptop, fewer than the pool's threads, so that the store and
/// files always find one.
const BLOCKING_CALLS_MAX: usize = 4;

impl Services {
    /// The services of one daemon that is found at `socket`.
    #[must_use]
    pub fn new(deps: Deps, socket: PathBuf) -> Self {
        let instance = Instance {
            id: deps.clock.new_id(),
            started_at: deps.clock.now_ms(),
            pid: std::process::id(),
            socket,
        };
        Self { deps, instance, blocking: Arc::new(Semaphore::new(BLOCKING_CALLS_MAX)) }
    }

    /// The database, for `daemon/status`.
    #[must_use]
    pub fn store_status(&self) -> StoreStatus {
        let path = self.deps.config.state_dir.join("longhaul.db");
        StoreStatus { path: path.display().to_string(), schema_version: 0, rebuilt_from: None }
    }

    /// The folders of transcripts, for `daemon/status`; none is read yet.
    #[must_use]
    pub fn source_status(&self) -> Vec<SourceStatus> {
        Vec::new()
    }

    /// How far the transcripts are read, for `daemon/status`.
    #[must_use]
    pub fn ingest_status(&self) -> IngestStatus {
        IngestStatus {
            state: IngestState::Idle,
            queued_files: 0,
            bytes_done: 0,
            bytes_total: 0,
            last_scan_at: None,
            lines: 0,
            malformed: 0,
            oversized: 0,
            unknown: 0,
            errors: Vec::new(),
        }
    }
}
