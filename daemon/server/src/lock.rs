//! A lock file that names its holder.
//!
//! # Theory of operation
//! The lock is the kernel's (`flock`) on an open file, not the file's existence. It ends with its process, so a crash never
//! leaves a lock. The file is never removed, since after an unlink two processes could lock different files. The holder's
//! pid is written after the lock is taken, and the daemon's socket once it is bound, for the error message of the next
//! process; a crash in between, or a full disk, leaves a file without them, which only shortens that message.
//!
//! A killed process may hold its lock for a moment longer: while the kernel tears it down, or in a forked child that has
//! not called exec yet. So [`soon`] retries for [`PATIENCE`].
//!
//! If a person removes the file, the lock protects nothing; [`Lock::is_in_place`] detects that.

use std::fs::{File, Metadata, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::no_follow;

/// Bytes of a lock file to read for the pid, which has at most ten digits.
const PID_BYTES_MAX: u64 = 16;

/// How long to try to take a held lock.
///
/// # Source
/// Chosen: the kernel needs some milliseconds to tear down a process of 100 MiB.
pub const PATIENCE: Duration = Duration::from_secs(1);

/// Pause between two attempts.
const ATTEMPT: Duration = Duration::from_millis(10);

/// A held lock; dropping it releases it.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    /// The kernel's lock lives as long as the open file.
    file: File,
    /// Device and number of the file.
    identity: (u64, u64),
}

/// Why a lock could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("{} is held by {}", path.display(), holder(*pid))]
    Held {
        path: PathBuf,
        /// The holder, if its pid is in the file.
        pid: Option<u32>,
    },
    #[error("cannot lock {}", path.display())]
    Failed {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

fn holder(pid: Option<u32>) -> String {
    pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
}

impl Lock {
    /// Takes the lock at `path` without waiting.
    ///
    /// # Errors
    /// [`LockError::Held`] if another process has it, [`LockError::Failed`] if the file cannot be used.
    pub fn take(path: &Path) -> Result<Self, LockError> {
        let failed = |source| LockError::Failed { path: path.to_owned(), source };
        let mut file = open(path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(LockError::Held { path: path.to_owned(), pid: read_pid(&file) });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        write_pid(&mut file).map_err(failed)?;
        let identity = identity(&file.metadata().map_err(failed)?);
        Ok(Self { path: path.to_owned(), file, identity })
    }

    /// Adds the socket to the file, for a client that looks for the daemon on another one.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn name_socket(&self, socket: &Path) -> io::Result<()> {
        let mut line = socket.as_os_str().as_bytes().to_vec();
        line.push(b'\n');
        (&self.file).write_all(&line)
    }

    /// Whether the locked file is still the one at its path.
    pub fn is_in_place(&self) -> bool {
        let there = std::fs::symlink_metadata(&self.path);
        there.is_ok_and(|there| identity(&there) == self.identity)
    }
}

fn identity(file: &Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}

/// Retries `take` while the lock is held, for at most [`PATIENCE`].
pub async fn soon<T, E>(
    mut take: impl FnMut() -> Result<T, E>,
    is_held: impl Fn(&E) -> bool,
) -> Result<T, E> {
    let until = tokio::time::Instant::now() + PATIENCE;
    loop {
        match take() {
            Err(error) if is_held(&error) && tokio::time::Instant::now() < until => {
                tokio::time::sleep(ATTEMPT).await;
            }
            taken => return taken,
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = no_follow::options();
    options.read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// Replaces the pid of an earlier holder. A full disk has no room for a new one, but must not keep anyone from freeing some.
fn write_pid(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id()).ok();
    Ok(())
}

fn read_pid(file: &File) -> Option<u32> {
    let mut bytes = Vec::new();
    file.take(PID_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    String::from_utf8_lossy(&bytes).lines().next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_names_the_holder_and_the_lock_is_free_after_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        std::fs::write(&path, "123456789 left by a crash").unwrap();
        let first = Lock::take(&path).unwrap();
        for _ in 0..2 {
            match Lock::take(&path) {
                Err(LockError::Held { pid, .. }) => assert_eq!(pid, Some(std::process::id())),
                other => panic!("{other:?}"),
            }
            first.name_socket(Path::new("/run/é/v1.sock")).unwrap();
        }
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().nth(1), Some("/run/é/v1.sock"));
        drop(first);
        Lock::take(&path).unwrap();
    }

    #[test]
    fn a_lock_needs_no_room_for_its_pid() {
        use rustix::fs::{MemfdFlags, SealFlags};
        let file = rustix::fs::memfd_create("lock", MemfdFlags::ALLOW_SEALING).unwrap();
        rustix::fs::fcntl_add_seals(&file, SealFlags::GROW).unwrap();
        let mut file = File::from(file);
        assert!(file.write_all(b"1").is_err());
        write_pid(&mut file).unwrap();
        assert_eq!(read_pid(&file), None);
    }

    #[tokio::test]
    async fn a_lock_is_retried_until_its_process_has_ended() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let is_held = |error: &LockError| matches!(error, LockError::Held { .. });
        let mut first = Some(Lock::take(&path).unwrap());
        let mut attempts = 0;
        let second = soon(
            || {
                attempts += 1;
                first = first.take().filter(|_| attempts < 5);
                Lock::take(&path)
            },
            is_held,
        );
        let _second = second.await.unwrap();
        assert!(soon(|| Lock::take(&path), is_held).await.is_err(), "not for ever");
    }

    #[test]
    fn a_lock_whose_file_was_removed_or_replaced_protects_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let lock = Lock::take(&path).unwrap();
        assert!(lock.is_in_place());
        std::fs::remove_file(&path).unwrap();
        assert!(!lock.is_in_place());
        let _other = Lock::take(&path).unwrap();
        assert!(!lock.is_in_place());
    }

    #[test]
    fn a_symbolic_link_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (target, path) = (dir.path().join("target"), dir.path().join("lock"));
        std::fs::write(&target, "precious").unwrap();
        std::os::unix::fs::symlink(&target, &path).unwrap();
        assert!(matches!(Lock::take(&path), Err(LockError::Failed { .. })));
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "precious");
    }
}
