//! Finds transcripts and detects which have changed, by names and stats, without reading content.
//!
//! A **hint** (`watch`) or a **listing** (`scan`) names the files that may have changed. Hints may be lost or
//! duplicated; the listing corrects that, at one `stat` per file. `plan` compares it with the `catalogue`: a file
//! with the same device, inode, size and time is not read.

pub(crate) mod catalogue;
pub(crate) mod databases;
pub(crate) mod names;
pub(crate) mod plan;
pub(crate) mod scan;
pub(crate) mod watch;

pub use catalogue::Counts;
pub use scan::Root;
