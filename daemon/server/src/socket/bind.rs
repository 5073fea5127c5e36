//! Acquires and releases the listening socket.
//!
//! # Theory of operation
//! Owned: the socket file and the lock file next to it. Steps: (1) create the folder with mode 0700 or verify it,
//! so that no other user can reach its contents, whatever their mode; (2) take the lock: from here on no other
//! daemon touches the path; (3) unlink a socket left by a crash, only a socket and only under the lock, so never
//! one in use; (4) bind; (5) set mode 0600. Released in reverse: the listener is closed first, the path unlinked
//! when the last connection ends, the lock released last.
//!
//! The path of a running daemon, or its whole folder (a recreated `/run/user`), may be removed: clients then
//! cannot connect, and another daemon could start. [`Claim::rebind`] repeats the steps, with a new lock if the
//! lock file is gone too; a live socket in its place belongs to another program and stays.
//!
//! A crash after (2) or later leaves the lock free and at most a dead socket file, which the next start removes in
//! (3). A socket that systemd handed over belongs to systemd: it is neither locked nor unlinked.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use longhaul_protocol::socket::PATH_BYTES_MAX;

use crate::folder::{self, FolderError};
use crate::lock::{Lock, LockError};

/// A listening socket and the claim to its path.
#[derive(Debug)]
pub struct BoundSocket {
    pub listener: UnixListener,
    /// Cleans up when dropped; `None` for a socket of systemd.
    pub claim: Option<Claim>,
    pub path: PathBuf,
}

/// The claim to a socket's path. Dropping it unlinks the path, then releases the lock.
#[derive(Debug)]
pub struct Claim {
    path: PathBuf,
    /// Device and inode of the bound socket: only that file is ever unlinked.
    identity: (u64, u64),
    lock: Lock,
    /// The state folder's lock; a daemon whose state is gone does not rebind.
    state: Option<Arc<Lock>>,
}

#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// The path has no folder or is too long for the kernel.
    #[error("cannot use {} as a socket: it must be an absolute path of at most {PATH_BYTES_MAX} bytes", path.display())]
    PathUnfit { path: PathBuf },
    /// The folder is not private.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// Another daemon serves this socket, or the lock cannot be used.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The path exists and is not our socket.
    #[error("{} exists and is not a longhaul socket: move it away", path.display())]
    Occupied { path: PathBuf },
    #[error("cannot listen on {}", path.display())]
    Failed {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl BoundSocket {
    /// Binds `path`, in the steps above.
    pub fn bind(path: &Path) -> Result<Self, BindError> {
        let unfit = || BindError::PathUnfit { path: path.to_owned() };
        let failed = |source| BindError::Failed { path: path.to_owned(), source };
        let fits = path.is_absolute() && path.as_os_str().len() <= PATH_BYTES_MAX;
        let folder = path.parent().filter(|_| fits).ok_or_else(unfit)?;
        folder::make_private(folder)?;
        let lock = Lock::take(&lock_path(path))?;
        remove_stale(path)?;
        let (listener, identity) = listen(path).map_err(failed)?;
        let claim = Claim { path: path.to_owned(), identity, lock, state: None };
        Ok(Self { listener, claim: Some(claim), path: path.to_owned() })
    }

    /// Ties the socket to the lock of a state folder.
    #[must_use]
    pub fn with_state_lock(mut self, state: &Arc<Lock>) -> Self {
        if let Some(claim) = &mut self.claim {
            claim.state = Some(Arc::clone(state));
        }
        self
    }

    /// Takes over a socket that systemd bound.
    pub fn adopt(listener: UnixListener) -> Self {
        let address = listener.local_addr().ok();
        let path = address.and_then(|address| address.as_pathname().map(Path::to_owned));
        Self { listener, claim: None, path: path.unwrap_or_default() }
    }
}

impl Claim {
    /// Whether clients that connect to the path reach this socket.
    pub fn is_in_place(&self) -> bool {
        identity(&self.path).is_ok_and(|there| there == self.identity)
    }

    /// Whether the state folder is still the one this daemon opened.
    pub fn has_state(&self) -> bool {
        self.state.as_ref().is_none_or(|state| state.is_in_place())
    }

    /// Binds the path again.
    ///
    /// # Errors
    /// As [`BoundSocket::bind`]; [`BindError::Occupied`] if another program's socket answers.
    pub fn rebind(&mut self) -> Result<UnixListener, BindError> {
        let failed = |source| BindError::Failed { path: self.path.clone(), source };
        if let Some(folder) = self.path.parent() {
            folder::make_private(folder)?;
        }
        if !self.lock.is_in_place() {
            self.lock = Lock::take(&lock_path(&self.path))?;
        }
        if UnixStream::connect(&self.path).is_ok() {
            return Err(BindError::Occupied { path: self.path.clone() });
        }
        remove_stale(&self.path)?;
        let (listener, identity) = listen(&self.path).map_err(failed)?;
        self.identity = identity;
        Ok(listener)
    }
}

impl BindError {
    /// Whether another daemon has the path, maybe only briefly.
    pub fn is_held(&self) -> bool {
        matches!(self, Self::Lock(LockError::Held { .. }))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // If another file was moved here, leave it.
        let is_ours = identity(&self.path).is_ok_and(|found| found == self.identity);
        if is_ours && let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(%error, path = %self.path.display(), "cannot unlink the socket");
        }
    }
}

