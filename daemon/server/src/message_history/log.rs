//! Appends to the daemon's file, and trims it when it is full. The caller holds the lock.

use std::fs::{File, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use longhaul_core::message_history::{Header, Message, lines_to_drop};

use crate::{folder, no_follow};

/// Bytes to read of the file: more than any configured bound.
const FILE_BYTES_MAX: u64 = 256 << 20;

const MODE: u32 = 0o600;

/// The line of an erased prompt.
const ERASED: &[u8] = b"{}\n";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptEntry {
    pub log_id: String,
    pub offset: u64,
    /// Number of old prompts removed to make room.
    pub trimmed: u64,
}

/// The content of the file.
struct Content {
    text: Vec<u8>,
    header: Header,
    /// Whether the file has a header.
    is_ours: bool,
    /// The first byte after the header, and after the last complete line.
    start: usize,
    end: usize,
}

/// Whether two prompts differ only in their time.
pub(super) fn is_same(one: &Message, other: &Message) -> bool {
    Message { at_ms: 0, ..one.clone() } == Message { at_ms: 0, ..other.clone() }
}

/// The path of the unfinished file that will replace the one at `path`.
pub(super) fn unfinished(path: &Path) -> PathBuf {
    path.with_extension("jsonl.new")
}

/// Appends a prompt to the file at `path`, which is created with the id `new_log_id` if it does not exist. If the append
/// `is_again` tried after a failure and the prompt is already in the file, this only syncs it.
pub(super) fn append(
    path: &Path,
    message: &Message,
    (max_bytes, is_again): (u64, bool),
    new_log_id: String,
) -> io::Result<PromptEntry> {
    let mut file = open(path)?;
    let content = Content::read(&mut file, new_log_id)?;
    let Content { text, header, start, end, .. } = &content;
    let line = message.line();
    let lines: Vec<&[u8]> = text[*start..*end].split_inclusive(|byte| *byte == b'\n').collect();
    let last = lines.last().and_then(|line| Message::parse(line));
    if is_again && last.is_some_and(|last| is_same(&last, message)) {
        file.sync_data()?;
        folder::sync_folder_of(path)?;
        let offset = header.base + lines.len() as u64 - 1;
        return Ok(PromptEntry { log_id: header.log_id.clone(), offset, trimmed: 0 });
    }
    let mut lengths: Vec<u64> = lines.iter().map(|line| line.len() as u64).collect();
    lengths.push(line.len() as u64);
    let room = max_bytes.saturating_sub(header.line().len() as u64);
    let dropped = lines_to_drop(&lengths, room);
    let kept = PromptEntry {
        log_id: header.log_id.clone(),
        offset: header.base + lines.len() as u64,
        trimmed: dropped as u64,
    };
    if dropped == 0 && content.is_ours {
        append_line(&mut file, &content, &line)?;
    } else {
        let header = Header { base: header.base + dropped as u64, ..header.clone() };
        let stay = lines[dropped.min(lines.len())..].concat();
        let text = [header.line().as_bytes(), &stay, line.as_bytes()].concat();
        replace(path, &text)?;
    }
    Ok(kept)
}

/// Replaces the prompts of a thread by empty objects, so that the others keep their numbers. Returns how many there were.
pub(super) fn erase(path: &Path, thread_id: &str) -> io::Result<u64> {
    if !path.exists() {
        return Ok(0);
    }
    let content = Content::read(&mut open(path)?, String::new())?;
    let Content { text, start, end, .. } = &content;
    let (mut new, mut erased) = (text[..*start].to_vec(), 0);
    for line in text[*start..*end].split_inclusive(|byte| *byte == b'\n') {
        let is_its = Message::parse(line)
            .is_some_and(|message| message.thread_id.as_deref() == Some(thread_id));
        erased += u64::from(is_its);
        new.extend_from_slice(if is_its { ERASED } else { line });
    }
    if erased > 0 {
        replace(path, &new)?;
    }
    Ok(erased)
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = no_follow::options();
    let file = options.read(true).append(true).create(true).mode(MODE).open(path)?;
    if file.metadata()?.permissions().mode() & 0o777 != MODE {
        file.set_permissions(Permissions::from_mode(MODE))?;
    }
    Ok(file)
}

fn append_line(file: &mut File, content: &Content, line: &str) -> io::Result<()> {
    let end = content.end as u64;
    if content.end < content.text.len() {
        // A torn line of a crash was never acknowledged.
        file.set_len(end)?;
    }
    let written = file.write_all(line.as_bytes()).and_then(|()| file.sync_data());
    if written.is_err() {
        // If this fails as well, a torn line remains, which the next append cuts off.
        file.set_len(end).ok();
    }
    written
}

fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    folder::replace(path, &unfinished(path), |file| file.write_all(text))
}

impl Content {
    fn read(file: &mut File, new_log_id: String) -> io::Result<Self> {
        let mut text = Vec::new();
        file.take(FILE_BYTES_MAX).read_to_end(&mut text)?;
        let end = memchr::memrchr(b'\n', &text).map_or(0, |at| at + 1);
        let first = memchr::memchr(b'\n', &text).map_or(0, |at| at + 1);
        let found = Header::parse(&text[..first]);
        let start = if found.is_some() { first } else { 0 };
        let is_ours = found.is_some();
        let header = found.unwrap_or(Header { log_id: new_log_id, base: 0 });
        Ok(Self { text, header, is_ours, start, end })
    }
}
