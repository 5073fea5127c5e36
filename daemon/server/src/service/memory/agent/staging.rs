//! The folder that the agent works in: laid out, read back, removed.
//!
//! It lies beside the memory folder, private, and holds copies alone. Whatever the child left in it is looked at
//! without following anything: a link or a device in it refuses the whole of it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use longhaul_core::memory::Files;

/// Files that are read back.
const FILES_MAX: usize = 8_192;

/// Bytes of one of them.
const FILE_BYTES_MAX: u64 = 8 << 20;

/// Folders inside folders.
const DEPTH_MAX: usize = 8;

#[derive(Debug, Clone)]
pub(super) struct Staging {
    path: PathBuf,
}

impl Staging {
    /// Beside the memory folder.
    pub(super) fn new(memory: &Path) -> Self {
        Self { path: memory.with_extension("agent") }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Lays `files` out in it, and nothing else.
    ///
    /// # Errors
    /// Those of writing.
    pub(super) async fn lay_out(&self, files: &Files) -> io::Result<()> {
        let (staging, files) = (self.clone(), files.clone());
        let laid = tokio::task::spawn_blocking(move || {
            staging.removed()?;
            make(&staging.path)?;
            for (path, text) in &files {
                let path = staging.path.join(path);
                path.parent().map_or(Ok(()), make)?;
                let mut options = OpenOptions::new();
                let mut file = options.write(true).create_new(true).mode(0o600).open(path)?;
                file.write_all(text.as_bytes())?;
            }
            Ok(())
        });
        laid.await.map_err(io::Error::other)?
    }

    /// What lies in it.
    ///
    /// # Errors
    /// Something in it is no plain text file, or there is too much of it.
    pub(super) async fn read_back(&self) -> io::Result<Files> {
        let root = self.path.clone();
        let read = tokio::task::spawn_blocking(move || {
            let mut files = Files::new();
            collect(&root, "", &mut files, 0)?;
            Ok(files)
        });
        read.await.map_err(io::Error::other)?
    }

    pub(super) async fn remove(&self) {
        let staging = self.clone();
        let removed = tokio::task::spawn_blocking(move || staging.removed());
        if let Ok(Err(error)) = removed.await {
            tracing::warn!(%error, "the folder of the agent of memory cannot be removed");
        }
    }

    fn removed(&self) -> io::Result<()> {
        match fs::symlink_metadata(&self.path) {
            Ok(found) if found.is_dir() => fs::remove_dir_all(&self.path),
            Ok(_) => fs::remove_file(&self.path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }
}

fn make(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn refused(path: &str, reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{path}: {reason}"))
}

fn collect(folder: &Path, prefix: &str, files: &mut Files, depth: usize) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let path = format!("{prefix}{}", name.to_string_lossy());
        let kind = entry.file_type()?;
        if name.to_str().is_none() || files.len() >= FILES_MAX || depth > DEPTH_MAX {
            return Err(refused(&path, "too many files, or a name that is no text"));
        }
        if kind.is_dir() {
            collect(&entry.path(), &format!("{path}/"), files, depth + 1)?;
        } else if kind.is_file() {
            let mut bytes = Vec::new();
            File::open(entry.path())?.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
            if bytes.len() as u64 > FILE_BYTES_MAX {
                return Err(refused(&path, "it is too long"));
            }
            let text = String::from_utf8(bytes).map_err(|_| refused(&path, "it is no text"))?;
            files.insert(path, text);
        } else {
            return Err(refused(&path, "it is a link or a device"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_laid_out_is_read_back_and_a_link_refuses_all() {
        let home = tempfile::tempdir().unwrap();
        let staging = Staging::new(&home.path().join("memory"));
        let files = Files::from([("skills/a/SKILL.md".to_owned(), "steps".to_owned())]);
        staging.lay_out(&files).await.unwrap();
        staging.lay_out(&files).await.unwrap();
        assert_eq!(staging.read_back().await.unwrap(), files);
        std::os::unix::fs::symlink("/etc/passwd", staging.path().join("MEMORY.md")).unwrap();
        let error = staging.read_back().await.unwrap_err().to_string();
        assert!(error.contains("MEMORY.md: it is a link"), "{error}");
        staging.remove().await;
        assert!(!staging.path().exists());
    }
}
