//! The one switch that stops the daemon, and who may press it.
//!
//! Pressed by SIGTERM, SIGINT or `daemon/shutdown`. The drain order is `app`'s: tell systemd, close the
//! subscriptions, stop accepting, let requests in flight finish, stop the background tasks, unlink the
//! socket last. A second signal ends the process at once: whoever sends it has waited long enough.

use std::sync::{Arc, OnceLock};

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// The exit code of a process that was told twice.
const EXIT_TOLD_TWICE: i32 = 130;

/// A handle on the switch; clones are the same switch.
#[derive(Debug, Clone, Default)]
pub struct Shutdown {
    token: CancellationToken,
    reason: Arc<OnceLock<&'static str>>,
}

impl Shutdown {
    /// Presses the switch; the first reason is kept.
    pub fn begin(&self, reason: &'static str) {
        if self.reason.set(reason).is_ok() {
            tracing::info!(reason, "stopping");
        }
        self.token.cancel();
    }

    /// Whether it was pressed.
    pub fn has_begun(&self) -> bool {
        self.token.is_cancelled()
    }

    /// Why it was pressed.
    pub fn reason(&self) -> &'static str {
        self.reason.get().copied().unwrap_or("running")
    }

    /// Waits until it is pressed.
    pub async fn wait(&self) {
        self.token.cancelled().await;
    }

    /// A token that is cancelled when it is pressed.
    pub fn token(&self) -> CancellationToken {
        self.token.clone()
    }
}

/// Turns signals into the switch, for as long as it is polled.
///
/// Signals are caught from the call on, not from the first poll: who had an answer from the daemon may
/// send it one at once, and it must drain.
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
                tracing::warn!(reason, "stopped without draining");
                std::process::exit(EXIT_TOLD_TWICE);
            }
            shutdown.begin(reason);
        }
    }
}
