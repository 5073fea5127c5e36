//! Bytes held for clients, over all connections: frames that are not whole yet, answers not read yet.
//!
//! A bound for each connection is not enough, since many at their own bound are more than a machine has.
//! Over the common bound the connection that holds most is told to go; its bytes count as given back from
//! then on, so one that takes too much never costs a second one its place.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

/// What all connections of a server hold.
#[derive(Debug)]
pub(super) struct Held {
    bytes_max: usize,
    ledger: Mutex<Ledger>,
}

#[derive(Debug, Default)]
struct Ledger {
    bytes: usize,
    /// Connections that hold something, by number.
    holders: HashMap<usize, Holder>,
}

#[derive(Debug)]
struct Holder {
    bytes: usize,
    told: CancellationToken,
}

/// What one connection holds; given back when it is dropped.
#[derive(Debug)]
pub(super) struct Share {
    held: Arc<Held>,
    connection: usize,
    bytes: usize,
    told: CancellationToken,
}

impl Held {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { bytes_max, ledger: Mutex::default() }
    }

    /// The share of a connection, empty.
    pub(super) fn share(self: &Arc<Self>, connection: usize) -> Share {
        Share { held: self.clone(), connection, bytes: 0, told: CancellationToken::new() }
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Share {
    /// Cancelled when the connection has to go.
    pub(super) fn told(&self) -> CancellationToken {
        self.told.clone()
    }

    /// Notes what the connection holds now. Nothing is locked where nothing changed: requests that come
    /// and go whole never get here.
    pub(super) fn set(&mut self, bytes: usize) {
        if bytes == self.bytes || self.told.is_cancelled() {
            return;
        }
        self.bytes = bytes;
        let mut ledger = self.held.ledger();
        ledger.remove(self.connection);
        if bytes > 0 {
            ledger.bytes += bytes;
            let told = self.told.clone();
            ledger.holders.insert(self.connection, Holder { bytes, told });
        }
        while ledger.bytes > self.held.bytes_max {
            let most = ledger.holders.iter().max_by_key(|(_, holder)| holder.bytes);
            let Some(most) = most.map(|(connection, _)| *connection) else { break };
            if let Some(holder) = ledger.remove(most) {
                holder.told.cancel();
            }
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.held.ledger().remove(self.connection);
    }
}

impl Ledger {
    fn remove(&mut self, connection: usize) -> Option<Holder> {
        let holder = self.holders.remove(&connection)?;
        self.bytes -= holder.bytes;
        Some(holder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_that_holds_most_goes_and_no_other() {
        let held = Arc::new(Held::new(100));
        let [mut small, mut large, mut late] = [1, 2, 3].map(|connection| held.share(connection));
        small.set(30);
        large.set(60);
        assert!(!large.told().is_cancelled());
        late.set(20);
        assert!(large.told().is_cancelled());
        assert!(!small.told().is_cancelled() && !late.told().is_cancelled());
        large.set(90);
        assert_eq!(held.ledger().bytes, 50, "one that was told holds nothing any more");
        drop(small);
        late.set(0);
        assert_eq!(held.ledger().bytes, 0);
        assert!(held.ledger().holders.is_empty());
    }
}
