//! Shared by the tests: daemons in this process and as separate processes, a client with the protocol's types, transcripts,
//! and a scripted model provider.

mod calls;
mod chance;
mod client;
mod daemon;
mod items;
pub mod pairing;
mod process;
pub mod provider;
mod rig;
pub mod rollout;

use std::time::Duration;

pub use calls::{of_items, of_thread};
pub use chance::Chance;
pub use client::{Client, Event, Response, connected};
pub use daemon::{Daemon, config_under};
pub use items::{field, files_under, message, text_at, text_of, texts};
pub use process::{Process, command, command_of};
pub use rig::Rig;

/// Maximum wait for a state.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Waits for `future`, or fails the test.
pub async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, future).await {
        Ok(value) => value,
        Err(_) => panic!("{what}: not within {PATIENCE:?}"),
    }
}

/// Pause between two checks of a state that cannot be awaited. Checking without a pause would take processor time from the
/// work that the test waits for.
pub async fn pause() {
    tokio::time::sleep(Duration::from_millis(2)).await;
}

/// Waits until `state` holds, for a state that cannot be awaited, such as a counter or a child process.
pub async fn eventually(what: &str, mut state: impl FnMut() -> bool) {
    let poll = async {
        while !state() {
            pause().await;
        }
    };
    soon(what, poll).await;
}
