//! The log of a daemon that is started without systemd: one file, and the one before it.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use longhaul_client::socket;

use crate::failure::{A_PERSON, Failure};

/// Bytes after which the next start begins a new file.
const LOG_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Bytes at its end that are searched for the last line.
const TAIL_BYTES: u64 = 4 * 1024;

/// The log file; its folder is made if it is not there.
pub(super) fn file() -> Result<PathBuf, Failure> {
    let no_home = || Failure::new(A_PERSON, "there is no home folder to keep the state in");
    let folder = socket::default_state_dir()
        .ok_or_else(no_home)
        .map_err(|failure| failure.with_hint("set LONGHAUL_STATE_DIR"))?;
    DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    Ok(folder.join("longhauld.log"))
}

/// Opens it for appending. A large one makes room first; only one older file is kept.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let is_large = std::fs::metadata(path).is_ok_and(|file| file.len() > LOG_BYTES_MAX);
    if is_large {
        std::fs::rename(path, path.with_extension("log.old"))?;
    }
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

/// What the daemon said last.
pub(super) fn last_line(path: &Path) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES))).ok()?;
    let mut tail = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut tail).ok()?;
    let tail = String::from_utf8_lossy(&tail);
    tail.lines().rev().find(|line| !line.trim().is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_large_log_makes_room_and_the_last_line_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("longhauld.log");
        open(&path).unwrap().write_all(&vec![b'x'; 5 * 1024 * 1024]).unwrap();
        open(&path).unwrap().write_all(b"first\nlast words\n\n").unwrap();
        assert_eq!(last_line(&path).as_deref(), Some("last words"));
        assert!(folder.path().join("longhauld.log.old").exists());
        assert_eq!(last_line(Path::new("/no/such/file")), None);
    }
}
