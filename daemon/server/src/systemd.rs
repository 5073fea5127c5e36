//! The service manager: takes its sockets and sends notifications.
//!
//! Everything here does nothing if systemd did not start the daemon, so callers need not check. The variables stay in the
//! environment: unsetting them is only sound before the first thread, and no child of the daemon could mistake them for
//! its own (they contain a pid).

use std::io;
use std::os::unix::net::UnixListener;
use std::time::Duration;

use listenfd::ListenFd;
use longhaul_protocol::socket;
use sd_notify::NotifyState;
use tokio_util::sync::CancellationToken;

/// The listening sockets of the `.socket` unit.
#[derive(Debug, Default)]
pub struct TakenSockets {
    pub person: Option<UnixListener>,
    /// The agents' socket; units of earlier versions have none.
    pub agents: Option<UnixListener>,
}

/// Takes the listening sockets of the `.socket` unit, distinguished by their names; none without a unit.
pub fn take_sockets() -> io::Result<TakenSockets> {
    let mut passed = ListenFd::from_env();
    let mut taken = TakenSockets::default();
    for index in 0..passed.len() {
        let Some(listener) = passed.take_unix_listener(index)? else { continue };
        let address = listener.local_addr()?;
        let is_of_agents = address.as_pathname().is_some_and(socket::is_of_agents);
        let place = if is_of_agents { &mut taken.agents } else { &mut taken.person };
        if place.replace(listener).is_some() {
            let count = passed.len();
            let why = format!(
                "systemd passed {count} sockets, but only one for the person and one for agents are expected"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
    }
    Ok(taken)
}

/// Notifies that the daemon answers on its socket.
pub fn ready(status: &str) {
    notify(&[NotifyState::Ready, NotifyState::Status(status)]);
}

/// Notifies that the daemon is stopping.
pub fn stopping() {
    notify(&[NotifyState::Stopping, NotifyState::Status("finishing requests in flight")]);
}

/// Feeds the watchdog at half its period until `stop`, if the service manager wants that.
///
/// It runs on the runtime that serves requests: a runtime that hangs stops feeding.
pub async fn feed_watchdog(stop: CancellationToken) {
    let Some(period) = sd_notify::watchdog_enabled().filter(|period| !period.is_zero()) else {
        return stop.cancelled().await;
    };
    let half = (period / 2).max(Duration::from_millis(1));
    loop {
        notify(&[NotifyState::Watchdog]);
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(half) => {}
        }
    }
}

fn notify(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::debug!(%error, "cannot notify the service manager");
    }
}
