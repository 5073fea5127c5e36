//! From the reading thread to the store: parcels in packets, because each handing over wakes a thread.
//!
//! A first ingestion reads hundreds of small files in a second, and to wake the other side for each costs
//! more than to store it. What waits here is bounded, and is sent at the latest when a slice ends.

use tokio::sync::mpsc;

use super::commit::Parcel;

/// Bytes of saved state that wait at most, before the last parcel.
const PACKET_BYTES: usize = 512 << 10;

/// Parcels that wait at most.
const PACKET_PARCELS: usize = 64;

/// The store does not take any more.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Closed;

/// Collects parcels. What was not sent when it is dropped was not stored, and is read again.
pub(crate) struct Outbox<'a> {
    packets: &'a mpsc::Sender<Vec<Parcel>>,
    waiting: Vec<Parcel>,
    bytes: usize,
}

impl<'a> Outbox<'a> {
    pub(crate) fn new(packets: &'a mpsc::Sender<Vec<Parcel>>) -> Self {
        Self { packets, waiting: Vec::new(), bytes: 0 }
    }

    /// Takes a parcel; waits while the store is behind.
    pub(crate) fn send(&mut self, parcel: Parcel) -> Result<(), Closed> {
        self.bytes += parcel.saved_bytes();
        self.waiting.push(parcel);
        if self.bytes >= PACKET_BYTES || self.waiting.len() >= PACKET_PARCELS {
            self.flush()?;
        }
        Ok(())
    }

    /// Sends what waits.
    pub(crate) fn flush(&mut self) -> Result<(), Closed> {
        self.bytes = 0;
        match std::mem::take(&mut self.waiting) {
            none if none.is_empty() => Ok(()),
            packet => self.packets.blocking_send(packet).map_err(|_| Closed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::catch_up::{Job, Outcome};
    use super::super::commit::Ended;
    use super::*;

    fn ended() -> Parcel {
        let job = Job {
            path: "/w/a.jsonl".into(),
            source: longhaul_core::fold::Source::Codex,
            archived: false,
            restart: false,
            moved_from: None,
        };
        Parcel::Ended(Ended { job, result: Ok(Outcome::CaughtUp) })
    }

    #[test]
    fn parcels_wait_for_each_other_but_not_for_long() {
        let (packets, mut received) = mpsc::channel(4);
        let mut outbox = Outbox::new(&packets);
        for _ in 0..PACKET_PARCELS + 3 {
            outbox.send(ended()).unwrap();
        }
        assert_eq!(received.try_recv().unwrap().len(), PACKET_PARCELS);
        assert!(received.try_recv().is_err());
        outbox.flush().unwrap();
        assert_eq!(received.try_recv().unwrap().len(), 3);
        outbox.flush().unwrap();
        assert!(received.try_recv().is_err(), "nothing waits");
        drop(received);
        outbox.send(ended()).unwrap();
        assert_eq!(outbox.flush(), Err(Closed));
    }
}
