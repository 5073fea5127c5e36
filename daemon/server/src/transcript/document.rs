//! Reads the items of a transcript that is one JSON document, such as `{session, items: […]}`, in bounded memory.
//!
//! Its agent rewrites the whole file after every turn. The identity and each item are returned like lines, with
//! their offset, so that the caller sees no difference. Only brackets and strings are tracked; nothing is parsed.
//! The fold interprets the items, and a truncated document is one whose last item is not complete yet.

use std::io::{self, ErrorKind, Read};

use longhaul_core::digest::DigestStream;
use longhaul_core::rollout::source::Document;

use super::lines::{CHUNK_BYTES, OVERSIZED_HEAD_BYTES};
use super::piece::{Content, Line, Piece};

/// Maximum bytes of a key that are kept.
const KEY_BYTES_MAX: usize = 32;

pub(crate) struct Items<R> {
    reader: R,
    chunk: Vec<u8>,
    /// Start of the unread part of the chunk.
    start: usize,
    end: usize,
    /// Offset of `start` in the document.
    offset: u64,
    outline: Outline,
    item: Item,
    item_bytes_max: usize,
}

impl<R: Read> Items<R> {
    /// Reads items from the beginning of `reader`.
    pub(crate) fn new(reader: R, keys: Document, item_bytes_max: usize) -> Self {
        Self {
            reader,
            chunk: vec![0; CHUNK_BYTES],
            start: 0,
            end: 0,
            offset: 0,
            outline: Outline::new(keys),
            item: Item::default(),
            item_bytes_max,
        }
    }

    /// The next item, or the end.
    ///
    /// # Errors
    /// The reader fails; items already returned stay valid.
    pub(crate) fn next(&mut self) -> io::Result<Piece<'_>> {
        self.item = Item::default();
        loop {
            if self.start == self.end && self.fill()? == 0 {
                return Ok(Piece::End { offset: self.offset, rest: &[] });
            }
            let unread = &self.chunk[self.start..self.end];
            let mut from = self.outline.is_inside.then_some(0);
            let mut last = None;
            for (at, &byte) in unread.iter().enumerate() {
                match self.outline.step(byte) {
                    ByteEffect::Continues => {}
                    ByteEffect::Begins => {
                        self.item.offset = self.offset + at as u64;
                        from = Some(at);
                    }
                    ByteEffect::Ends => {
                        last = Some(at);
                        break;
                    }
                }
            }
            let end = last.map_or(unread.len(), |at| at + 1);
            if let Some(from) = from {
                self.item.push(&unread[from..end], self.item_bytes_max);
            }
            self.start += end;
            self.offset += end as u64;
            if last.is_some() {
                return Ok(Piece::Line(self.item.line(self.offset)));
            }
        }
    }

    fn fill(&mut self) -> io::Result<usize> {
        (self.start, self.end) = (0, 0);
        loop {
            match self.reader.read(&mut self.chunk) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => {
                    self.end = read?;
                    return Ok(self.end);
                }
            }
        }
    }
}

/// The item being read: its bytes, or above the bound its beginning and the digest of all its bytes.
#[derive(Default)]
struct Item {
    offset: u64,
    bytes: Vec<u8>,
    count: u64,
    oversized: Option<DigestStream>,
}

impl Item {
    fn push(&mut self, bytes: &[u8], bytes_max: usize) {
        self.count += bytes.len() as u64;
        if let Some(digest) = &mut self.oversized {
            digest.update(bytes);
            let room = OVERSIZED_HEAD_BYTES - self.bytes.len();
            self.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
            return;
        }
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() > bytes_max {
            let mut digest = DigestStream::default();
            digest.update(&self.bytes);
            self.bytes.truncate(OVERSIZED_HEAD_BYTES);
            self.bytes.shrink_to_fit();
            self.oversized = Some(digest);
        }
    }

    fn line(&mut self, next: u64) -> Line<'_> {
        let (offset, bytes) = (self.offset, self.count);
        match self.oversized.take() {
            None => Line::whole(offset, &self.bytes, next),
            Some(digest) => {
                let (content, digest) = (Content::Head(&self.bytes), digest.finish());
                Line { offset, bytes, content, digest, next }
            }
        }
    }
}

/// The effect of one byte on the item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ByteEffect {
    Begins,
    Ends,
    /// Neither.
    Continues,
}

/// Position of the next byte in the document's structure.
struct Outline {
    keys: Document,
    depth: u64,
    in_string: bool,
    is_escaped: bool,
    /// The key in the outermost object whose value, or which itself, is being read.
    key: Vec<u8>,
    in_key: bool,
    /// An item that began at this depth is being read.
    is_inside: bool,
    item_depth: u64,
}

