//! Bounds of files that are read as a whole.

use std::io::{self, ErrorKind};

/// Maximum bytes of an assembled transcript, which is held in memory.
pub(super) const ASSEMBLED_BYTES_MAX: u64 = 256 << 20;

pub(super) fn too_large() -> io::Error {
    io::Error::new(ErrorKind::FileTooLarge, "over 256 MiB, too large to read as a whole")
}
