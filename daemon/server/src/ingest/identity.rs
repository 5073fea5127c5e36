//! Is this still the file that was read? Answered by as few bytes as will do.
//!
//! A path says nothing: agents archive, compress, migrate and rewrite in place, keeping the name.
//! Same device, inode, size and time: nothing to do, and nothing read. Same inode and longer, with the
//! same beginning and the same bytes before the cursor: it was appended to. That bytes in its middle changed at the
//! same time is found out at once in a file of up to [`WHOLE_BYTES_MAX`], whose lines are all compared, and in a
//! longer one when it comes to rest (`recheck`). Everything else (another
//! inode, the same size at another time, a compressed file) is decided by reading the lines up to the
//! cursor once more and comparing the chain of their digests, which costs a tenth of folding them. A
//! document is never appended to: any change is another content.

use std::io;

use longhaul_core::digest::Digest128;
use longhaul_store::Cursor;

use crate::discovery::catalogue::Known;
use crate::transcript::{Line, Piece, Pieces, Transcript};

/// Bytes of the first line that identify a file.
const HEAD_BYTES_MAX: u64 = 64 << 10;

/// Bytes before the cursor that must be what they were.
const TAIL_BYTES_MAX: u64 = 4 << 10;

/// Bytes before the cursor that are compared as a whole when a file has grown.
///
/// # Source
/// Chosen: they are read and digested in less than a millisecond, which a line of an agent may cost.
pub(crate) const WHOLE_BYTES_MAX: u64 = 1 << 20;

/// How to go on with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Unchanged,
    /// What was read stands; read on from the cursor.
    Append,
    /// Another content: a new generation.
    Anew,
}

/// Compares an open file with what is known of it.
pub(crate) fn judge(
    transcript: &Transcript,
    known: &Known,
    line_bytes_max: usize,
) -> io::Result<Verdict> {
    let (now, then, cursor) = (transcript.stat, known.stat, &known.cursor);
    if !known.is_readable {
        return Ok(Verdict::Anew);
    }
    if now == then {
        return Ok(Verdict::Unchanged);
    }
    // A document is written anew as a whole: whatever changed, its items have other places.
    if transcript.is_document() || (!transcript.compressed && now.size < cursor.offset) {
        return Ok(Verdict::Anew);
    }
    let has_grown = (now.dev, now.ino) == (then.dev, then.ino) && now.size > then.size;
    let is_same = if has_grown && !transcript.compressed && cursor.offset > WHOLE_BYTES_MAX {
        has_same_ends(transcript, cursor)?
    } else {
        let walk = Walk::default();
        compare(transcript, cursor, (walk, u64::MAX), line_bytes_max)? == Compared::Same
    };
    Ok(if is_same { Verdict::Append } else { Verdict::Anew })
}

fn has_same_ends(transcript: &Transcript, cursor: &Cursor) -> io::Result<bool> {
    let head = transcript.bytes_at(0, cursor.head_bytes)?;
    let tail = transcript.bytes_at(cursor.offset - cursor.tail_bytes, cursor.tail_bytes)?;
    Ok((cursor.head_bytes == 0 || Digest128::of(&head) == cursor.head_digest)
        && (cursor.tail_bytes == 0 || Digest128::of(&tail) == cursor.tail_digest))
}

/// How far the lines of a file were compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Walk {
    pub(crate) at: u64,
    pub(crate) chain: Digest128,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compared {
    Same,
    Changed,
    /// Not all of them yet.
    More(Walk),
}

/// Compares the lines before the cursor with those that were folded, from where `walk` stopped and about
/// `bytes_max` of them.
pub(crate) fn compare(
    transcript: &Transcript,
    cursor: &Cursor,
    (walk, bytes_max): (Walk, u64),
    line_bytes_max: usize,
) -> io::Result<Compared> {
    let Walk { mut at, mut chain } = walk;
    let pause = at.saturating_add(bytes_max);
    let mut pieces = Pieces::of(transcript, at, line_bytes_max)?;
    while at < cursor.offset {
        if at >= pause {
            return Ok(Compared::More(Walk { at, chain }));
        }
        let line = match pieces.next()? {
            Piece::Line(line) => line,
            // Only the line that had no newline when it was folded may still have none.
            Piece::End { offset, rest } => {
                // The first half of its end may be there.
                let whole = rest.strip_suffix(b"\r").unwrap_or(rest);
                match Line::of_rest(offset, whole) {
                    Some(line) if cursor.open_end && line.next == cursor.offset => line,
                    _ => return Ok(Compared::Changed),
                }
            }
        };
        chain = line.link(chain);
        // It may have its newline by now.
        let is_closed = cursor.open_end && line.offset + line.bytes == cursor.offset;
        at = if is_closed { cursor.offset } else { line.next };
    }
    let is_same = at == cursor.offset && chain == cursor.chain;
    Ok(if is_same { Compared::Same } else { Compared::Changed })
}

/// Sets the digests of the file's two ends in a cursor whose offset is new.
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

/// Length and digest of the first line's beginning; 0 bytes while the line is not complete.
pub(crate) fn head(transcript: &Transcript) -> io::Result<(u64, Digest128)> {
    let bytes = transcript.bytes_at(0, HEAD_BYTES_MAX)?;
    let length = match memchr::memchr(b'\n', &bytes) {
        Some(at) => at + 1,
        None if bytes.len() as u64 == HEAD_BYTES_MAX => bytes.len(),
        None => 0,
    };
    Ok((length as u64, Digest128::of(&bytes[..length])))
}
