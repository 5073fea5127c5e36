//! Which transcripts there are, and which of them have changed: names and stats, no content.
//!
//! A **hint** (`watch`) or a **listing** (`scan`) says which files may have changed. Hints may be lost
//! or doubled; the listing repairs. It costs one `stat` a file. `plan` compares it with the
//! `catalogue`: same device, inode, size and time means that no byte is read.

pub(crate) mod catalogue;
pub(crate) mod databases;
pub(crate) mod names;
pub(crate) mod plan;
pub(crate) mod scan;
pub(crate) mod watch;

pub use catalogue::Counts;
pub use scan::Root;
