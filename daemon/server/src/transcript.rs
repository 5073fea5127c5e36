//! Transcripts opened, split into lines and given back. Everything that reads one goes through here, and
//! nothing here ever writes one.
//!
//! # Theory of operation
//!
//! A transcript is a *text* with places in it (bytes of the decompressed text), and a sequence of
//! *pieces*, each with its place and its digest. How both come out of the disk is the layout of its
//! source ([`longhaul_core::rollout::source::Layout`]):
//!
//! | layout | text | pieces |
//! |---|---|---|
//! | lines | the file, decompressed if it is `.zst` | its lines (`lines`) |
//! | document | the file | its identity and its items (`document`) |
//! | assembled | lines made of the file | those lines (`lines`) |
//! | records | lines made of many files, or of rows of a database (`records`) | those lines (`lines`) |
//!
//! Plain text is entered anywhere; compressed text from its beginning only. A document has no place
//! where reading may be taken up: it is rewritten as a whole, and read as a whole.
//!
//! *A transcript that is changed in places* (a message stands again when more of it is there) is put into lines
//! by a pure function of its source, from all of it. The lines are only added to while the session goes
//! on; they read like a compressed text, from their beginning, and digests tell whether what was read still
//! stands.
//!
//! *A transcript that is gone*, or says something else by now, is read from the archive where the reader names a
//! [`Fallback`]: its text has the same places, unless secrets were replaced in it. Then lines are found by their number.
//!
//! *A line over the bound* is never held: it is known by its place, its beginning and its digest. *A
//! rest* without a newline is a line only when it is a whole JSON object.

mod document;
mod each_line;
mod lines;
mod open;
mod piece;
mod pieces;
mod read_back;
pub(crate) mod records;

pub use each_line::{LINE_BYTES_MAX, each_line};
pub use open::Fallback;
pub(crate) use open::{Transcript, stat_of};
pub(crate) use piece::Piece;
pub use piece::{Content, Line};
pub(crate) use pieces::Pieces;
pub use pieces::{Rest, each_piece};
pub use read_back::{LineError, LineReader};
