//! NDJSON framing without I/O: bytes in, lines out.
//!
//! A frame is one line of UTF-8 ended by `\n`, at most [`FRAME_BYTES_MAX`] bytes before it. A carriage
//! return before the newline is dropped, empty lines are skipped. The decoder holds at most one
//! unfinished line: of a line over the bound it keeps the first bytes, so that the request's id can be answered,
//! counts the rest and skips it up to its newline. The connection stays open.
//!
//! ```
//! use longhaul_protocol::frame::{Decoder, Frame};
//! let mut decoder = Decoder::default();
//! decoder.push(b"{\"id\":1}\n{\"i");
//! assert_eq!(decoder.next_frame(), Some(Frame::Line(b"{\"id\":1}")));
//! assert_eq!(decoder.next_frame(), None);
//! ```

use crate::limit::{FRAME_BYTES_MAX, FRAME_HEAD_BYTES};

/// Bytes of buffer that are kept between lines; the memory of a longer line is released.
const IDLE_BUFFER_BYTES: usize = 16 * 1024;
/// Bytes of a line from which its buffer grows in smaller steps.
const GROWN_GENTLY_BYTES: usize = 1024 * 1024;

/// One line of a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A complete line without its end; not yet known to be JSON or UTF-8.
    Line(&'a [u8]),
    /// A line over the bound, skipped.
    TooLong {
        /// Its first bytes, at most [`FRAME_HEAD_BYTES`].
        head: Vec<u8>,
        /// Its length in bytes without the newline.
        bytes: u64,
    },
}

/// A line that is being skipped.
#[derive(Debug, Default)]
struct Skipped {
    head: Vec<u8>,
    bytes: u64,
}

impl Skipped {
    fn add(&mut self, bytes: &[u8]) {
        let room = FRAME_HEAD_BYTES - self.head.len();
        self.head.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.bytes += bytes.len() as u64;
    }
}

/// Cuts a stream of bytes into lines, whatever the chunks it arrives in.
///
/// Call [`next_frame`](Self::next_frame) until it answers `None` after every [`push`](Self::push): then
/// the buffer never holds more than the line bound and one chunk.
#[derive(Debug)]
pub struct Decoder {
    line_bytes_max: usize,
    buffer: Vec<u8>,
    /// Where the current line begins in `buffer`.
    start: usize,
    /// `buffer` has no newline before this index.
    scanned: usize,
    skipped: Option<Skipped>,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::with_line_bytes_max(FRAME_BYTES_MAX)
    }
}

impl Decoder {
    /// A decoder with another bound, in bytes without the newline.
    #[must_use]
    pub const fn with_line_bytes_max(line_bytes_max: usize) -> Self {
        Self { line_bytes_max, buffer: Vec::new(), start: 0, scanned: 0, skipped: None }
    }

    /// Takes the next bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        self.forget_read_lines();
        // A long line grows by a quarter, not to twice its size: peers send many at the same time.
        let spare = self.buffer.capacity() - self.buffer.len();
        if self.buffer.len() > GROWN_GENTLY_BYTES && spare < bytes.len() {
            self.buffer.reserve_exact(bytes.len().max(self.buffer.len() / 4));
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Whether there is an incomplete line.
    #[must_use]
    pub const fn is_in_a_line(&self) -> bool {
        self.buffered_bytes() > 0 || self.skipped.is_some()
    }

    /// The next line, or `None` until more bytes are pushed.
    pub fn next_frame(&mut self) -> Option<Frame<'_>> {
        loop {
            let Some(end) = self.find_newline() else {
                self.skip_if_too_long();
                return None;
            };
            let begin = std::mem::replace(&mut self.start, end + 1);
            self.scanned = self.start;
            if self.skipped.is_some() || end - begin > self.line_bytes_max {
                let mut skipped = self.skipped.take().unwrap_or_default();
                skipped.add(&self.buffer[begin..end]);
                return Some(Frame::TooLong { head: skipped.head, bytes: skipped.bytes });
            }
            let end = if self.buffer[begin..end].ends_with(b"\r") { end - 1 } else { end };
            if begin < end {
                return Some(Frame::Line(&self.buffer[begin..end]));
            }
        }
    }

    /// The end of the stream: a last line without a newline counts as one.
    pub fn finish(&mut self) -> Option<Frame<'_>> {
        self.push(b"\n");
        self.next_frame()
    }

    /// Bytes held for an incomplete line.
    #[must_use]
    pub const fn buffered_bytes(&self) -> usize {
        self.buffer.len() - self.start
    }

    fn find_newline(&mut self) -> Option<usize> {
        let found = memchr::memchr(b'\n', &self.buffer[self.scanned..]);
        if found.is_none() {
            self.scanned = self.buffer.len();
        }
        found.map(|at| self.scanned + at)
    }

    /// Discards what is held of a line that already exceeds the bound, before its newline arrives.
    fn skip_if_too_long(&mut self) {
        if self.skipped.is_some() || self.buffered_bytes() > self.line_bytes_max {
            let pending = &self.buffer[self.start..];
            self.skipped.get_or_insert_default().add(pending);
            self.start = self.buffer.len();
        }
    }

    fn forget_read_lines(&mut self) {
        self.buffer.drain(..self.start);
        self.scanned -= self.start;
        self.start = 0;
        if self.buffer.is_empty() {
            self.buffer.shrink_to(IDLE_BUFFER_BYTES);
        }
    }
}

/// Writes one message as one line into `out`.
///
/// Valid JSON has no raw line break inside a string, so every line break is whitespace between tokens (a
/// pretty-printed message) and becomes a space: the result is always one frame.
pub fn encode_into(message: &[u8], out: &mut Vec<u8>) {
    let begin = out.len();
    out.extend_from_slice(message);
    end_line(out, begin);
}

/// Turns a message into the line that is sent, see [`encode_into`], in place.
#[must_use]
pub fn into_line(mut message: Vec<u8>) -> Vec<u8> {
    message.reserve_exact(1);
    end_line(&mut message, 0);
    message
}

fn end_line(out: &mut Vec<u8>, begin: usize) {
    for byte in &mut out[begin..] {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    out.push(b'\n');
}

/// One message as one line, see [`encode_into`].
#[must_use]
pub fn encode(message: &[u8]) -> Vec<u8> {
    let mut line = Vec::with_capacity(message.len() + 1);
    encode_into(message, &mut line);
    line
}

#[cfg(test)]
mod tests;
