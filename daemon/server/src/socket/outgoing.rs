//! Bytes queued for a client because the kernel did not take them at once.
//!
//! An answer is queued in its own buffer, which is freed once written. Short ones are joined, so that many go out
//! in one write.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use longhaul_protocol::frame;
use tokio::net::UnixStream;
use tokio::time::Instant;

use super::held_bytes::HIGH_WATER_BYTES;

/// Messages are joined up to this size; also the size of the buffer kept while the queue is empty.
const JOINED_BYTES_MAX: usize = 16 * 1024;
/// Bytes a client must take to count as reading: a byte now and then does not.
const PROGRESS_BYTES: usize = 64 * 1024;
/// More than a Unix socket buffers: a client that took this much has read some of it.
const READ_BYTES: usize = 512 * 1024;

/// The bytes one client has yet to read.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    /// One message each, or several short ones.
    chunks: VecDeque<Vec<u8>>,
    /// Bytes written of the first chunk.
    written: usize,
    /// Bytes of all chunks, written or not: a chunk is freed whole.
    held_bytes: usize,
    /// When the client last took enough to count; `None` if the queue is empty.
    waiting_since: Option<Instant>,
    /// Bytes taken since then.
    taken: usize,
    /// Total bytes the socket took.
    sent: usize,
}

impl Outgoing {
    /// Adds a message as one line.
    pub(super) fn push(&mut self, message: Box<str>) {
        let bytes = message.len() + 1;
        self.held_bytes += bytes;
        match self.chunks.back_mut() {
            Some(last) if last.len() + bytes <= JOINED_BYTES_MAX => {
                frame::encode_into(message.as_bytes(), last);
            }
            _ => self.chunks.push_back(frame::into_line(message.into_string().into_bytes())),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.held_bytes == 0
    }

    /// Bytes of memory in the queue.
    pub(super) fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    /// Whether another answer may be made.
    pub(super) fn has_room(&self) -> bool {
        self.held_bytes - self.written < HIGH_WATER_BYTES
    }

    /// Since when the client has taken too little to count; `None` if the queue is empty.
    pub(super) fn waiting_since(&self) -> Option<Instant> {
        self.waiting_since
    }

    /// Whether the client took more than its socket buffers.
    pub(super) fn has_been_read(&self) -> bool {
        self.sent >= READ_BYTES
    }

    /// When the client must have taken something; `None` if the queue is empty.
    pub(super) fn deadline(&self, timeout: Duration) -> Option<Instant> {
        self.waiting_since.map(|since| since + timeout)
    }

    /// Writes as much as the kernel takes without blocking.
    pub(super) fn write(&mut self, stream: &UnixStream) -> io::Result<()> {
        while let Some(first) = self.chunks.front() {
            match stream.try_write(&first[self.written..]) {
                Ok(count) => self.note_written(count),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.waiting_since.get_or_insert_with(Instant::now);
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        (self.waiting_since, self.taken) = (None, 0);
        Ok(())
    }

    fn note_written(&mut self, count: usize) {
        self.written += count;
        self.taken += count;
        self.sent = self.sent.saturating_add(count);
        if self.taken >= PROGRESS_BYTES {
            (self.waiting_since, self.taken) = (None, 0);
        }
        if let Some(done) = self.chunks.pop_front_if(|first| first.len() == self.written) {
            self.held_bytes -= done.len();
            self.written = 0;
        }
    }
}
