//! Reads the logs, merged by time, newest first, in bounded memory.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use longhaul_core::message_history::{Header, Message};
use longhaul_core::redact::redact;
use longhaul_protocol::message_history::Log;

use super::{LogOwner, MessageHistoryError};

/// Maximum bytes of a line to read; a longer one is counted and skipped.
const LINE_BYTES_MAX: u64 = 4 << 20;

/// Selects prompts. Absent fields match all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    pub log_id: Option<String>,
    pub offset: Option<u64>,
    /// Words that must all occur, in any case.
    pub words: Vec<String>,
    pub origin: Option<LogOwner>,
    pub thread_id: Option<String>,
    pub cwd: Option<String>,
    /// Maximum prompts, at least one.
    pub limit: usize,
    pub before: Option<Place>,
}

/// A place in the order of all prompts; older places are smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub at_ms: i64,
    pub origin: LogOwner,
    pub offset: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptMatch {
    pub place: Place,
    pub log_id: String,
    /// The prompt, redacted.
    pub message: Message,
}

/// Prompts, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    pub found: Vec<PromptMatch>,
    pub logs: Vec<Log>,
    /// The start of the next page, if there is one.
    pub next: Option<Place>,
}

pub(super) fn lookup(
    logs: &[(LogOwner, PathBuf)],
    filter: &Filter,
) -> Result<Page, MessageHistoryError> {
    let mut newest = Newest { found: BTreeMap::new(), max: filter.limit.max(1) + 1 };
    let mut page = Page::default();
    for (origin, path) in logs {
        if filter.origin.is_some_and(|wanted| wanted != *origin) {
            continue;
        }
        let failed = |source| MessageHistoryError::File { path: path.clone(), source };
        page.logs.extend(read(*origin, path, filter, &mut newest).map_err(failed)?);
    }
    let mut found: Vec<PromptMatch> = newest.found.into_values().rev().collect();
    if found.len() > filter.limit.max(1) {
        found.truncate(filter.limit.max(1));
        page.next = found.last().map(|found| found.place);
    }
    page.found = found;
    Ok(page)
}

struct Newest {
    found: BTreeMap<Place, PromptMatch>,
    max: usize,
}

impl Newest {
    fn add(&mut self, found: PromptMatch) {
        self.found.insert(found.place, found);
        if self.found.len() > self.max {
            self.found.pop_first();
        }
    }
}

/// Reads one log; `None` if it does not exist or has another id.
fn read(
    origin: LogOwner,
    path: &Path,
    filter: &Filter,
    newest: &mut Newest,
) -> io::Result<Option<Log>> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    if !file.metadata()?.is_file() {
        return Ok(None);
    }
    let inode = file.metadata()?.ino();
    let mut lines = Lines { reader: BufReader::with_capacity(256 << 10, file), line: Vec::new() };
    let (log_id, first) = match origin {
        // Codex's log has its inode as its id, as in Codex itself.
        LogOwner::Codex => (format!("codex-{inode}"), 0),
        LogOwner::Longhaul => match lines.next()?.and_then(Header::parse) {
            Some(header) => (header.log_id, header.base),
            None => return Ok(None),
        },
    };
    if filter.log_id.as_ref().is_some_and(|wanted| *wanted != log_id) {
        return Ok(None);
    }
    let mut next = first;
    while let Some(line) = lines.next()? {
        let offset = next;
        next += 1;
        if filter.offset.is_some_and(|wanted| wanted != offset) {
            continue;
        }
        let Some(mut message) = Message::parse(line) else { continue };
        let place = Place { at_ms: message.at_ms, origin, offset };
        if filter.matches(place, &message) {
            message.text = redact(&message.text).text.into_owned();
            newest.add(PromptMatch { place, log_id: log_id.clone(), message });
        }
    }
    Ok(Some(Log {
        source: origin.into_str().to_owned(),
        log_id,
        path: path.display().to_string(),
        first,
        next,
    }))
}

impl Filter {
    fn matches(&self, place: Place, message: &Message) -> bool {
        let equals =
            |wanted: &Option<String>, given: &Option<String>| wanted.is_none() || wanted == given;
        self.before.is_none_or(|before| place < before)
            && equals(&self.thread_id, &message.thread_id)
            && equals(&self.cwd, &message.cwd)
            && self.has_words(&message.text)
    }

    fn has_words(&self, text: &str) -> bool {
        if self.words.is_empty() {
            return true;
        }
        let text = text.to_lowercase();
        self.words.iter().all(|word| text.contains(&word.to_lowercase()))
    }
}

/// The complete lines of a file; a line over the bound is empty.
struct Lines {
    reader: BufReader<File>,
    line: Vec<u8>,
}

impl Lines {
    fn next(&mut self) -> io::Result<Option<&[u8]>> {
        let mut is_long = false;
        loop {
            self.line.clear();
            let mut bounded = self.reader.by_ref().take(LINE_BYTES_MAX);
            let read = bounded.read_until(b'\n', &mut self.line)? as u64;
            match self.line.last() {
                Some(b'\n') if is_long => return Ok(Some(&[])),
                Some(b'\n') => return Ok(Some(self.line.trim_ascii_end())),
                _ if read < LINE_BYTES_MAX => return Ok(None),
                _ => is_long = true,
            }
        }
    }
}
