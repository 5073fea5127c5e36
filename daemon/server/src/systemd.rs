//! The service manager: the sockets it hands over, and what it is told.
//!
//! Everything here is a no-op when the daemon was not started by systemd, so the rest of the shell never
//! asks. The variables stay in the environment: unsetting them is only sound before the first thread,
//! and the daemon starts no child that could mistake them for its own (they name a pid).

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
    /// The agents'; a unit of an earlier version has none.
    pub agents: Option<UnixListener>,
}

/// Takes the listening sockets of the `.socket` unit, told apart by their names; none where there is no unit.
pub fn take_sockets() -> io::Result<TakenSockets> {
    let mut handed = ListenFd::from_env();
    let mut taken = TakenSockets::default();
    for index in 0..handed.len() {
        let Some(listener) = handed.take_unix_listener(index)? else { continue };
        let address = listener.local_addr()?;
        let is_of_agents = address.as_pathname().is_some_and(socket::is_of_agents);
        let place = if is_of_agents { &mut taken.agents } else { &mut taken.person };
        if place.replace(listener).is_some() {
            let count = handed.len();
            let why = format!(
                "systemd handed over {count} sockets; one for the person and one for agents are expected"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
    }
    Ok(taken)
}

/// Says that the daemon answers on its socket.
pub fn ready(status: &str) {
    tell(&[NotifyState::Ready, NotifyState::Status(status)]);
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
