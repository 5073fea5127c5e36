//! Private folders: created with mode 0700, or checked to be the user's own and closed to everyone else.
//!
//! An existing folder is checked, never repaired: changing the mode of a folder that someone else chose (a home folder,
//! `/tmp`) would be a surprise. The error names the remedy. In them, [`replace`] changes a file as a whole.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Why a folder is not private.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// It cannot be created or inspected.
    #[error("cannot create the folder {}", path.display())]
    Failed {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// It is a symbolic link or not a folder.
    #[error("{} is a symbolic link or a file, not a folder: give the path of a folder", path.display())]
    NotAFolder { path: PathBuf },
    #[error("{} belongs to user {owner}, not to you: choose a folder of your own", path.display())]
    Foreign { path: PathBuf, owner: u32 },
    #[error("{} is accessible to others (mode {mode:04o}): run chmod 700 {}", path.display(), path.display())]
    Open { path: PathBuf, mode: u32 },
}

/// Creates `path` and its parents if necessary, and checks that only this user may enter.
pub fn make_private(path: &Path) -> Result<(), FolderError> {
    let failed = |source| FolderError::Failed { path: path.to_owned(), source };
    match make_synced(path) {
        // A file or a dangling link in its place is reported below.
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
        Ok(()) | Err(_) => {}
    }
    let found = fs::symlink_metadata(path).map_err(failed)?;
    if !found.is_dir() {
        return Err(FolderError::NotAFolder { path: path.to_owned() });
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(FolderError::Foreign { path: path.to_owned(), owner: found.uid() });
    }
    match found.mode() & 0o7777 {
        mode if mode & 0o077 != 0 => Err(FolderError::Open { path: path.to_owned(), mode }),
        _ => Ok(()),
    }
}

/// Creates a private folder and its parents, and syncs each new one into its parent, so that a crash does not lose the
/// folder together with files that were acknowledged.
pub fn make_synced(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let Some(parent) = folder.parent() else { return Ok(()) };
    make_synced(parent)?;
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    File::open(parent)?.sync_all()
}

/// Replaces the file at `path` by one with the content that `write` writes into `new`, a file in the same folder. A crash
/// leaves the old file or the new one, and perhaps `new`, which the next call removes.
pub fn replace(
    path: &Path,
    new: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    remove(new)?;
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(new)?;
    let written = write(&mut file).and_then(|()| file.sync_all());
    if let Err(error) = written.and_then(|()| fs::rename(new, path)) {
        fs::remove_file(new).ok();
        return Err(error);
    }
    sync_folder_of(path)
}

/// Removes a file, if it exists.
pub fn remove(path: &Path) -> io::Result<()> {
    if_there(fs::remove_file(path))
}

/// Makes the name of a file durable.
pub fn sync_folder_of(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// Ignores the failure of work on a file that does not exist.
pub fn if_there(done: io::Result<()>) -> io::Result<()> {
    done.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_folder_is_made_private_with_its_parents() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b");
        make_private(&path).unwrap();
        for made in [&path, path.parent().unwrap()] {
            assert_eq!(fs::metadata(made).unwrap().mode() & 0o777, 0o700);
        }
        make_private(&path).unwrap();
    }

    #[test]
    fn a_folder_that_is_not_private_is_reported_with_its_remedy_and_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let open = dir.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).unwrap();
        let error = make_private(&open).unwrap_err();
        assert!(error.to_string().contains("chmod 700"), "{error}");
        assert_eq!(fs::metadata(&open).unwrap().mode() & 0o777, 0o755);

        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        fs::write(&file, "").unwrap();
        symlink(dir.path(), &link).unwrap();
        for path in [file, link] {
            assert!(matches!(make_private(&path), Err(FolderError::NotAFolder { .. })));
        }
    }
}
