//! The machine's git, and its loader.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use super::places::Places;

/// Bytes of a program to read: its header, and a table of up to some fifty segments.
const HEAD_BYTES: usize = 4_096;

/// A 64-bit little-endian ELF file, as on every processor that seccomp supports here.
const ELF: &[u8] = b"\x7fELF\x02\x01";

/// The segment that names the loader.
const LOADER: u32 = 3;

/// Bytes of a loader's path.
const LOADER_BYTES: u64 = 4_096;

/// Folders where only root installs programs.
const ROOTS_FOLDERS: [&str; 4] = ["/usr", "/bin", "/nix/store", "/gnu/store"];

#[derive(Debug)]
pub(super) struct Program {
    /// Its real file.
    pub(super) file: PathBuf,
    /// The loader, which the kernel starts in its place; a static program has none.
    pub(super) loader: Option<PathBuf>,
}

impl Program {
    /// The first git in `path`; `None` if there is none, or if it is in the inspected repository.
    pub(super) fn find(path: Option<&OsStr>, places: &Places) -> Result<Option<Self>, String> {
        let folders = path.into_iter().flat_map(std::env::split_paths);
        let mut files = folders.filter(|folder| folder.is_absolute()).filter_map(|folder| {
            let file = folder.join("git").canonicalize().ok()?;
            let about = fs::metadata(&file).ok()?;
            (about.is_file() && about.permissions().mode() & 0o111 != 0).then_some((file, about))
        });
        let Some((file, about)) = files.next() else { return Ok(None) };
        if places.folders().any(|folder| file.starts_with(folder)) {
            return Ok(None);
        }
        let trusts_folders =
            || !maps_root(&fs::read_to_string("/proc/self/uid_map").unwrap_or_default());
        if !is_trusted(&file, (about.uid(), about.mode()), trusts_folders) {
            return Err(format!("{} belongs to another user", file.display()));
        }
        let loader = loader(&file).map_err(|why| format!("{} {why}", file.display()))?;
        Ok(Some(Self { file, loader }))
    }

    /// Its installation folder, which has a `bin`.
    pub(super) fn prefix(&self) -> Option<&Path> {
        self.file.parent().filter(|folder| folder.ends_with("bin")).and_then(Path::parent)
    }
}

/// Whether only root and the user can have put a program there. In a user namespace without root, as in our systemd unit,
/// all foreign files have one owner, and root's are recognized by their folder.
fn is_trusted(file: &Path, (owner, mode): (u32, u32), trusts_folders: impl Fn() -> bool) -> bool {
    let is_of_root = owner == 0 || owner == geteuid().as_raw();
    let is_in_place = || ROOTS_FOLDERS.iter().any(|folder| file.starts_with(folder));
    is_of_root || (mode & 0o022 == 0 && is_in_place() && trusts_folders())
}

/// Whether a user namespace, by its table of users, has root.
fn maps_root(uid_map: &str) -> bool {
    uid_map.is_empty() || uid_map.lines().any(|line| line.split_whitespace().next() == Some("0"))
}

/// The loader that a program names.
fn loader(file: &Path) -> Result<Option<PathBuf>, String> {
    let cannot = |error| format!("cannot be read: {error}");
    let opened = File::open(file).map_err(cannot)?;
    let mut head = vec![0; HEAD_BYTES];
    let read = opened.read_at(&mut head, 0).map_err(cannot)?;
    head.truncate(read);
    let Some((at, bytes)) = segment(&head)? else { return Ok(None) };
    let mut path = vec![0; usize::try_from(bytes.min(LOADER_BYTES)).unwrap_or(0)];
    opened.read_exact_at(&mut path, at).map_err(cannot)?;
    while path.last() == Some(&0) {
        path.pop();
    }
    Ok(Some(PathBuf::from(OsString::from_vec(path))))
}

/// The offset and length of the loader's path in the file.
fn segment(head: &[u8]) -> Result<Option<(u64, u64)>, String> {
    if !head.starts_with(ELF) {
        return Err("is no program of this machine (a script?)".to_owned());
    }
    find_segment(head).ok_or_else(|| "has a table of segments that cannot be read".to_owned())
}

fn find_segment(head: &[u8]) -> Option<Option<(u64, u64)>> {
    let (size, count) = (usize::from(u16_at(head, 54)?), usize::from(u16_at(head, 56)?));
    let mut at = usize::try_from(u64_at(head, 32)?).ok()?;
    for _ in 0..count {
        let entry = head.get(at..at.checked_add(size)?)?;
        if u32::from_le_bytes(entry.get(..4)?.try_into().ok()?) == LOADER {
            return Some(Some((u64_at(entry, 8)?, u64_at(entry, 32)?)));
        }
        at += size;
    }
    Some(None)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_names_its_loader_and_a_script_is_rejected() {
        let found = loader(&std::env::current_exe().unwrap()).unwrap();
        assert!(found.is_none_or(|loader| loader.is_file()));
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("git");
        for (bytes, expected) in [
            (&b"#!/bin/sh\n"[..], "script"),
            (b"", "script"),
            (b"\x7fELF\x02\x01\x01", "table of segments"),
        ] {
            fs::write(&file, bytes).unwrap();
            let refused = loader(&file).unwrap_err();
            assert!(refused.contains(expected), "{refused}");
        }
    }

    #[test]
    fn a_program_of_another_user_is_not_run_even_if_root_looks_like_one() {
        let (own, other) = (geteuid().as_raw(), 65_534);
        for (file, owner, mode, has_root, expected) in [
            ("/usr/bin/git", 0, 0o755, true, true),
            ("/home/me/bin/git", own, 0o755, true, true),
            ("/usr/bin/git", other, 0o755, true, false),
            ("/usr/bin/git", other, 0o755, false, true),
            ("/usr/bin/git", other, 0o775, false, false),
            ("/home/another/bin/git", other, 0o755, false, false),
            ("/usrlocal/git", other, 0o755, false, false),
        ] {
            let trusted = is_trusted(Path::new(file), (owner, mode), || !has_root);
            assert_eq!(trusted, expected, "{file} {owner} {mode:o} {has_root}");
        }
        assert!(maps_root("         0          0 4294967295\n") && maps_root(""));
        assert!(!maps_root("      1000       1000          1\n"));
    }

    #[test]
    fn a_git_inside_the_repository_is_not_run() {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        fs::create_dir_all(folder.path().join(".git")).unwrap();
        fs::create_dir(&bin).unwrap();
        fs::copy(std::env::current_exe().unwrap(), bin.join("git")).unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        fs::create_dir(elsewhere.path().join(".git")).unwrap();
        let (own, other) = (Places::of(folder.path()), Places::of(elsewhere.path()));
        let path = Some(bin.as_os_str());
        assert!(Program::find(path, &own.unwrap()).unwrap().is_none());
        assert!(Program::find(path, &other.unwrap()).unwrap().is_some());
    }
}
