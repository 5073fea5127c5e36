//! A bare socket server with the test's own method table.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use jsonrpsee::Methods;
use longhaul_daemon::clock::Clock;
use longhaul_daemon::peer::{Caller, Counters};
use longhaul_daemon::socket::bind::BoundSocket;
use longhaul_daemon::socket::{Bounds, Server, accept};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{Client, soon};

/// A socket server with the test's own method table.
pub struct Rig {
    pub counters: Arc<Counters>,
    pub clock: Clock,
    pub draining: CancellationToken,
    pub socket: PathBuf,
    _home: TempDir,
    task: JoinHandle<std::io::Result<()>>,
}

impl Rig {
    pub fn start(methods: impl Into<Methods>, bounds: Bounds) -> Self {
        Self::start_for(methods, bounds, None)
    }

    /// Serves processes of the user `uid`, or of the test's own.
    pub fn start_for(methods: impl Into<Methods>, bounds: Bounds, uid: Option<u32>) -> Self {
        let home = tempfile::tempdir().unwrap();
        let socket = home.path().join("run/v1.sock");
        let bound = BoundSocket::bind(&socket).unwrap();
        let (counters, clock) = (Arc::<Counters>::default(), Clock::manual(0));
        let mut server = Server::new(methods.into(), bounds, counters.clone(), clock.clone());
        if let Some(uid) = uid {
            server = server.for_uid(uid);
        }
        let draining = CancellationToken::new();
        let accept = accept::serve((bound, Caller::Person), Arc::new(server), draining.clone());
        let task = tokio::spawn(async move { accept.await.map(drop) });
        Self { counters, clock, draining, socket, _home: home, task }
    }

    pub async fn connect(&self) -> Client {
        Client::connect(&self.socket).await
    }

    pub fn panics(&self) -> u64 {
        self.counters.panics.load(Ordering::Relaxed)
    }

    pub fn in_flight(&self) -> u64 {
        self.counters.in_flight.load(Ordering::Relaxed)
    }

    pub fn connections(&self) -> u64 {
        self.counters.connections.load(Ordering::Relaxed)
    }

    pub async fn ended(self) {
        soon("the server's end", self.task).await.unwrap().unwrap();
    }
}
