//! The memory folder on disk.
//!
//! `<state>/memory` is a link to the current generation, `<state>/memory.d/g<number>`. A new generation is written
//! next to it and becomes visible by one rename of the link. Folders have mode 0700, files 0600. Reads are bounded and
//! do not follow links.
//!
//! Next to it is its journal, `g<number>.json`, which agents are not pointed to: it has the notes of all projects as they were
//! written.
//!
//! A generation that the store has lost, and of which the journal cannot be read, is renamed to `kept-g<number>`: a person's
//! changes in it cannot be told from our lines.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, symlink};
use std::path::{Path, PathBuf};

use longhaul_core::memory::Files;

use crate::folder::if_there;

/// Maximum files of a generation to read.
const FILES_MAX: usize = 8_192;

/// Maximum bytes of a file; longer files are not memory.
const FILE_BYTES_MAX: u64 = 8 << 20;

/// Maximum bytes of a journal, which has all files and more.
const JOURNAL_BYTES_MAX: u64 = 128 << 20;

const DEPTH_MAX: usize = 6;

/// Before the name of a generation that was set aside.
const ASIDE: &str = "kept-";

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

    /// The generation that the link points at, if its folder exists.
    pub(super) fn current(&self) -> Option<u64> {
        let target = fs::read_link(&self.link).ok()?;
        let number = target.strip_prefix("memory.d").ok()?.to_str()?.strip_prefix('g')?;
        number.parse().ok().filter(|number| self.of(*number).is_dir())
    }

    fn journal_path(&self, generation: u64) -> PathBuf {
        self.generations.join(format!("g{generation}.json"))
    }

    /// The journal of a generation; `None` if it has none.
    pub(super) fn journal(&self, generation: u64) -> io::Result<Option<String>> {
        match text_of(&self.journal_path(generation), JOURNAL_BYTES_MAX) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            text => text,
        }
    }

    /// Renames a generation with its journal, so that only a forgetting removes it.
    pub(super) fn set_aside(&self, generation: u64) -> io::Result<()> {
        let name = |n: u64| self.generations.join(format!("{ASIDE}g{generation}-{n}"));
        let aside = (1..).map(name).find(|path| !path.exists()).unwrap_or_else(|| name(0));
        if_there(fs::rename(self.journal_path(generation), aside.with_extension("json")))?;
        fs::rename(self.of(generation), aside)?;
        File::open(&self.generations)?.sync_all()
    }

    /// The folders that were set aside.
    pub(super) fn asides(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.generations).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        paths.filter(|path| is_aside(path) && path.is_dir()).collect()
    }

    /// Writes `files` to a staging folder of `generation`, and the journal next to it; synced.
    pub(super) fn stage(
        &self,
        generation: u64,
        files: &Files,
        journal: &str,
    ) -> io::Result<PathBuf> {
        let staging = self.generations.join(format!(".staging-g{generation}"));
        let staged_journal = staging.with_extension("json");
        if_there(fs::remove_dir_all(&staging))?;
        if_there(fs::remove_file(&staged_journal))?;
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
            write_new(&path, text)?;
        }
        write_new(&staged_journal, journal)?;
        folders.iter().rev().try_for_each(|folder| File::open(folder)?.sync_all())?;
        Ok(staging)
    }

    /// Makes a staged generation the current one.
    pub(super) fn switch(&self, generation: u64, staging: &Path) -> io::Result<()> {
        let target = self.of(generation);
        if target.exists() {
            fs::remove_dir_all(&target)?;
        }
        fs::rename(staging.with_extension("json"), self.journal_path(generation))?;
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
        if_there(fs::remove_file(&next))?;
        symlink(&target, &next)?;
        fs::rename(&next, &self.link)?;
        self.link.parent().map_or(Ok(()), |parent| File::open(parent)?.sync_all())
    }

    /// Removes all generations except those in `kept`, and, unless this is a purge, those that were set aside. After an
    /// error it goes on, and returns the first.
    pub(super) fn sweep(&self, kept: &[u64], is_purge: bool) -> io::Result<()> {
        let entries = match fs::read_dir(&self.generations) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        let paths = |generation: &u64| [self.of(*generation), self.journal_path(*generation)];
        let kept: Vec<PathBuf> = kept.iter().flat_map(paths).collect();
        let is_kept = |path: &PathBuf| kept.contains(path) || (!is_purge && is_aside(path));
        let mut swept = Ok(());
        for entry in entries {
            let (path, kind) = entry.and_then(|entry| Ok((entry.path(), entry.file_type()?)))?;
            if is_kept(&path) {
                continue;
            }
            if kind.is_dir() {
                swept = swept.and(fs::remove_dir_all(path));
            } else if path.extension().is_some_and(|extension| extension == "json") {
                swept = swept.and(fs::remove_file(path));
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
        text_of(&whole, FILE_BYTES_MAX)?.ok_or_else(|| refused(path))
    }
}

fn is_aside(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(ASIDE))
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_data()
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
            && let Some(text) = text_of(&entry.path(), FILE_BYTES_MAX)?
        {
            files.insert(path, text);
        }
    }
    Ok(())
}

/// The text of a regular file; `None` if it is too long or not UTF-8.
fn text_of(path: &Path, bytes_max: u64) -> io::Result<Option<String>> {
    let file = File::open(path)?;
    let stat = file.metadata()?;
    if !stat.is_file() || stat.len() > bytes_max {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    file.take(bytes_max).read_to_end(&mut bytes)?;
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
        let staged = folder.stage(generation, files, "{}").unwrap();
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
        folder.sweep(&[2], false).unwrap();
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
                    folder.sweep(&[number - 1, number], false).unwrap();
                }
            });
            while read() < LAST {}
        });
    }

    #[test]
    fn leftovers_of_a_crash_do_not_prevent_a_publication() {
        let state = tempfile::tempdir().unwrap();
        let folder = Folder::new(state.path());
        folder.stage(1, &files("half"), "{}").unwrap();
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
        assert!(folder.stage(2, &bad, "{}").is_err());
    }

    #[test]
    fn a_folder_in_place_of_the_link_is_left_alone() {
        let state = tempfile::tempdir().unwrap();
        let folder = Folder::new(state.path());
        fs::create_dir(state.path().join("memory")).unwrap();
        let staged = folder.stage(1, &files("one"), "{}").unwrap();
        assert!(folder.switch(1, &staged).is_err());
    }
}
