//! One recorded transcript: the cached state of its file, and the only code that appends to it.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use longhaul_core::rollout::compose;
use xxhash_rust::xxh3::xxh3_64;

use super::RecorderError;
use crate::no_follow;

/// Maximum bytes of one transcript.
///
/// # Source
/// Chosen: a thousand threads of a million tokens; anything longer is not a conversation.
const THREAD_BYTES_MAX: u64 = 1 << 30;

/// Maximum lines of one transcript.
///
/// # Source
/// Chosen: each takes memory while the thread is open, 24 MiB in all.
const THREAD_LINES_MAX: u64 = 500_000;

/// Maximum bytes of a line while reading a file. Recorded lines are shorter, by the bounds of an item.
const LINE_BYTES_MAX: u64 = 16 << 20;

/// Bytes that a disk writes as a whole.
const SECTOR: u64 = 512;
const LAST_OF_SECTOR: u64 = SECTOR - 1;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The client's id of it.
    pub client_item_id: String,
    /// The line with its newline, as `compose::line` makes it with that id.
    pub text: String,
    pub redacted: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppendReport {
    pub seq: u64,
    pub bytes: u64,
    pub appended: u64,
    pub duplicates: u64,
    /// Number of secrets redacted in the written lines.
    pub redacted: u64,
}

#[derive(Debug)]
pub(super) struct Log {
    thread_id: String,
    path: PathBuf,
    /// `None` before the file is read, and whenever it may have changed.
    known: Option<FileContent>,
}

/// The state of the file after the last access. All of it is on disk.
#[derive(Debug, Default)]
struct FileContent {
    dev: u64,
    ino: u64,
    bytes: u64,
    lines: u64,
    /// Lines by the digest of their client id. In the longest thread, two ids share a digest with a probability of one in
    /// a hundred million.
    ids: HashMap<u64, KnownLine>,
}

#[derive(Debug, Clone, Copy)]
struct KnownLine {
    seq: u64,
    content: u64,
}

impl Log {
    /// The transcript of a thread, not read yet.
    pub(super) fn at(thread_id: String, path: PathBuf) -> Self {
        Self { thread_id, path, known: None }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn ids(&self) -> usize {
        self.known.as_ref().map_or(0, |known| known.ids.len())
    }

    /// Its path and seq.
    pub(super) fn place(&mut self) -> Result<(PathBuf, u64), RecorderError> {
        Ok((self.path.clone(), self.seq()?))
    }

    fn seq(&mut self) -> Result<u64, RecorderError> {
        Ok(self.current()?.seq())
    }

    pub(super) fn seq_of(&mut self, client_item_id: &str) -> Result<Option<u64>, RecorderError> {
        let known = self.current()?;
        Ok(known.ids.get(&xxh3_64(client_item_id.as_bytes())).map(|line| line.seq))
    }

    /// The lines after `seq`, without their newlines.
    pub(super) fn lines_after(&mut self, seq: u64) -> Result<Vec<String>, RecorderError> {
        if self.seq()? <= seq {
            return Ok(Vec::new());
        }
        let first = usize::try_from(seq).unwrap_or(usize::MAX).saturating_add(1);
        let lines = BufReader::new(self.open()?).lines().skip(first);
        lines.collect::<io::Result<_>>().map_err(|error| self.failed(error))
    }

    /// Appends those of `lines` that are not in the file yet, all or none.
    pub(super) fn append(
        &mut self,
        lines: &[Line],
        expected_seq: Option<u64>,
    ) -> Result<AppendReport, RecorderError> {
        let file = self.open()?;
        let mut known = self.read(&file).map_err(|error| self.failed(error))?;
        let outcome = known.append(&file, lines, expected_seq, |error| self.failed(error));
        // After a failed write the content of the file is unknown.
        let is_unknown =
            matches!(outcome, Err(RecorderError::File { .. } | RecorderError::NotFound(_)));
        self.known = Some(known).filter(|_| !is_unknown);
        outcome
    }

    fn open(&self) -> Result<File, RecorderError> {
        let file = no_follow::options().read(true).append(true).open(&self.path);
        file.map_err(|error| self.failed(error))
    }

    /// If the file is gone, so is its thread.
    pub(super) fn failed(&self, source: io::Error) -> RecorderError {
        match source.kind() {
            io::ErrorKind::NotFound => RecorderError::NotFound(self.thread_id.clone()),
            _ => RecorderError::File { path: self.path.clone(), source },
        }
    }

    fn current(&mut self) -> Result<&FileContent, RecorderError> {
        let file = self.open()?;
        let known = self.read(&file).map_err(|error| self.failed(error))?;
        Ok(self.known.insert(known))
    }

    /// Takes the cached state, or reads the file if it has changed. The caller stores it again.
    fn read(&mut self, file: &File) -> io::Result<FileContent> {
        let meta = file.metadata()?;
        let is_same = |known: &FileContent| {
            (known.dev, known.ino, known.bytes) == (meta.dev(), meta.ino(), meta.len())
        };
        match self.known.take().filter(is_same) {
            Some(known) => Ok(known),
            None => {
                Ok(FileContent { dev: meta.dev(), ino: meta.ino(), ..FileContent::read(file)? })
            }
        }
    }
}

impl FileContent {
    fn seq(&self) -> u64 {
        self.lines.saturating_sub(1)
    }

