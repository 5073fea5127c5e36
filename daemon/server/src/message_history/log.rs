//! Our own file: appended to, and trimmed when it is full. The caller holds the lock.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use longhaul_core::message_history::{Header, Message, lines_to_drop};

/// Bytes of the file that are read: more than any bound allows it to have.
const FILE_BYTES_MAX: u64 = 256 << 20;

/// For the user alone.
const MODE: u32 = 0o600;

/// Where a prompt was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    pub log_id: String,
    pub offset: u64,
    /// Old prompts that made room.
    pub trimmed: u64,
}

/// A file as it stands.
struct Content {
    text: Vec<u8>,
    header: Header,
    /// Whether the header stands in the file.
    is_ours: bool,
    /// First byte after the header, and after the last whole line.
    start: usize,
    end: usize,
}

/// Whether two prompts are the same but for their time.
pub(super) fn is_same(one: &Message, other: &Message) -> bool {
    Message { at_ms: 0, ..one.clone() } == Message { at_ms: 0, ..other.clone() }
}

/// Where the file is made that takes the place of the one at `path`.
pub(super) fn unfinished(path: &Path) -> PathBuf {
    path.with_extension("jsonl.new")
}

/// Appends a prompt to the file at `path`, which is made, named `new_log_id`, when it is not there. One that `is_again`
/// appended, because nobody could tell whether it was kept, and stands there, is only made durable.
pub(super) fn append(
    path: &Path,
    message: &Message,
    (max_bytes, is_again): (u64, bool),
    new_log_id: String,
) -> io::Result<Kept> {
    let mut file = open(path)?;
    let content = Content::read(&mut file, new_log_id)?;
    let Content { text, header, start, end, .. } = &content;
    let line = message.line();
    let lines: Vec<&[u8]> = text[*start..*end].split_inclusive(|byte| *byte == b'\n').collect();
    let last = lines.last().and_then(|line| Message::parse(line));
    if is_again && last.is_some_and(|last| is_same(&last, message)) {
        file.sync_data()?;
        sync_folder(path)?;
        let offset = header.base + lines.len() as u64 - 1;
        return Ok(Kept { log_id: header.log_id.clone(), offset, trimmed: 0 });
    }
    let mut lengths: Vec<u64> = lines.iter().map(|line| line.len() as u64).collect();
    lengths.push(line.len() as u64);
    let room = max_bytes.saturating_sub(header.line().len() as u64);
    let dropped = lines_to_drop(&lengths, room);
    let kept = Kept {
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

fn open(path: &Path) -> io::Result<File> {
    let no_follow = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or(0);
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true).mode(MODE).custom_flags(no_follow);
    let file = options.open(path)?;
    if file.metadata()?.permissions().mode() & 0o777 != MODE {
        file.set_permissions(Permissions::from_mode(MODE))?;
    }
    Ok(file)
}

fn append_line(file: &mut File, content: &Content, line: &str) -> io::Result<()> {
    let end = content.end as u64;
    if content.end < content.text.len() {
        // Torn by a crash: nobody was told that it is kept.
        file.set_len(end)?;
    }
    let written = file.write_all(line.as_bytes()).and_then(|()| file.sync_data());
    if written.is_err() {
        // Should this fail, too, a torn line is left, which the next append cuts off.
        file.set_len(end).ok();
    }
    written
}

/// Puts `text` in the file's place, whole: a crash leaves the old file or this one.
fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let new = unfinished(path);
    // A crash may have left one.
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(MODE).open(&new)?;
    let written =
        file.write_all(text).and_then(|()| file.sync_all()).and_then(|()| fs::rename(&new, path));
    if let Err(error) = written {
        fs::remove_file(&new).ok();
        return Err(error);
    }
    sync_folder(path)
}

fn sync_folder(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
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
