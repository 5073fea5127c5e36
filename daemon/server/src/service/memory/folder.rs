//! The memory folder on the disk.
//!
//! `<state>/memory` is a link to the generation in force, `<state>/memory.d/g<number>`; a generation is
//! written beside it and becomes visible by one rename of the link. Folders are 0700, files 0600. Files are
//! read without following links, and bounded.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, symlink};
use std::path::{Path, PathBuf};

use longhaul_core::memory::Files;

/// Files of a generation that are looked at.
const FILES_MAX: usize = 8_192;

/// Bytes of a file that is looked at; a longer one is not one of memory.
const FILE_BYTES_MAX: u64 = 8 << 20;

/// Folders inside folders.
const DEPTH_MAX: usize = 6;

#[derive(Debug, Clone)]
pub(super) struct Folder {
    link: PathBuf,
    generations: PathBuf,
}

impl Folder {
    pub(super) fn new(state_dir: &Path) -> Self {
        Self { link: state_dir.join("memory"), generations: state_dir.join("memory.d") }
    }

    /// The path people and agents know.
    pub(super) fn path(&self) -> &Path {
        &self.link
    }

    /// Every absolute path that leads to memory.
    pub(super) fn roots(&self) -> Vec<String> {
        [&self.link, &self.generations].map(|path| path.display().to_string()).into()
    }

    /// The folder of a generation.
    pub(super) fn of(&self, generation: u64) -> PathBuf {
        self.generations.join(format!("g{generation}"))
    }

    /// Writes `files` whole to a staging folder of `generation`, synced.
    pub(super) fn stage(&self, generation: u64, files: &Files) -> io::Result<PathBuf> {
        let staging = self.generations.join(format!(".staging-g{generation}"));
        match fs::remove_dir_all(&staging) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Err(_) | Ok(()) => {}
        }
        make(&staging)?;
        let mut folders = vec![staging.clone()];
        for (path, text) in files {
            let path = confined(&staging, path)?;
            if let Some(parent) = path.parent()
                && !folders.iter().any(|known| known == parent)
            {
                make(parent)?;
                folders.push(parent.to_owned());
            }
            let mut options = OpenOptions::new();
            let mut file = options.write(true).create_new(true).mode(0o600).open(&path)?;
            file.write_all(text.as_bytes())?;
            file.sync_data()?;
        }
        folders.iter().rev().try_for_each(|folder| File::open(folder)?.sync_all())?;
        Ok(staging)
    }

    /// Puts a staged generation in force.
    pub(super) fn switch(&self, generation: u64, staging: &Path) -> io::Result<()> {
        let target = self.of(generation);
        if target.exists() {
            fs::remove_dir_all(&target)?;
        }
        fs::rename(staging, &target)?;
        self.point_at(generation)
    }

    /// Makes the link lead to a generation.
    pub(super) fn point_at(&self, generation: u64) -> io::Result<()> {
        let target = PathBuf::from("memory.d").join(format!("g{generation}"));
        match fs::symlink_metadata(&self.link) {
            Ok(found) if !found.file_type().is_symlink() => {
                let reason = format!("{} is not ours: move it away", self.link.display());
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, reason));
            }
            Ok(_) if fs::read_link(&self.link)? == target => return Ok(()),
            Ok(_) | Err(_) => {}
        }
        let next = self.link.with_extension("next");
        match fs::remove_file(&next) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Err(_) | Ok(()) => {}
        }
        symlink(&target, &next)?;
        fs::rename(&next, &self.link)?;
        self.link.parent().map_or(Ok(()), |parent| File::open(parent)?.sync_all())
    }

    /// Removes what is neither in `kept` nor in force.
    pub(super) fn sweep(&self, kept: &[u64]) {
        let Ok(entries) = fs::read_dir(&self.generations) else { return };
        let kept: Vec<PathBuf> = kept.iter().map(|generation| self.of(*generation)).collect();
        for entry in entries.flatten().filter(|entry| !kept.contains(&entry.path())) {
            if let Err(error) = fs::remove_dir_all(entry.path()) {
                tracing::warn!(%error, "an old generation of memory cannot be removed");
            }
        }
    }

    /// The files of a generation as they are now; `None` when it is not there.
    pub(super) fn found(&self, generation: u64) -> io::Result<Option<Files>> {
        let root = self.of(generation);
        if !root.is_dir() {
            return Ok(None);
        }
        let mut files = Files::new();
        collect(&root, "", &mut files, 0)?;
        Ok(Some(files))
    }

    /// The text of one file of a generation as it is now.
    ///
    /// # Errors
    /// It is not there, not a text, or its path leads out of the folder or through a link.
    pub(super) fn read(&self, generation: u64, path: &str) -> io::Result<String> {
        let root = self.of(generation);
        let whole = confined(&root, path)?;
        let mut step = root;
        for part in path.split('/') {
            step.push(part);
            if fs::symlink_metadata(&step)?.file_type().is_symlink() {
                return Err(refused(path));
            }
        }
        text_of(&whole)?.ok_or_else(|| refused(path))
    }
}

