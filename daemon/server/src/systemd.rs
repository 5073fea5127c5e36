//! The service manager: the socket it hands over, and what it is told.
//!
//! Everything here is a no-op when the daemon was not started by systemd, so the rest of the shell never
//! asks. The variables stay in the environment: unsetting them is only sound before the first thread,
//! and the daemon starts no child that could mistake them for its own (they name a pid).

use std::io;
use std::os::unix::net::UnixListener;
use std::time::Duration;

use listenfd::ListenFd;
use sd_notify::NotifyState;
use tokio_util::sync::CancellationToken;

/// The listening socket of the `.socket` unit, if there is one.
///
/// # Errors
/// The descriptor that was handed over is no listening Unix socket, or there are several.
pub fn take_socket() -> io::Result<Option<UnixListener>> {
    let mut handed = ListenFd::from_env();
    match handed.len() {
        0 => Ok(None),
        1 => handed.take_unix_listener(0),
        several => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("systemd handed over {several} sockets, one is expected"),
        )),
    }
}

/// Says that the daemon answers on its socket.
pub fn ready(status: &str) {
    tell(&[NotifyState::Ready, NotifyState::Status(status)]);
}

/// Says in one line what the daemon is doing, for `systemctl status`.
pub fn status(status: &str) {
    tell(&[NotifyState::Status(status)]);
}

/// Says that the daemon is on its way out.
pub fn stopping() {
    tell(&[NotifyState::Stopping, NotifyState::Status("finishing requests in flight")]);
}

/// Feeds the watchdog at half its period until `stop`; ends at once when none is asked for.
///
/// It runs on the runtime that serves requests: a runtime that hangs stops feeding.
pub async fn feed_watchdog(stop: CancellationToken) {
    let Some(period) = sd_notify::watchdog_enabled().filter(|period| !period.is_zero()) else {
        return stop.cancelled().await;
    };
    let half = (period / 2).max(Duration::from_millis(1));
    loop {
        tell(&[NotifyState::Watchdog]);
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(half) => {}
        }
    }
}

fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::debug!(%error, "service manager not told");
    }
}