/// The lock file of a socket, next to it so that the same folder protects both.
fn lock_path(socket: &Path) -> PathBuf {
    let mut name = socket.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

fn remove_stale(path: &Path) -> Result<(), BindError> {
    let failed = |source| BindError::Failed { path: path.to_owned(), source };
    match fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_socket() => fs::remove_file(path).map_err(failed),
        Ok(_) => Err(BindError::Occupied { path: path.to_owned() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(failed(error)),
    }
}

fn listen(path: &Path) -> io::Result<(UnixListener, (u64, u64))> {
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    Ok((listener, identity(path)?))
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    fs::symlink_metadata(path).map(|found| (found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_is_private_and_removed_on_release() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run/v1.sock");
        let bound = BoundSocket::bind(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(path.parent().unwrap()).unwrap().mode() & 0o777, 0o700);
        UnixStream::connect(&path).unwrap();
        drop(bound);
        assert!(!path.exists());
    }

    #[test]
    fn a_second_daemon_is_refused_and_leaves_the_socket_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run/v1.sock");
        let _first = BoundSocket::bind(&path).unwrap();
        let error = BoundSocket::bind(&path).unwrap_err();
        assert!(error.to_string().contains(&std::process::id().to_string()), "{error}");
        UnixStream::connect(&path).unwrap();
    }

    #[test]
    fn a_socket_left_by_a_crash_is_replaced_but_no_other_file() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("run");
        folder::make_private(&folder).unwrap();
        let (stale, file, link) = (folder.join("stale"), folder.join("file"), folder.join("link"));
        drop(UnixListener::bind(&stale).unwrap());
        BoundSocket::bind(&stale).unwrap();

        fs::write(&file, "precious").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        for path in [&file, &link] {
            assert!(matches!(BoundSocket::bind(path), Err(BindError::Occupied { .. })));
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), "precious");
    }

    #[test]
    fn a_foreign_file_at_the_path_survives_the_release() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run/v1.sock");
        let bound = BoundSocket::bind(&path).unwrap();
        fs::rename(&path, path.with_extension("moved")).unwrap();
        fs::write(&path, "precious").unwrap();
        drop(bound);
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    }

    #[test]
    fn an_unfit_path_is_refused_before_anything_is_made() {
        let long = PathBuf::from(format!("/tmp/{}/v1.sock", "x".repeat(120)));
        for path in [Path::new("v1.sock"), &long] {
            assert!(matches!(BoundSocket::bind(path), Err(BindError::PathUnfit { .. })));
        }
    }
}
