//! Decodes server-sent events from bytes in arbitrary chunks.

/// Maximum bytes of one event; a larger one fails the answer.
pub(super) const EVENT_BYTES_MAX: usize = 8 * 1_024 * 1_024;

/// Decodes a stream. Only `data` matters: providers repeat the event's name inside it.
#[derive(Debug, Default)]
pub(super) struct Sse {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
}

/// An event is over [`EVENT_BYTES_MAX`].
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLarge;

impl Sse {
    /// Feeds the next bytes; calls `event` with the data of every completed event.
    pub(super) fn push(
        &mut self,
        bytes: &[u8],
        mut event: impl FnMut(&[u8]),
    ) -> Result<(), TooLarge> {
        let mut rest = bytes;
        while let Some(at) = memchr::memchr(b'\n', rest) {
            self.extend(&rest[..at])?;
            rest = &rest[at + 1..];
            self.end_line(&mut event);
        }
        self.extend(rest)
    }

    /// Ends the stream; an event without its final blank line counts, since some servers omit it.
    pub(super) fn end(&mut self, mut event: impl FnMut(&[u8])) {
        self.end_line(&mut event);
        self.flush(&mut event);
    }

    fn extend(&mut self, bytes: &[u8]) -> Result<(), TooLarge> {
        if self.line.len() + self.data.len() + bytes.len() > EVENT_BYTES_MAX {
            return Err(TooLarge);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self, event: &mut impl FnMut(&[u8])) {
        let line = std::mem::take(&mut self.line);
        let text = line.strip_suffix(b"\r").unwrap_or(&line);
        if text.is_empty() {
            self.flush(event);
        } else if let Some(data) = text.strip_prefix(b"data:") {
            if self.has_data {
                self.data.push(b'\n');
            }
            self.has_data = true;
            self.data.extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
        }
        self.line = line;
        self.line.clear();
    }

    fn flush(&mut self, event: &mut impl FnMut(&[u8])) {
        if self.has_data {
            event(&self.data);
        }
        self.has_data = false;
        self.data.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_do_not_depend_on_how_the_bytes_are_split() {
        let stream =
            b": hello\r\nevent: a\r\ndata: {\"x\":1}\r\n\r\ndata:one\ndata: two\n\n\n\ndata: last";
        for piece in 1..stream.len() {
            let mut sse = Sse::default();
            let mut events: Vec<String> = Vec::new();
            let mut keep = |data: &[u8]| events.push(String::from_utf8_lossy(data).into_owned());
            for bytes in stream.chunks(piece) {
                sse.push(bytes, &mut keep).unwrap();
            }
            sse.end(&mut keep);
            assert_eq!(events, ["{\"x\":1}", "one\ntwo", "last"], "pieces of {piece}");
        }
    }

    #[test]
    fn an_endless_event_is_rejected() {
        let mut sse = Sse::default();
        let chunk = vec![b'x'; 1_024 * 1_024];
        let results: Vec<_> = (0..9).map(|_| sse.push(&chunk, |_| {})).collect();
        assert_eq!(results.last(), Some(&Err(TooLarge)));
        assert_eq!(results[7], Ok(()), "exactly the limit");
    }
}
