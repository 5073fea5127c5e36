//! Creates files: complete and synced under their final name, or not at all, and never over an existing file.
//!
//! The folder may belong to another program. A call touches nothing in it except its own hidden file; a crash leaves at
//! most that file, which programs do not list.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::folder::make_synced;

/// Extension of an unfinished file; with the leading dot, programs do not list it.
pub const NEW: &str = ".new";

/// Maximum hidden names to try: crashed and concurrent calls may have taken some.
const NAMES_MAX: u32 = 1_000;

/// Creates the file at `path` with the content that `write` writes.
///
/// # Errors
/// `AlreadyExists` if anything is at `path`, even a dangling link; those of `write` and of the disk.
pub fn publish(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let (Some(folder), Some(_)) = (path.parent(), path.file_name()) else {
        return Err(io::Error::new(ErrorKind::InvalidInput, "not the path of a file"));
    };
    // Check first, since `write` may take long.
    if path.symlink_metadata().is_ok() {
        return Err(ErrorKind::AlreadyExists.into());
    }
    make_synced(folder)?;
    let (mut file, new) = stage(path)?;
    let written = write(&mut file).and_then(|()| file.sync_all()).and_then(|()| link(&new, path));
    // This call created it. If removing fails, a hidden file remains.
    fs::remove_file(&new).ok();
    written?;
    File::open(folder)?.sync_all()
}

/// Creates a hidden file next to `path`, under an unused name.
fn stage(path: &Path) -> io::Result<(File, PathBuf)> {
    for number in 0..NAMES_MAX {
        let mut name = OsString::from(".");
        name.push(path.file_name().unwrap_or_default());
        name.push(format!(".{number}{NEW}"));
        let new = path.with_file_name(name);
        // `create_new` does not follow a link either.
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new) {
            Ok(file) => return Ok((file, new)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other(format!("{NAMES_MAX} unfinished files are next to {}", path.display())))
}

/// Gives the file its final name. A plain rename could replace a file created in the meantime.
fn link(new: &Path, path: &Path) -> io::Result<()> {
    match fs::hard_link(new, path) {
        // Some file systems have no hard links.
        Err(error)
            if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::Unsupported) =>
        {
            Ok(renameat_with(CWD, new, CWD, path, RenameFlags::NOREPLACE)?)
        }
        linked => linked,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::symlink;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<String> = entries.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn of_many_concurrent_calls_for_one_file_one_succeeds_and_its_bytes_stay() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sessions/a.jsonl");
        // All calls have passed the first check before one takes the name.
        let barrier = std::sync::Barrier::new(8);
        let run = |byte: u8| {
            publish(&path, |file| {
                file.write_all(&[byte; 100_000])?;
                barrier.wait();
                file.write_all(&[byte; 100_000])
            })
        };
        let results: Vec<io::Result<()>> = std::thread::scope(|scope| {
            let runs: Vec<_> = (0..8).map(|byte| scope.spawn(move || run(byte))).collect();
            runs.into_iter().map(|run| run.join().unwrap()).collect()
        });
        let winner = results.iter().position(Result::is_ok).unwrap();
        for (byte, result) in results.iter().enumerate().filter(|(byte, _)| *byte != winner) {
            let error = result.as_ref().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{byte}: {error}");
        }
        assert_eq!(fs::read(&path).unwrap(), [u8::try_from(winner).unwrap(); 200_000]);
        assert_eq!(names(path.parent().unwrap()), ["a.jsonl"]);
    }

    #[test]
    fn files_and_links_of_others_are_not_changed() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at(".a.0.new"), "theirs").unwrap();
        fs::write(at("target"), "linked").unwrap();
        symlink(at("target"), at(".a.1.new")).unwrap();
        symlink(at("nowhere"), at(".a.2.new")).unwrap();
        publish(&at("a"), |file| file.write_all(b"ours")).unwrap();
        let there = [".a.0.new", ".a.1.new", ".a.2.new", "a", "target"];
        assert_eq!(names(dir.path()), there);
        let texts = [".a.0.new", "target", "a"].map(|name| fs::read_to_string(at(name)).unwrap());
        assert_eq!(texts, ["theirs", "linked", "ours"]);

        symlink(at("nowhere"), at("b")).unwrap();
        let refused = publish(&at("b"), |file| file.write_all(b"ours")).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::AlreadyExists);
        publish(&at("c"), |_| Err(io::Error::other("torn"))).unwrap_err();
        assert_eq!(names(dir.path()).len(), there.len() + 1, "only the link was added");
    }
}
