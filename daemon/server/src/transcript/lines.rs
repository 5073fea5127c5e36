//! Splits a stream of any size into lines, in bounded memory.
//!
//! Bytes are read in chunks; a line inside a chunk is returned in place. A line that crosses a chunk is moved to
//! the buffer's front and the buffer grows, up to the bound; a longer line is never held: its bytes are digested
//! until its newline. Text after the last newline is a *rest*: the writer may not have finished it.

use std::io::{self, ErrorKind, Read};

use longhaul_core::digest::DigestStream;

use super::piece::{Content, Line, Piece};

/// Longest line that is parsed, in bytes. Of a longer one, only place, length, digest and beginning are kept.
///
/// # Source
/// The largest line seen in real transcripts has 0.9 MB; a message may hold inline images.
pub const LINE_BYTES_MAX: usize = 8 << 20;

/// Bytes per read.
pub(crate) const CHUNK_BYTES: usize = 256 << 10;

/// Bytes kept of an oversized line, to recognize it.
pub(crate) const OVERSIZED_HEAD_BYTES: usize = 4 << 10;

/// Some programs write it at the start of a text file; it is not part of a line.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Splits a stream into lines, without their newline (and the carriage return before it).
pub struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    /// Start of the unread part of the buffer.
    start: usize,
    end: usize,
    /// Offset of `start` in the stream.
    offset: u64,
    line_bytes_max: usize,
    head: Vec<u8>,
}

impl<R: Read> Lines<R> {
    /// Reads lines from `reader`, which is at `offset`.
    pub fn new(reader: R, offset: u64, line_bytes_max: usize) -> Self {
        let buffer = vec![0; CHUNK_BYTES];
        Self { reader, buffer, start: 0, end: 0, offset, line_bytes_max, head: Vec::new() }
    }

    /// The next line, or the end.
    ///
    /// # Errors
    /// The reader fails; lines already returned stay valid.
    pub fn next_piece(&mut self) -> io::Result<Piece<'_>> {
        let mut searched = self.start;
        loop {
            let unsearched = &self.buffer[searched..self.end];
            if let Some(at) = memchr::memchr(b'\n', unsearched) {
                return Ok(Piece::Line(self.take(searched + at)));
            }
            let waiting = self.end - self.start;
            if waiting > self.line_bytes_max {
                return self.skip_oversized();
            }
            searched = waiting;
            if self.fill()? == 0 {
                let rest = &self.buffer[self.start..self.end];
                return Ok(Piece::End { offset: self.offset, rest });
            }
        }
    }

    /// Takes the line that ends at `newline`.
    fn take(&mut self, newline: usize) -> Line<'_> {
        let line = &self.buffer[self.start..newline];
        let (offset, next) = (self.offset, self.offset + line.len() as u64 + 1);
        (self.start, self.offset) = (newline + 1, next);
        if line.len() > self.line_bytes_max {
            let head = Content::Head(&line[..line.len().min(OVERSIZED_HEAD_BYTES)]);
            return Line { content: head, ..Line::whole(offset, line, next) };
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match line.strip_prefix(BYTE_ORDER_MARK) {
            Some(line) if offset == 0 => Line::whole(3, line, next),
            _ => Line::whole(offset, line, next),
        }
    }

    /// Makes room after the pending bytes and reads into it; the pending bytes then start at the buffer's front.
    /// Returns the bytes read, 0 at the end.
    fn fill(&mut self) -> io::Result<usize> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let room = self.end + CHUNK_BYTES;
        if self.end == 0 {
            // The last line was a long one: release its memory.
            self.buffer.truncate(CHUNK_BYTES);
            self.buffer.shrink_to(2 * CHUNK_BYTES);
        }
        if self.buffer.len() < room {
            self.buffer.resize(room, 0);
        }
        let read = read_some(&mut self.reader, &mut self.buffer[self.end..])?;
        self.end += read;
        Ok(read)
    }

    /// Digests a line over the bound. Without a newline it is not complete: the stream then ends before it.
    fn skip_oversized(&mut self) -> io::Result<Piece<'_>> {
        let offset = self.offset;
        let mut digest = DigestStream::default();
        let mut bytes = 0_u64;
        self.head.clear();
        loop {
            let waiting = &self.buffer[self.start..self.end];
            let newline = memchr::memchr(b'\n', waiting);
            let waiting = &waiting[..newline.unwrap_or(waiting.len())];
            let room = OVERSIZED_HEAD_BYTES - self.head.len();
            self.head.extend_from_slice(&waiting[..waiting.len().min(room)]);
            digest.update(waiting);
            bytes += waiting.len() as u64;
            if newline.is_some() {
                self.start += waiting.len() + 1;
                break;
            }
            (self.start, self.end) = (0, 0);
            if self.fill()? == 0 {
                return Ok(Piece::End { offset, rest: &[] });
            }
        }
        self.offset = offset + bytes + 1;
        let (content, digest) = (Content::Head(&self.head), digest.finish());
        Ok(Piece::Line(Line { offset, bytes, content, digest, next: self.offset }))
    }
}

