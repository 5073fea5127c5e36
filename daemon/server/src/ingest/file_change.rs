//! Decides whether a file is still the one that was read, reading as few bytes as possible.
//!
//! The path proves nothing: agents archive, compress, migrate and rewrite files in place under the same name.
//!
//! - Same device, inode, size and time: unchanged; nothing is read.
//! - Same inode and longer, with the same beginning and the same bytes before the cursor: appended to. A
//!   simultaneous change in the middle is detected at once in a file of up to [`WHOLE_BYTES_MAX`], whose lines are
//!   all compared, and in a longer one when it stops growing (`recheck`).
//! - Anything else (another inode, the same size at another time, a compressed file): the lines up to the cursor
//!   are read again and the chain of their digests compared, which costs a tenth of folding them.
//! - A compressed file that ends within a frame and lacks what was read is not new content, but cannot be read now.

use std::io;

use longhaul_core::digest::Digest128;
use longhaul_store::Cursor;

use crate::discovery::catalogue::KnownFile;
use crate::transcript::{Line, Piece, Transcript};

/// Maximum bytes of the first line that identify a file.
const HEAD_BYTES_MAX: u64 = 64 << 10;

/// Bytes before the cursor that must not have changed.
const TAIL_BYTES_MAX: u64 = 4 << 10;

/// If the cursor is no further than this, all bytes before it are compared when the file grows.
///
/// # Source
/// Chosen: they are read and digested in less than a millisecond, an acceptable cost for each appended line.
pub(crate) const WHOLE_BYTES_MAX: u64 = 1 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileChange {
    Unchanged,
    /// The part already read is unchanged; continue at the cursor.
    Append,
    /// Different content: start a new generation.
    NewContent,
}

/// Compares an open file with its catalogue entry.
pub(crate) fn judge(
    transcript: &Transcript,
    known: &KnownFile,
    line_bytes_max: usize,
) -> io::Result<FileChange> {
    let (now, then, cursor) = (transcript.stat, known.stat, &known.cursor);
    if !known.is_readable {
        return Ok(FileChange::NewContent);
    }
    if now == then {
        return Ok(FileChange::Unchanged);
    }
    if !transcript.compressed && now.size < cursor.offset {
        return Ok(FileChange::NewContent);
    }
    let has_grown = (now.dev, now.ino) == (then.dev, then.ino) && now.size > then.size;
    let is_same = if has_grown && !transcript.compressed && cursor.offset > WHOLE_BYTES_MAX {
        has_same_ends(transcript, cursor)?
    } else {
        let walk = Walk::default();
        compare(transcript, cursor, (walk, u64::MAX), line_bytes_max)? == Compared::Same
    };
    if !is_same && transcript.is_cut_off()? {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the compressed file is cut off"));
    }
    Ok(if is_same { FileChange::Append } else { FileChange::NewContent })
}

fn has_same_ends(transcript: &Transcript, cursor: &Cursor) -> io::Result<bool> {
    let head = transcript.bytes_at(0, cursor.head_bytes)?;
    let tail = transcript.bytes_at(cursor.offset - cursor.tail_bytes, cursor.tail_bytes)?;
    Ok((cursor.head_bytes == 0 || Digest128::of(&head) == cursor.head_digest)
        && (cursor.tail_bytes == 0 || Digest128::of(&tail) == cursor.tail_digest))
}

/// Position of an incremental comparison of a file's lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Walk {
    pub(crate) at: u64,
    pub(crate) chain: Digest128,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compared {
    Same,
    Changed,
    /// Lines remain to compare.
    More(Walk),
}

/// Compares the lines before the cursor with those that were folded, starting at `walk`, for about `bytes_max`
/// bytes.
pub(crate) fn compare(
    transcript: &Transcript,
    cursor: &Cursor,
    (walk, bytes_max): (Walk, u64),
    line_bytes_max: usize,
) -> io::Result<Compared> {
    let Walk { mut at, mut chain } = walk;
    let pause = at.saturating_add(bytes_max);
    let mut pieces = transcript.lines_from(at, line_bytes_max)?;
    while at < cursor.offset {
        if at >= pause {
            return Ok(Compared::More(Walk { at, chain }));
        }
        let line = match pieces.next_piece()? {
            Piece::Line(line) => line,
            // Only a line that had no newline when it was folded may still have none.
            Piece::End { offset, rest } => {
                // The first half of its CRLF may be present.
                let whole = rest.strip_suffix(b"\r").unwrap_or(rest);
                match Line::of_rest(offset, whole) {
                    Some(line) if cursor.open_end && line.next == cursor.offset => line,
                    _ => return Ok(Compared::Changed),
                }
            }
        };
        chain = line.link(chain);
        // The newline may have been written since.
        let is_closed = cursor.open_end && line.offset + line.bytes == cursor.offset;
        at = if is_closed { cursor.offset } else { line.next };
    }
    let is_same = at == cursor.offset && chain == cursor.chain;
    Ok(if is_same { Compared::Same } else { Compared::Changed })
}

/// Sets the digests of the file's first and last bytes for the cursor's new offset.
pub(crate) fn mark_ends(transcript: &Transcript, cursor: &mut Cursor) -> io::Result<()> {
    if cursor.head_bytes == 0 {
        (cursor.head_bytes, cursor.head_digest) = head(transcript)?;
    }
    if transcript.compressed {
        (cursor.tail_bytes, cursor.tail_digest) = (0, Digest128::default());
        return Ok(());
    }
    let count = cursor.offset.min(TAIL_BYTES_MAX);
    let tail = transcript.bytes_at(cursor.offset - count, count)?;
    (cursor.tail_bytes, cursor.tail_digest) = (tail.len() as u64, Digest128::of(&tail));
    Ok(())
}

/// Length and digest of the beginning of the first line; 0 bytes while the line is incomplete.
pub(crate) fn head(transcript: &Transcript) -> io::Result<(u64, Digest128)> {
    let bytes = transcript.bytes_at(0, HEAD_BYTES_MAX)?;
    let length = match memchr::memchr(b'\n', &bytes) {
        Some(at) => at + 1,
        None if bytes.len() as u64 == HEAD_BYTES_MAX => bytes.len(),
        None => 0,
    };
    Ok((length as u64, Digest128::of(&bytes[..length])))
}
