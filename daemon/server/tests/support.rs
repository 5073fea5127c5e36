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
pub use daemon::{Daemon, config_under, configure};
pub use items::{
    field, file_with, files_below, files_under, github_token, message, text_at, text_of, texts,
};
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
    until(what, async || state()).await;
}

/// The same for a state that takes a call to see.
pub async fn until(what: &str, mut state: impl AsyncFnMut() -> bool) {
    found(what, async || state().await.then_some(())).await;
}

/// Waits until `look` finds something.
pub async fn found<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let poll = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            pause().await;
        }
    };
    soon(what, poll).await
}
