//! A private folder: made with mode 0700, or found to be the user's own and closed to everyone else.
//!
//! An existing folder is verified, never repaired: loosening or tightening the mode of a folder somebody
//! else chose (a home folder, `/tmp`) would be a surprise. What is found wrong is named with its remedy.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Why a folder is not private.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// It cannot be made or looked at.
    #[error("cannot make the folder {}", path.display())]
    Failed {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// It is a symbolic link or no folder at all.
    #[error("{} is not a folder of its own (a symbolic link or a file): name the real folder", path.display())]
    NotAFolder { path: PathBuf },
    /// It belongs to someone else.
    #[error("{} belongs to user {owner}, not to you: choose a folder of your own", path.display())]
    Foreign {
        path: PathBuf,
        /// The owner's user id.
        owner: u32,
    },
    /// Others may enter.
    #[error("{} has mode {mode:04o}, others may enter: chmod 700 {}", path.display(), path.display())]
    Open {
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
}

/// Makes `path` (and its parents) if it is not there, and verifies that only this user may enter.
pub fn make_private(path: &Path) -> Result<(), FolderError> {
    let failed = |source| FolderError::Failed { path: path.to_owned(), source };
    match make_synced(path) {
        // A file or a dangling link in its place is reported by what it is, below.
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

/// Makes a folder and those above it, for the user alone, each new one synced into its parent: what is promised in it
/// must not be lost with its name.
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
    fn what_is_not_private_is_named_with_its_remedy_and_left_alone() {
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
