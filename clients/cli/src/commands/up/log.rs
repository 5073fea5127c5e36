//! The log of a daemon started without systemd: the current file and the previous one.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use longhaul_client::socket;

use crate::failure::{CONFIG, Failure};

/// Size in bytes above which the next start begins a new file.
const LOG_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Prefix of the daemon's error lines.
const COMPLAINT: &str = "longhauld: ";
/// Bytes at the log's end to search for the last error.
const TAIL_BYTES: u64 = 4 * 1024;

/// The path of the log with this name; creates its folder if missing.
pub(super) fn named(name: &str) -> Result<PathBuf, Failure> {
    let no_home = || {
        Failure::new(CONFIG, "there is no home folder to keep the state in")
            .with_hint("set LONGHAUL_STATE_DIR")
    };
    let folder = socket::default_state_dir().ok_or_else(no_home)?;
    let made = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
    made.map_err(|error| unwritable(&folder, &error))?;
    Ok(folder.join(name))
}

/// Opens the log for appending. A large one is renamed first, and replaces the previous one.
pub(super) fn open(path: &Path) -> Result<File, Failure> {
    let is_large = std::fs::metadata(path).is_ok_and(|file| file.len() > LOG_BYTES_MAX);
    let rotated = match is_large {
        true => std::fs::rename(path, path.with_extension("log.old")),
        false => Ok(()),
    };
    let open = || OpenOptions::new().create(true).append(true).mode(0o600).open(path);
    rotated.and_then(|()| open()).map_err(|error| unwritable(path, &error))
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::new(CONFIG, format!("cannot write {}: {error}", path.display()))
        .with_hint("make the folder writable, or set LONGHAUL_STATE_DIR to another one")
}

/// The length in bytes; 0 if the file does not exist.
pub(super) fn length(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |file| file.len())
}

/// Why the daemon ended, from its log: the last error line after the first `skip` bytes, else the last line there.
pub(super) fn last_error(path: &Path, skip: u64) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    // A shorter file is a new one.
    let begin = if skip > length { 0 } else { skip };
    file.seek(SeekFrom::Start(begin.max(length.saturating_sub(TAIL_BYTES)))).ok()?;
    let mut tail = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut tail).ok()?;
    let tail = String::from_utf8_lossy(&tail);
    let complaint = tail.lines().rev().find_map(|line| line.strip_prefix(COMPLAINT));
    let last = || tail.lines().rev().find(|line| !line.trim().is_empty());
    complaint.or_else(last).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn large_log_is_rotated_and_the_last_error_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("longhauld.log");
        open(&path).unwrap().write_all(&vec![b'x'; 5 * 1024 * 1024]).unwrap();
        open(&path).unwrap().write_all(b"before\n").unwrap();
        let skip = length(&path);
        assert_eq!(last_error(&path, skip), None);
        open(&path).unwrap().write_all(b"last line\n\n").unwrap();
        assert_eq!(last_error(&path, skip).as_deref(), Some("last line"));
        open(&path).unwrap().write_all(b"longhauld: the disk is full\nhint: h\n").unwrap();
        assert_eq!(last_error(&path, skip).as_deref(), Some("the disk is full"));
        assert!(folder.path().join("longhauld.log.old").exists());
        assert_eq!(last_error(Path::new("/no/such/file"), 0), None);
    }
}