fn make(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// `path` below `root`; refused where it could lead out of it or names something hidden.
fn confined(root: &Path, path: &str) -> io::Result<PathBuf> {
    let is_plain = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.contains('\0');
    if path.split('/').all(is_plain) { Ok(root.join(path)) } else { Err(refused(path)) }
}

fn refused(path: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("{path:?} is no file of memory"))
}

fn collect(folder: &Path, prefix: &str, files: &mut Files, depth: usize) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
        // Hidden files and those that editors leave behind are not memory.
        if name.starts_with('.') || name.ends_with('~') || files.len() >= FILES_MAX {
            continue;
        }
        let (kind, path) = (entry.file_type()?, format!("{prefix}{name}"));
        if kind.is_dir() && depth < DEPTH_MAX {
            collect(&entry.path(), &format!("{path}/"), files, depth + 1)?;
        } else if kind.is_file()
            && let Some(text) = text_of(&entry.path())?
        {
            files.insert(path, text);
        }
    }
    Ok(())
}

/// The text of a file; `None` when it is none, or too long.
fn text_of(path: &Path) -> io::Result<Option<String>> {
    let file = File::open(path)?;
    let stat = file.metadata()?;
    if !stat.is_file() || stat.len() > FILE_BYTES_MAX {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8(bytes).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(text: &str) -> Files {
        [("MEMORY.md", text), ("skills/build/SKILL.md", "steps")]
            .map(|(path, text)| (path.to_owned(), text.to_owned()))
            .into()
    }

    fn put(folder: &Folder, generation: u64, files: &Files) {
        let staged = folder.stage(generation, files).unwrap();
        folder.switch(generation, &staged).unwrap();
    }

    #[test]
    fn a_reader_sees_one_generation_whole() {
        let state = tempfile::tempdir().unwrap();
        let folder = Folder::new(state.path());
        put(&folder, 1, &files("one"));
        let seen = fs::read_to_string(state.path().join("memory/MEMORY.md")).unwrap();
        assert_eq!(seen, "one");
        put(&folder, 2, &files("two"));
        folder.sweep(&[2]);
        assert_eq!(folder.found(2).unwrap(), Some(files("two")));
        assert_eq!(folder.found(1).unwrap(), None);
        assert_eq!(folder.read(2, "skills/build/SKILL.md").unwrap(), "steps");
    }

    #[test]
    fn no_set_is_torn_for_who_reads_while_others_are_published() {
        const LAST: u64 = 20;
        let state = tempfile::tempdir().unwrap();
        let folder = Folder::new(state.path());
        put(&folder, 1, &files("1"));
        let in_force = || {
            let target = fs::read_link(state.path().join("memory")).unwrap();
            let name = target.file_name().unwrap().to_str().unwrap().to_owned();
            name.trim_start_matches('g').parse::<u64>().unwrap()
        };
        // Who resolves the link reads one set, unless two others were published meanwhile.
        let read = || {
            let number = in_force();
            match folder.found(number) {
                Ok(Some(found)) if found.len() == 2 => {
                    assert_eq!(found["MEMORY.md"], number.to_string());
                }
                other => assert!(in_force() > number + 1, "{number}: {other:?}"),
            }
            number
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for number in 2..=LAST {
                    put(&folder, number, &files(&number.to_string()));
                    folder.sweep(&[number - 1, number]);
                }
            });
            while read() < LAST {}
        });
    }

    #[test]
    fn what_is_left_of_a_crash_is_in_nobodys_way() {
        let state = tempfile::tempdir().unwrap();
        let folder = Folder::new(state.path());
        folder.stage(1, &files("half")).unwrap();
        fs::create_dir_all(folder.of(1)).unwrap();
        fs::write(folder.of(1).join("MEMORY.md"), "an orphan").unwrap();
        symlink("nowhere", state.path().join("memory.next")).unwrap();
        put(&folder, 1, &files("one"));
        assert_eq!(folder.found(1).unwrap(), Some(files("one")));
    }

    #[test]
    fn no_path_leads_out() {
        let state = tempfile::tempdir().unwrap();
        let folder = Folder::new(state.path());
        put(&folder, 1, &files("one"));
        fs::write(state.path().join("secret"), "s").unwrap();
        symlink(state.path().join("secret"), folder.of(1).join("linked.md")).unwrap();
        symlink(state.path(), folder.of(1).join("up")).unwrap();
        for path in ["../../secret", "/etc/passwd", "linked.md", "up/secret", "", ".git/x", "a//b"]
        {
            assert!(folder.read(1, path).is_err(), "{path}");
        }
        assert_eq!(folder.found(1).unwrap(), Some(files("one")), "links are not followed");
        let bad = Files::from([("../x".to_owned(), String::new())]);
        assert!(folder.stage(2, &bad).is_err());
    }

    #[test]
    fn what_is_not_ours_is_left_alone() {
        let state = tempfile::tempdir().unwrap();
        let folder = Folder::new(state.path());
        fs::create_dir(state.path().join("memory")).unwrap();
        let staged = folder.stage(1, &files("one")).unwrap();
        assert!(folder.switch(1, &staged).is_err());
    }
}
