//! The memory folder on disk.
//!
//! `<state>/memory` is a link to the current generation, `<state>/memory.d/g<number>`. A new generation is written
//! next to it and becomes visible by one rename of the link. Folders have mode 0700, files 0600. Reads are bounded and
//! do not follow links.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, symlink};
use std::path::{Path, PathBuf};

use longhaul_core::memory::Files;

/// Maximum files of a generation to read.
const FILES_MAX: usize = 8_192;

/// Maximum bytes of a file; longer files are not memory.
const FILE_BYTES_MAX: u64 = 8 << 20;

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

    /// The path that people and agents use.
    pub(super) fn path(&self) -> &Path {
        &self.link
    }

    /// All absolute paths that lead to memory.
    pub(super) fn roots(&self) -> Vec<String> {
        [&self.link, &self.generations].map(|path| path.display().to_string()).into()
    }

    pub(super) fn of(&self, generation: u64) -> PathBuf {
        self.generations.join(format!("g{generation}"))
    }

    /// Writes `files` to a staging folder of `generation`, synced.
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

    /// Makes a staged generation the current one.
    pub(super) fn switch(&self, generation: u64, staging: &Path) -> io::Result<()> {
        let target = self.of(generation);
        if target.exists() {
            fs::remove_dir_all(&target)?;
        }
        fs::rename(staging, &target)?;
        File::open(&self.generations)?.sync_all()?;
        self.point_at(generation)
    }

    /// Points the link at a generation. Fails if something other than a link is in its place.
    pub(super) fn point_at(&self, generation: u64) -> io::Result<()> {
        let target = PathBuf::from("memory.d").join(format!("g{generation}"));
        match fs::symlink_metadata(&self.link) {
            Ok(found) if !found.file_type().is_symlink() => {
                let reason =
                    format!("{} is not a link of the daemon: move it away", self.link.display());
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

    /// Removes all folders except those of the generations in `kept`. After an error it goes on, and returns the first.
    pub(super) fn sweep(&self, kept: &[u64]) -> io::Result<()> {
        let entries = match fs::read_dir(&self.generations) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        let kept: Vec<PathBuf> = kept.iter().map(|generation| self.of(*generation)).collect();
        let mut swept = Ok(());
        for entry in entries {
            let entry = entry?;
            if entry.file_type()?.is_dir() && !kept.contains(&entry.path()) {
                swept = swept.and(fs::remove_dir_all(entry.path()));
            }
        }
        swept
    }

    /// The files of a generation with the person's changes; `None` if its folder does not exist.
    pub(super) fn found(&self, generation: u64) -> io::Result<Option<Files>> {
        let root = self.of(generation);
        if !root.is_dir() {
            return Ok(None);
        }
        let mut files = Files::new();
        collect(&root, "", &mut files, 0)?;
        Ok(Some(files))
    }

    /// The current text of one file of a generation.
    ///
    /// # Errors
    /// The file does not exist or is not text, or the path leaves the folder or goes through a link.
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

/// `path` below `root`; rejected if it could leave `root` or names a hidden file.
fn confined(root: &Path, path: &str) -> io::Result<PathBuf> {
    let is_plain = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.contains('\0');
    if path.split('/').all(is_plain) { Ok(root.join(path)) } else { Err(refused(path)) }
}

fn refused(path: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("{path:?} is not a file of memory"))
}

fn collect(folder: &Path, prefix: &str, files: &mut Files, depth: usize) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
        // Skip hidden files and backups of editors.
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

/// The text of a regular file; `None` if it is too long or not UTF-8.
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
    fn a_reader_sees_one_complete_generation() {
        let state = tempfile::tempdir().unwrap();
        let folder = Folder::new(state.path());
        put(&folder, 1, &files("one"));
        let seen = fs::read_to_string(state.path().join("memory/MEMORY.md")).unwrap();
        assert_eq!(seen, "one");
        put(&folder, 2, &files("two"));
        folder.sweep(&[2]).unwrap();
        assert_eq!(folder.found(2).unwrap(), Some(files("two")));
        assert_eq!(folder.found(1).unwrap(), None);
        assert_eq!(folder.read(2, "skills/build/SKILL.md").unwrap(), "steps");
    }

    #[test]
    fn concurrent_readers_never_see_a_partial_generation() {
        const LAST: u64 = 20;
        let state = tempfile::tempdir().unwrap();
        let folder = Folder::new(state.path());
        put(&folder, 1, &files("1"));
        let current = || {
            let target = fs::read_link(state.path().join("memory")).unwrap();
            let name = target.file_name().unwrap().to_str().unwrap().to_owned();
            name.trim_start_matches('g').parse::<u64>().unwrap()
        };
        // A reader of the link sees one complete set, unless two more were published in between.
        let read = || {
            let number = current();
            match folder.found(number) {
                Ok(Some(found)) if found.len() == 2 => {
                    assert_eq!(found["MEMORY.md"], number.to_string());
                }
                other => assert!(current() > number + 1, "{number}: {other:?}"),
            }
            number
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for number in 2..=LAST {
                    put(&folder, number, &files(&number.to_string()));
                    folder.sweep(&[number - 1, number]).unwrap();
                }
            });
            while read() < LAST {}
        });
    }

    #[test]
    fn leftovers_of_a_crash_do_not_prevent_a_publication() {
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
    fn no_path_leaves_the_folder() {
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
    fn a_folder_in_place_of_the_link_is_left_alone() {
        let state = tempfile::tempdir().unwrap();
        let folder = Folder::new(state.path());
        fs::create_dir(state.path().join("memory")).unwrap();
        let staged = folder.stage(1, &files("one")).unwrap();
        assert!(folder.switch(1, &staged).is_err());
    }
}
