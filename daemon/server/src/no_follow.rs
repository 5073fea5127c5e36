//! Opens files without following a link in the last part of their path, and without waiting for a pipe.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

/// Options for opening a file of ours; a link in its place is an error.
pub fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed());
    options
}

/// Opens a regular file for reading.
///
/// # Errors
/// It is a link or not a regular file, or cannot be opened.
pub fn regular(path: &Path) -> io::Result<(File, Metadata)> {
    let file = options().read(true).open(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "not a regular file"));
    }
    Ok((file, meta))
}

/// The first `bytes_max` bytes of a regular file.
pub fn read(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    regular(path)?.0.take(bytes_max).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_regular_file_is_opened() {
        let temp = tempfile::tempdir().unwrap();
        let (file, link) = (temp.path().join("file"), temp.path().join("link"));
        std::fs::write(&file, "x").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let pipe = temp.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
        assert!(regular(&file).is_ok());
        for other in [&link, &pipe, &temp.path().to_owned()] {
            assert!(regular(other).is_err(), "{}", other.display());
        }
        assert!(options().read(true).append(true).open(&link).is_err());
    }
}
