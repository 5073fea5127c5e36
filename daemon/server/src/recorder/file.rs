//! Opening the files: for the user alone, and never through a link.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

fn options() -> OpenOptions {
    let no_follow = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or(0);
    let mut options = OpenOptions::new();
    options.mode(0o600).custom_flags(no_follow);
    options
}

/// A new file; never one that is there already.
pub(super) fn create(path: &Path) -> io::Result<File> {
    options().write(true).create_new(true).open(path)
}

/// A file that is there, to be read and added to.
pub(super) fn open(path: &Path) -> io::Result<File> {
    options().read(true).append(true).open(path)
}