    fn append(
        &mut self,
        mut file: &File,
        lines: &[Line],
        expected_seq: Option<u64>,
        failed: impl Fn(io::Error) -> RecorderError,
    ) -> Result<AppendReport, RecorderError> {
        let (present, new): (Vec<&Line>, Vec<&Line>) =
            lines.iter().partition(|line| self.ids.contains_key(&digest(line)));
        self.check_content(lines)?;
        if let Some(expected) = expected_seq {
            self.check_base(expected, &present, new.is_empty())?;
        }
        let text: String = new.iter().map(|line| line.text.as_str()).collect();
        self.check_room(new.len() as u64, text.len() as u64)?;
        if !new.is_empty() {
            let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_data());
            if let Err(error) = written {
                // If this fails as well, the next append finds a changed file and reads it.
                file.set_len(self.bytes).and_then(|()| file.sync_data()).ok();
                return Err(failed(error));
            }
        }
        self.bytes += text.len() as u64;
        for line in &new {
            let known = KnownLine { seq: self.lines, content: content(&line.text) };
            self.ids.insert(digest(line), known);
            self.lines += 1;
        }
        Ok(AppendReport {
            seq: self.seq(),
            bytes: self.bytes,
            appended: new.len() as u64,
            duplicates: present.len() as u64,
            redacted: new.iter().map(|line| line.redacted).sum(),
        })
    }

    /// A reused id must have the same content, or the client would believe that its other item is stored.
    fn check_content(&self, lines: &[Line]) -> Result<(), RecorderError> {
        let is_other = |line: &Line| {
            self.ids.get(&digest(line)).is_some_and(|known| known.content != content(&line.text))
        };
        match lines.iter().enumerate().find(|(_, line)| is_other(line)) {
            Some((index, line)) => {
                let client_item_id = line.client_item_id.clone();
                Err(RecorderError::Conflict { index, client_item_id })
            }
            None => Ok(()),
        }
    }

    /// Lines of others after `expected` make it stale. Lines of this batch do not: they are from an earlier try.
    fn check_base(
        &self,
        expected: u64,
        present: &[&Line],
        is_done: bool,
    ) -> Result<(), RecorderError> {
        let known = present.iter().filter_map(|line| self.ids.get(&digest(line)));
        let own = known.filter(|known| known.seq > expected).count() as u64;
        let current = self.seq();
        match is_done || expected.checked_add(own) == Some(current) {
            true => Ok(()),
            false => Err(RecorderError::Stale { expected, present: current }),
        }
    }

    fn check_room(&self, lines: u64, bytes: u64) -> Result<(), RecorderError> {
        let bounds = [
            ("thread_lines", THREAD_LINES_MAX, self.lines + lines),
            ("thread_bytes", THREAD_BYTES_MAX, self.bytes + bytes),
        ];
        match bounds.into_iter().find(|(_, max, given)| given > max) {
            Some((limit, max, given)) => Err(RecorderError::Full { limit, max, given }),
            None => Ok(()),
        }
    }

