//! Opens a file of an agent for reading only.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

/// Maximum bytes of an assembled transcript, which is held in memory.
pub(super) const ASSEMBLED_BYTES_MAX: u64 = 256 << 20;

/// Opens a regular file for reading.
///
/// # Errors
/// It is a link or not a regular file, or cannot be opened.
pub(super) fn open_file(path: &Path) -> io::Result<(File, Metadata)> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "not a regular file"));
    }
    Ok((file, meta))
}

pub(super) fn too_large() -> io::Error {
    io::Error::new(ErrorKind::FileTooLarge, "over 256 MiB, too large to read as a whole")
}
