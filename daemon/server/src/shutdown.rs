//! The switch that stops the daemon.
//!
//! SIGTERM, SIGINT and `daemon/shutdown` trigger it. `app` drains in this order: notify systemd, close the subscriptions,
//! stop accepting, finish requests in flight, stop the background tasks, unlink the socket. A second signal ends the
//! process at once, because its sender has waited long enough.

use std::sync::{Arc, OnceLock};

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

const EXIT_SECOND_SIGNAL: i32 = 130;

/// A handle on the switch; clones share it.
#[derive(Debug, Clone, Default)]
pub struct Shutdown {
    token: CancellationToken,
    reason: Arc<OnceLock<&'static str>>,
}

impl Shutdown {
    /// Triggers the switch; keeps the first reason.
    pub fn begin(&self, reason: &'static str) {
        if self.reason.set(reason).is_ok() {
            tracing::info!(reason, "stopping");
        }
        self.token.cancel();
    }

    pub fn has_begun(&self) -> bool {
        self.token.is_cancelled()
    }

    pub fn reason(&self) -> &'static str {
        self.reason.get().copied().unwrap_or("running")
    }

    pub async fn wait(&self) {
        self.token.cancelled().await;
    }

    pub fn token(&self) -> CancellationToken {
        self.token.clone()
    }
}

/// Triggers the switch at signals, while it is polled.
///
/// Signals are caught from the call on, not from the first poll: a client that got an answer may send one immediately, and
/// the daemon must drain.
pub fn watch_signals(shutdown: Shutdown) -> impl Future<Output = std::io::Result<()>> {
    let caught = [SignalKind::terminate(), SignalKind::interrupt()].map(signal);
    async move {
        let [terminate, interrupt] = caught;
        let (mut terminate, mut interrupt) = (terminate?, interrupt?);
        loop {
            let reason = tokio::select! {
                _ = terminate.recv() => "SIGTERM",
                _ = interrupt.recv() => "SIGINT",
            };
            if shutdown.has_begun() {
                tracing::warn!(reason, "stopping without draining");
                std::process::exit(EXIT_SECOND_SIGNAL);
            }
            shutdown.begin(reason);
        }
    }
}
