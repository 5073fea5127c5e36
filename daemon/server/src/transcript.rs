//! Opens transcripts, splits them into lines and reads lines back. Everything that reads a transcript uses this
//! module, which never writes one.
//!
//! # Theory of operation
//!
//! A transcript is a *text* with offsets (bytes of the decompressed text), and a sequence of *pieces*, each with
//! its offset and digest. How they are read from disk depends on the source's layout
//! ([`longhaul_core::rollout::source::Layout`]):
//!
//! | layout | text | pieces |
//! |---|---|---|
//! | lines | the file, decompressed if it is `.zst` | its lines (`lines`) |
//! | assembled | lines made of the file | those lines (`lines`) |
//! | records | lines made of many files, or of rows of a database (`records`) | those lines (`lines`) |
//!
//! Plain text can be entered anywhere; compressed text only at its beginning.
//!
//! *A transcript edited in place* (a message is written again when more of it exists, or the whole file after every
//! turn) is converted to lines by a pure function of its source, from all of it. Lines are only appended while the session continues; they are read
//! like compressed text, from the beginning, and digests show whether lines already read are unchanged.
//!
//! *A deleted, changed or unreadable transcript* is read from the archive if the reader names a [`Fallback`]: its text has the
//! same offsets, unless secrets were replaced in it; then lines are found by number. A file of lines that was emptied counts
//! as deleted.
//!
//! *A line over the bound* is never held in memory: only its place, beginning and digest are kept. *A rest*
//! without a newline is a line only if it is a whole JSON object.

mod each_line;
mod lines;
mod open;
mod piece;
mod presence;
mod read_back;
pub(crate) mod records;

pub use each_line::each_line;
pub use lines::{LINE_BYTES_MAX, Lines};
pub use open::Fallback;
pub(crate) use open::{Text, Transcript};
pub use piece::{Content, Line, Piece};
pub(crate) use presence::Presence;
pub use read_back::{LineError, LineReader};
