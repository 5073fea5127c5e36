//! Bytes on their way to a client: what the kernel does not take at once waits here, as one write to come.

use std::io;
use std::time::Duration;

use longhaul_protocol::frame;
use tokio::net::UnixStream;
use tokio::time::Instant;

/// Bytes waiting from which no further call is begun until the client has read.
///
/// # Source
/// Chosen: about what a Unix socket buffers itself; the answers of calls in flight may go beyond it, up to
/// what all connections may hold together.
const HIGH_WATER_BYTES: usize = 256 * 1024;
/// Bytes of buffer that are kept when nothing waits.
const IDLE_BUFFER_BYTES: usize = 16 * 1024;

/// The bytes one client has yet to read.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    bytes: Vec<u8>,
    written: usize,
    /// When the client last took something, while something waits.
    waiting_since: Option<Instant>,
}

impl Outgoing {
    /// Adds a message as one line.
    pub(super) fn push(&mut self, message: &str) {
        frame::encode_into(message.as_bytes(), &mut self.bytes);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.len() == self.written
    }

    pub(super) fn waiting_bytes(&self) -> usize {
        self.bytes.len() - self.written
    }

    /// Whether another answer may be made.
    pub(super) fn has_room(&self) -> bool {
        self.waiting_bytes() < HIGH_WATER_BYTES
    }

    /// When the client must have taken something, if anything waits.
    pub(super) fn deadline(&self, timeout: Duration) -> Option<Instant> {
        self.waiting_since.map(|since| since + timeout)
    }

    /// Writes as much as the kernel takes without waiting.
    pub(super) fn write(&mut self, stream: &UnixStream) -> io::Result<()> {
        while !self.is_empty() {
            match stream.try_write(&self.bytes[self.written..]) {
                Ok(count) => {
                    self.written += count;
                    self.waiting_since = None;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.waiting_since.get_or_insert_with(Instant::now);
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        self.bytes.clear();
        self.bytes.shrink_to(IDLE_BUFFER_BYTES);
        self.written = 0;
        Ok(())
    }
}
