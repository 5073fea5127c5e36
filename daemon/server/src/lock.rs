//! One owner at a time: a lock file that names its holder.
//!
//! # Theory of operation
//! The lock is the kernel's (`flock`) on an open file, not the file's existence: it ends with its
//! process, however that ends, so a crash never leaves a lock behind. The file itself is never removed,
//! since a process that unlinks a lock file lets two others each lock a different one. The holder's pid
//! is written into it after the lock is taken, for the message of whoever comes second; a crash between
//! the two leaves a file without a pid, which only makes that message shorter.
//!
//! A process that was killed may hold its lock for a moment longer: while the kernel takes it apart, or in a
//! child it had forked that has not become its program yet. So [`soon`] tries again for [`PATIENCE`].
//!
//! A person may remove the file. Then the lock guards nothing any more: [`Lock::is_in_place`] tells.

use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Bytes read of a lock file: a pid has at most ten digits.
const PID_BYTES_MAX: u64 = 16;

/// How long a lock that is held is tried for.
///
/// # Source
/// Chosen: the kernel needs some milliseconds to take a process of 100 MiB apart.
pub const PATIENCE: Duration = Duration::from_secs(1);

/// Time between two attempts.
const ATTEMPT: Duration = Duration::from_millis(10);

/// A held lock; dropping it lets go.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    /// The kernel's lock lives as long as the open file.
    file: File,
}

/// Why a lock was not taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process holds it.
    #[error("{} is held by {}", path.display(), holder(*pid))]
    Held {
        path: PathBuf,
        /// The holder, where it had the time to say so.
        pid: Option<u32>,
    },
    /// The lock file cannot be opened or written.
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
    /// Takes the lock at `path`, or says who has it; never waits.
    ///
    /// # Errors
    /// [`LockError::Held`] when another process has it, [`LockError::Failed`] when the file cannot be used.
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
        Ok(Self { path: path.to_owned(), file })
    }

    /// Whether the file that is locked is still the one at its path.
    pub fn is_in_place(&self) -> bool {
        let identity = |found: Metadata| (found.dev(), found.ino());
        let there = std::fs::symlink_metadata(&self.path).map(identity);
        matches!((there, self.file.metadata().map(identity)), (Ok(there), Ok(own)) if there == own)
    }
}

/// Takes what `take` takes as soon as nobody holds it any more, within [`PATIENCE`].
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
    let no_follow = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or(0);
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(no_follow)
        .open(path)
}

fn write_pid(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

fn read_pid(file: &File) -> Option<u32> {
    let mut text = String::new();
    file.take(PID_BYTES_MAX).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_told_who_the_first_is_and_comes_in_when_it_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        std::fs::write(&path, "123456789 left by a crash").unwrap();
        let first = Lock::take(&path).unwrap();
        match Lock::take(&path) {
            Err(LockError::Held { pid, .. }) => assert_eq!(pid, Some(std::process::id())),
            other => panic!("{other:?}"),
        }
        drop(first);
        Lock::take(&path).unwrap();
    }

    #[tokio::test]
    async fn a_lock_of_a_process_that_is_being_taken_apart_is_waited_for() {
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
    fn a_lock_whose_file_was_removed_or_replaced_guards_nothing() {
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