impl Outline {
    fn new(keys: Document) -> Self {
        Self {
            keys,
            depth: 0,
            in_string: false,
            is_escaped: false,
            key: Vec::new(),
            in_key: false,
            is_inside: false,
            item_depth: 0,
        }
    }

    fn step(&mut self, byte: u8) -> ByteEffect {
        if self.in_string {
            self.in_string(byte);
            return ByteEffect::Continues;
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => return self.opens(byte),
            b'}' | b']' => return self.closes(),
            b':' if self.depth == 1 => self.in_key = false,
            b',' if self.depth == 1 => self.expect_key(),
            _ => {}
        }
        ByteEffect::Continues
    }

    fn in_string(&mut self, byte: u8) {
        match byte {
            _ if self.is_escaped => self.is_escaped = false,
            b'\\' => self.is_escaped = true,
            b'"' => self.in_string = false,
            _ if self.in_key && self.key.len() < KEY_BYTES_MAX => self.key.push(byte),
            _ => {}
        }
    }

    fn expect_key(&mut self) {
        self.in_key = true;
        self.key.clear();
    }

    fn opens(&mut self, byte: u8) -> ByteEffect {
        let Document { identity, items } = self.keys;
        let begins = !self.is_inside
            && byte == b'{'
            && match self.depth {
                1 => self.key == identity.as_bytes(),
                2 => self.key == items.as_bytes(),
                _ => false,
            };
        if self.depth == 0 && byte == b'{' {
            self.expect_key();
        }
        if begins {
            (self.is_inside, self.item_depth) = (true, self.depth);
        }
        self.depth += 1;
        if begins { ByteEffect::Begins } else { ByteEffect::Continues }
    }

    fn closes(&mut self) -> ByteEffect {
        self.depth = self.depth.saturating_sub(1);
        if self.is_inside && self.depth == self.item_depth {
            self.is_inside = false;
            return ByteEffect::Ends;
        }
        ByteEffect::Continues
    }
}

#[cfg(test)]
mod tests {
    use longhaul_core::digest::Digest128;

    use super::*;

    const KEYS: Document = Document { identity: "session", items: "items" };

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

    /// The items as returned; asserts that each is at its offset in the text.
    fn items(text: &str, step: usize, max: usize) -> Vec<String> {
        let mut items = Items::new(Drip(text.as_bytes(), step), KEYS, max);
        let mut out = Vec::new();
        loop {
            match items.next().unwrap() {
                Piece::Line(Line { offset, bytes, content, digest, next }) => {
                    let from = usize::try_from(offset).unwrap();
                    let whole = &text.as_bytes()[from..from + usize::try_from(bytes).unwrap()];
                    assert_eq!((digest, next), (Digest128::of(whole), offset + bytes));
                    out.push(match content {
                        Content::Whole(item) => {
                            assert_eq!(item, whole);
                            String::from_utf8_lossy(item).into_owned()
                        }
                        Content::Head(head) => {
                            assert_eq!(head, &whole[..whole.len().min(OVERSIZED_HEAD_BYTES)]);
                            format!("!{bytes}")
                        }
                    });
                }
                Piece::End { offset, rest } => {
                    assert_eq!((offset, rest), (text.len() as u64, &b""[..]));
                    return out;
                }
            }
        }
    }

    #[test]
    fn the_session_and_items_are_read_whatever_the_read_sizes() {
        let long = format!(r#"{{"text":"{}"}}"#, "x".repeat(50));
        let cases: [(String, Vec<&str>); 9] = [
            (String::new(), vec![]),
            (
                "{\n  \"session\": {\n \"id\": \"a\"\n},\n  \"items\": [\n {\"b\": [1, {}]},\n {}\n]\n}\n".into(),
                vec!["{\n \"id\": \"a\"\n}", "{\"b\": [1, {}]}", "{}"],
            ),
            (r#"{"items":[{"a":"]}\"{"},{"b":"\\"}],"session":{"c":1}}"#.into(),
                vec![r#"{"a":"]}\"{"}"#, r#"{"b":"\\"}"#, r#"{"c":1}"#]),
            (r#"{"other":{"session":{"x":1},"items":[{}]},"session":{}}"#.into(), vec!["{}"]),
            (r#"{"items":[1,"{}",null,{"a":1}],"session":5}"#.into(), vec![r#"{"a":1}"#]),
            (r#"{"session":{"a":1},"items":[{"b":1},{"c":"#.into(), vec![r#"{"a":1}"#, r#"{"b":1}"#]),
            ("[{\"session\":{}}]".into(), vec![]),
            ("}}]]]{".into(), vec![]),
            (format!(r#"{{"items":[{long},{{}}]}}"#), vec!["!61", "{}"]),
        ];
        for (text, expected) in cases {
            for step in [1, 2, 7, 1 << 20] {
                assert_eq!(items(&text, step, 20), expected, "{text:?} by {step}");
            }
        }
    }
}