    /// Reads a file from its start, repairs its end and syncs it.
    fn read(mut file: &File) -> io::Result<Self> {
        let mut known = Self::default();
        file.seek(SeekFrom::Start(0))?;
        let mut reader = BufReader::with_capacity(256 << 10, file);
        let (mut line, mut pending, mut torn) = (Vec::new(), 0, None);
        loop {
            let read = reader.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line)? as u64;
            pending += read;
            if line.last() == Some(&b'\n') {
                if has_hole(&line, known.bytes) {
                    torn.get_or_insert(TornBatch::at(known.bytes));
                } else {
                    torn.iter_mut().for_each(|torn| torn.note(&line));
                    known.note(&line);
                }
                known.lines += 1;
                known.bytes += pending;
                pending = 0;
            } else if read < LINE_BYTES_MAX {
                break;
            }
            line.clear();
        }
        // The opening was published whole.
        if let Some(torn) = torn.filter(|torn| torn.is_last && torn.start > 0) {
            file.set_len(torn.start)?;
            return Self::read(file);
        }
        // Without its newline, or with another byte in its place.
        let objects = [&line[..], &line[..line.len().saturating_sub(1)]];
        let whole = objects.into_iter().find(|object| is_whole(object));
        if let Some(object) = whole.filter(|_| pending == line.len() as u64) {
            file.set_len(known.bytes + object.len() as u64)?;
            file.write_all(b"\n")?;
            known.note(object);
            known.lines += 1;
            known.bytes += object.len() as u64 + 1;
        } else if pending > 0 {
            file.set_len(known.bytes)?;
        }
        // Lines written before a crash may not be on disk yet, but will count as duplicates.
        file.sync_data()?;
        Ok(known)
    }

    fn note(&mut self, line: &[u8]) {
        if is_whole(line)
            && let Ok(text) = std::str::from_utf8(line)
            && let Some(id) = compose::client_item_id(text)
        {
            let line = KnownLine { seq: self.lines, content: content(text) };
            self.ids.insert(xxh3_64(id.as_bytes()), line);
        }
    }
}

/// A batch with a torn line. A disk writes sectors in any order, so a power cut may leave a hole in a line and keep the
/// rest of the batch, which was never acknowledged. After other damage, such as a flipped bit, the whole lines stay: they
/// may have been acknowledged.
struct TornBatch {
    /// First byte of the torn line.
    start: u64,
    /// Time of the whole lines after it, which all lines of a batch share.
    time: Option<Vec<u8>>,
    /// Whether no line of a later batch follows. Otherwise an earlier version left the torn line in the file.
    is_last: bool,
}

impl TornBatch {
    fn at(start: u64) -> Self {
        Self { start, time: None, is_last: true }
    }

    fn note(&mut self, line: &[u8]) {
        let time = memchr::memmem::find(line, br#","type":"#).map(|end| line[..end].to_owned());
        self.is_last &= time.is_some() && (self.time.is_none() || self.time == time);
        self.time = time;
    }
}

/// Whether a line has a hole, which reads as zeros and ends at a sector, as no JSON and no flipped bit does: a single zero
/// within a sector was a space.
fn has_hole(line: &[u8], start: u64) -> bool {
    memchr::memchr_iter(0, line).any(|at| {
        let is_at_edge = matches!((start + at as u64) % SECTOR, 0 | LAST_OF_SECTOR);
        is_at_edge || line.get(at + 1) == Some(&0)
    })
}

/// Whether a line is complete, except for its newline: no proper prefix of an object is an object.
fn is_whole(rest: &[u8]) -> bool {
    rest.first() == Some(&b'{') && serde_json::from_slice::<serde::de::IgnoredAny>(rest).is_ok()
}

fn content(line: &str) -> u64 {
    xxh3_64(compose::content(line).unwrap_or_default().as_bytes())
}

fn digest(line: &Line) -> u64 {
    xxh3_64(line.client_item_id.as_bytes())
}
