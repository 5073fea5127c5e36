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
//! | lines | the file, decompressed if it is `.zst` | its lines ([`lines`]) |
//! | document | the file | its identity and its items ([`document`]) |
//!
//! Plain text is entered anywhere; compressed text from its beginning only. A document has no place
//! where reading may be taken up: it is rewritten as a whole, and read as a whole.
//!
//! *A thread that is assembled* from several files or from the rows of a database is a third layout:
//! its text is made up, one line a file or a row, in an order that later ones only add to. Then it is a
//! [`Text`] that reads like a compressed one (from its beginning), [`lines`] splits it, and digests tell
//! whether what was read still stands. What is listed for it, and which stat says that it changed, is
//! for `discovery::scan`.
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

pub use each_line::{LINE_BYTES_MAX, each_line};
pub(crate) use open::{Transcript, stat_of};
pub(crate) use piece::{Content, Line, Piece};
pub(crate) use pieces::Pieces;
pub use read_back::{LineError, LineReader};