fn read_some(reader: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    loop {
        match reader.read(into) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use longhaul_core::digest::Digest128;

    use super::*;

    /// Returns at most `step` bytes per read.
    struct Drip<'a>(&'a [u8], usize);

    impl Read for Drip<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let count = self.0.len().min(self.1).min(into.len());
            let (now, later) = self.0.split_at(count);
            into[..count].copy_from_slice(now);
            self.0 = later;
            Ok(count)
        }
    }

    /// Each line as "offset:text", an oversized one as "offset!bytes", the rest as "offset.rest".
    fn lines(text: &[u8], step: usize, max: usize) -> Vec<String> {
        let mut lines = Lines::new(Drip(text, step), 0, max);
        let mut out = Vec::new();
        loop {
            match lines.next_piece().unwrap() {
                Piece::Line(Line { offset, bytes, content, digest, next }) => {
                    let from = usize::try_from(offset).unwrap();
                    let whole = &text[from..from + usize::try_from(bytes).unwrap()];
                    assert_eq!(digest, Digest128::of(whole));
                    assert!(next > offset + bytes, "{next} is after the newline");
                    out.push(match content {
                        Content::Whole(line) => {
                            assert_eq!(line, whole);
                            format!("{offset}:{}", String::from_utf8_lossy(line))
                        }
                        Content::Head(head) => {
                            assert_eq!(head, &whole[..whole.len().min(OVERSIZED_HEAD_BYTES)]);
                            format!("{offset}!{bytes}")
                        }
                    });
                }
                Piece::End { offset, rest } => {
                    out.push(format!("{offset}.{}", String::from_utf8_lossy(rest)));
                    return out;
                }
            }
        }
    }

    #[test]
    fn lines_are_the_same_whatever_the_read_sizes() {
        let long = "x".repeat(50);
        let cases: [(&str, &[&str]); 9] = [
            ("", &["0."]),
            ("a\nb\n", &["0:a", "2:b", "4."]),
            ("a\nb", &["0:a", "2.b"]),
            ("a\r\nb\r\n", &["0:a", "3:b", "6."]),
            ("\n\n a\n", &["0:", "1:", "2: a", "5."]),
            ("\u{feff}a\n\u{feff}b\n", &["3:a", "5:\u{feff}b", "10."]),
            ("a\n\0\0\0", &["0:a", "2.\0\0\0"]),
            (&format!("a\n{long}\nb\n"), &["0:a", "2!50", "53:b", "55."]),
            (&format!("a\n{long}"), &["0:a", "2."]),
        ];
        for (text, expected) in cases {
            for step in [1, 2, 7, 1 << 20] {
                assert_eq!(lines(text.as_bytes(), step, 20), expected, "{text:?} by {step}");
            }
        }
    }

    #[test]
    fn a_line_at_the_bound_is_whole_and_a_longer_one_is_not() {
        for (length, expected) in [(20, "0:xxxxxxxxxxxxxxxxxxxx"), (21, "0!21")] {
            let text = format!("{}\n", "x".repeat(length));
            for step in [1, 1 << 20] {
                assert_eq!(lines(text.as_bytes(), step, 20)[0], expected);
            }
        }
    }

    #[test]
    fn memory_is_bounded_for_any_line() {
        let mut lines = Lines::new(io::repeat(b'x').take(64 << 20), 0, 1 << 20);
        assert_eq!(lines.next_piece().unwrap(), Piece::End { offset: 0, rest: &[] });
        assert!(lines.buffer.capacity() < 4 << 20, "{} bytes held", lines.buffer.capacity());
    }
}
